/**
 * Who may do what with queues, files and tables by a shared access signature, as the official clients make them: tokens
 * for a resource and for the account, letter by letter against every operation; stored policies; and what makes a token
 * worth nothing.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { FILES } from '../file/credentials.ts';
import { accountEndpoint, DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT } from '../harness/accounts.ts';
import { startInProcess } from '../harness/in-process.ts';
import { QUEUES } from '../queue/credentials.ts';
import { TABLES } from '../table/credentials.ts';
import {
  type Access,
  type AccountSasValues,
  bySas,
  NEVER,
  NOT_AUTHENTIC,
  NOT_PERMITTED,
  opens,
  type Resource,
  type SasValues,
  setsOf,
} from './credentials.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const ELSEWHERE = { ipRange: { start: '10.0.0.1', end: '10.0.0.9' } };
const HERE = { ipRange: { start: '127.0.0.1', end: '127.0.0.9' } };

const POLICY = 'guests';
const policy = (permissions: string, expiresOn = inSeconds(60)) => [{ id: POLICY, permissions, expiresOn }];

/** The token with one field set to something else. */
function touched(token: string, name: string, value: string): string {
  const words = new URLSearchParams(token);
  words.set(name, value);
  return words.toString();
}

for (const service of [QUEUES, FILES, TABLES]) {
  const { door, resource: kind, outcome } = service;
  const endpointOf = (account = DEVELOPMENT_ACCOUNT): string => accountEndpoint(server[`${door}Url`], account);
  const fresh = (account = DEVELOPMENT_ACCOUNT, name?: string): Promise<Resource> =>
    service.fresh({ endpoint: endpointOf(account), key: account }, name);
  const guestWith = (sas: string, account = DEVELOPMENT_ACCOUNT): Access => ({ endpoint: endpointOf(account), sas });

  /** Neither letters nor an expiry where there is a policy, unless they are given. */
  const tokenFor = (name: string, letters: string, values: SasValues = {}, signer = DEVELOPMENT_ACCOUNT): string => {
    const expiry = values.identifier === undefined ? { expiresOn: inSeconds(60) } : {};
    return service.makeSas(signer, name, letters, { ...expiry, ...values });
  };
  const reads = (sas: string, name: string, account = DEVELOPMENT_ACCOUNT): Promise<string> =>
    outcome(service.read(guestWith(sas, account), name));
  const writes = async (sas: string, name: string): Promise<string[]> => {
    const got: string[] = [];
    for (const write of service.writes) got.push(await outcome(write(guestWith(sas), name)));
    return got;
  };
  const all = (want: string): string[] => service.writes.map(() => want);

  describe(`a token for a ${kind}`, () => {
    for (const letters of setsOf(service.sasLetters)) {
      test(`with ${letters} opens what those letters stand for and nothing else`, async () => {
        const resource = await fresh();
        const wanted = bySas((operation) => opens(letters, operation.bySas));
        await resource.assertOutcomes(guestWith(tokenFor(resource.name, letters)), wanted);
      });
    }

    test('is for its account', async () => {
      const { name } = await fresh();
      const token = tokenFor(name, service.sasLetters, {}, SECOND_ACCOUNT);
      assert.equal(await reads(token, name), NOT_AUTHENTIC);
      await fresh(SECOND_ACCOUNT, name);
      assert.equal(await reads(token, name, SECOND_ACCOUNT), 'ok');
    });

    test('begins and ends to the second, by the server’s clock', async () => {
      const { name } = await fresh();
      const token = tokenFor(name, service.sasLetters, { startsOn: inSeconds(20), expiresOn: inSeconds(40) });
      assert.deepEqual([await writes(token, name), await reads(token, name)], [all(NOT_AUTHENTIC), NOT_AUTHENTIC]);
      server.clock.advance({ seconds: 21 });
      assert.deepEqual([await writes(token, name), await reads(token, name)], [all('ok'), 'ok']);
      server.clock.advance({ seconds: 20 });
      assert.deepEqual([await writes(token, name), await reads(token, name)], [all(NOT_AUTHENTIC), NOT_AUTHENTIC]);
    });

    test('that is touched in any part fails', async () => {
      const { name } = await fresh();
      const token = tokenFor(name, 'r', { startsOn: inSeconds(-60), protocol: 'https,http' });
      assert.equal(await reads(token, name), 'ok');
      for (const [field, value] of [
        ['sp', service.sasLetters],
        ['st', inSeconds(-600).toISOString()],
        ['se', inSeconds(600).toISOString()],
        ['sv', '2020-12-06'],
        ['spr', 'https'],
        ['sip', '127.0.0.1'],
        ['si', 'policy'],
        ['sig', Buffer.alloc(32).toString('base64')],
        ...(service === FILES
          ? ([
              ['sr', 'f'],
              ['rsct', 'text/html'],
            ] as const)
          : []),
      ] as const) {
        assert.equal(await reads(touched(token, field, value), name), NOT_AUTHENTIC, field);
      }
      assert.deepEqual(await writes(`${token}&sp=${service.sasLetters}`, name), all(NOT_AUTHENTIC), 'sp twice');
    });

    test('that wants https is refused over http, and one for other addresses is refused from here', async () => {
      const { name } = await fresh();
      for (const [values, want] of [
        [{ protocol: 'https' }, '403 AuthorizationProtocolMismatch'],
        [{ protocol: 'https,http' }, 'ok'],
        [ELSEWHERE, '403 AuthorizationSourceIPMismatch'],
        [{ ipRange: { start: '127.0.0.1' } }, 'ok'],
      ] as const) {
        assert.equal(await reads(tokenFor(name, 'r', values), name), want, JSON.stringify(values));
      }
    });

    test(`does not tell whether a ${kind} is there that it does not open`, async () => {
      const { name } = await fresh();
      assert.equal(await reads(tokenFor(name, service.sasLetters), `${name}x`), NOT_AUTHENTIC);
      assert.equal(await reads(tokenFor(`${name}x`, service.sasLetters), `${name}x`), service.notFound, 'its own');
    });

    // A table is named in the token and in the operations of a batch: test/table/sas.test.ts.
    if (service === TABLES) return;
    test(`is for its ${kind} and for no other`, async () => {
      const [{ name }, other] = [await fresh(), await fresh()];
      await other.assertOutcomes(guestWith(tokenFor(name, service.sasLetters)), () => NOT_AUTHENTIC);
      await other.assertUntouched();
    });
  });

  describe(`a stored policy of a ${kind}`, () => {
    test('says what its tokens may, and the very next request goes by what it says now', async () => {
      const resource = await fresh();
      const { name } = resource;
      for (const part of service.sasParts) {
        const token = tokenFor(name, '', { identifier: POLICY, ...part });
        const expect = async (wanted: readonly [writing: string, reading: string], when: string): Promise<void> => {
          const got = [await writes(token, name), await reads(token, name)];
          assert.deepEqual(got, [all(wanted[0]), wanted[1]], when);
        };
        const everything = `r${service.writeLetters}`;
        await expect([NOT_AUTHENTIC, NOT_AUTHENTIC], 'no policy yet');
        await resource.setPolicies(policy(service.writeLetters));
        await expect(['ok', NOT_PERMITTED], 'may write');
        await resource.setPolicies(policy('r'));
        await expect([NOT_PERMITTED, 'ok'], 'may read');
        await resource.setPolicies(policy(everything, inSeconds(-1)));
        await expect([NOT_AUTHENTIC, NOT_AUTHENTIC], 'ended');
        await resource.setPolicies(policy(everything));
        await expect(['ok', 'ok'], 'may both');
        await resource.setPolicies(policy(everything).map((one) => ({ ...one, id: 'others' })));
        await expect([NOT_AUTHENTIC, NOT_AUTHENTIC], 'under another name');
        await resource.setPolicies([]);
        await expect([NOT_AUTHENTIC, NOT_AUTHENTIC], 'revoked');
      }
    });

    for (const letters of service.sasLetters.split('')) {
      test(`with ${letters} opens what a token with ${letters} does`, async () => {
        const resource = await fresh();
        await resource.setPolicies(policy(letters));
        const wanted = bySas((operation) => opens(letters, operation.bySas));
        await resource.assertOutcomes(guestWith(tokenFor(resource.name, '', { identifier: POLICY })), wanted);
      });
    }

    test(`is that of the token’s ${kind}`, async () => {
      const [{ name }, other] = [await fresh(), await fresh()];
      await other.setPolicies(policy(service.sasLetters));
      const token = tokenFor(name, '', { identifier: POLICY });
      for (const at of [name, other.name]) assert.equal(await reads(token, at), NOT_AUTHENTIC);
    });

    test('and token together say everything once', async () => {
      const resource = await fresh();
      const { name } = resource;
      await resource.setPolicies([{ id: POLICY, permissions: 'r' }]);
      const uses = (letters: string, values: SasValues = {}): Promise<string> =>
        reads(tokenFor(name, letters, { identifier: POLICY, ...values }), name);
      assert.equal(await uses(''), NOT_AUTHENTIC, 'nobody says when it ends');
      assert.equal(await uses('', { expiresOn: inSeconds(60) }), 'ok');
      assert.equal(await uses('r', { expiresOn: inSeconds(60) }), NOT_AUTHENTIC, 'twice');
      assert.equal(await uses('', { expiresOn: inSeconds(60), identifier: 'others' }), NOT_AUTHENTIC, 'no such policy');
    });
  });

  const accountToken = (
    letters: string,
    values: Partial<AccountSasValues> = {},
    signer = DEVELOPMENT_ACCOUNT,
  ): string =>
    service.makeAccountSas(signer, letters, {
      services: service.serviceLetter,
      resourceTypes: 'sco',
      expiresOn: inSeconds(60),
      ...values,
    });
  const LETTERS = service.accountSasLetters.at(-1) as string;

  describe(`a token for the account’s ${kind}s`, () => {
    for (const letters of service.accountSasLetters) {
      for (const resourceTypes of ['s', 'c', 'o', 'sco']) {
        test(`with ${letters} for ${resourceTypes} opens what both stand for`, async () => {
          const resource = await fresh();
          await resource.assertOutcomes(
            guestWith(accountToken(letters, { resourceTypes })),
            ({ type, byAccountSas }) => {
              if (byAccountSas.length === 0) return NEVER;
              if (!resourceTypes.includes(type)) return '403 AuthorizationResourceTypeMismatch';
              return opens(letters, byAccountSas) ? 'ok' : NOT_PERMITTED;
            },
          );
        });
      }
    }

    test('of other services opens nothing here, and changes nothing', async () => {
      const resource = await fresh();
      await resource.setPolicies(policy('r'));
      for (const services of ['b', 'bqtf'.replace(service.serviceLetter, '')]) {
        const guest = guestWith(accountToken(LETTERS, { services }));
        await resource.assertOutcomes(guest, () => '403 AuthorizationServiceMismatch');
      }
      await resource.assertUntouched();
    });

    test('among several services opens this one as well', async () => {
      const { name } = await fresh();
      const token = accountToken(`r${service.writeLetters}`, { services: 'bqtf', resourceTypes: 'o' });
      assert.deepEqual([await writes(token, name), await reads(token, name)], [all('ok'), 'ok']);
    });

    test('of another account opens nothing here, and its own there', async () => {
      const resource = await fresh();
      await fresh(SECOND_ACCOUNT, resource.name);
      const token = accountToken(LETTERS, {}, SECOND_ACCOUNT);
      await resource.assertOutcomes(guestWith(token), () => NOT_AUTHENTIC);
      await resource.assertUntouched();
      const reading = accountToken('r', { resourceTypes: 'o' }, SECOND_ACCOUNT);
      assert.equal(await reads(reading, resource.name), NOT_AUTHENTIC);
      assert.equal(await reads(reading, resource.name, SECOND_ACCOUNT), 'ok');
    });

    for (const [what, values, want] of [
      ['not yet good', () => ({ startsOn: inSeconds(10) }), NOT_AUTHENTIC],
      ['at its end', () => ({ expiresOn: inSeconds(0) }), NOT_AUTHENTIC],
      ['for https', () => ({ protocol: 'https' as const }), '403 AuthorizationProtocolMismatch'],
      ['for another address', () => ({ ipRange: { start: '10.0.0.1' } }), '403 AuthorizationSourceIPMismatch'],
      ['for this address', () => HERE, 'ok'],
    ] as const) {
      test(`${what} gets ${want}`, async () => {
        const { name } = await fresh();
        assert.equal(await reads(accountToken('r', values()), name), want);
      });
    }

    test('that is touched in any part fails', async () => {
      const { name } = await fresh();
      const token = accountToken('r', { resourceTypes: 'o' });
      assert.equal(await reads(token, name), 'ok');
      for (const [field, value] of [
        ['sp', LETTERS],
        ['ss', `b${service.serviceLetter}`],
        ['srt', 'co'],
        ['se', inSeconds(600).toISOString()],
        // The client for tables makes tokens of 2019-02-02.
        ['sv', service === TABLES ? '2018-03-28' : '2019-02-02'],
        ['sip', '127.0.0.1'],
        ['sig', Buffer.alloc(32).toString('base64')],
      ] as const) {
        assert.equal(await reads(touched(token, field, value), name), NOT_AUTHENTIC, field);
      }
    });
  });

  // The client for tables speaks a version to which everything is 404: test/services/shared-key.test.ts.
  if (service === TABLES) continue;
  test(`nobody is let in to ${kind}s without a credential, to anything`, async () => {
    const resource = await fresh();
    await resource.setPolicies(policy(service.sasLetters));
    const nobody = { endpoint: endpointOf() };
    await resource.assertOutcomes(nobody, () => '401 NoAuthenticationInformation');
    await resource.assertUntouched();
    const nowhere = `none${randomUUID().replaceAll('-', '')}`;
    assert.equal(await outcome(service.read(nobody, nowhere)), '401 NoAuthenticationInformation');
  });
}
