/**
 * User delegation keys for queues and files, and the tokens that the official clients make with them, over TLS: what a
 * token is worth by the roles of the key's holder and by its own letters, for whom and for how long it is. No client makes
 * such tokens for tables yet: test/table/user-delegation.test.ts.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { RunningServer } from '../../src/main.ts';
import * as fileCredentials from '../file/credentials.ts';
import * as file from '../file/operations.ts';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { TENANT, USER } from '../harness/oauth-issuer.ts';
import { oauthServers } from '../harness/oauth-servers.ts';
import { assertRefused } from '../harness/queue-http.ts';
import * as queueCredentials from '../queue/credentials.ts';
import * as queue from '../queue/operations.ts';
import * as table from '../table/operations.ts';
import {
  type Access,
  bySas,
  type CredentialService,
  type DelegatedSasValues,
  type DelegationPeriod,
  NOT_AUTHENTIC,
  NOT_PERMITTED,
  opens,
  type UserDelegation,
} from './credentials.ts';

interface Row {
  readonly service: CredentialService;
  readonly delegate: (guest: Access, period: DelegationPeriod) => Promise<UserDelegation>;
  /** Each gets a key, or does not. */
  readonly delegators: readonly [delegator: string, ...others: string[]];
  readonly others: readonly string[];
  /** Roles of key holders, beside that of a delegator. */
  readonly roles: readonly (readonly string[])[];
  readonly contributor: string;
  readonly reader: string;
  readonly letterSets: readonly string[];
  /** Fields that are changed in a token beside those that all have. */
  readonly fields: Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = [
  {
    service: queueCredentials.QUEUES,
    delegate: queueCredentials.delegate,
    delegators: [queue.DELEGATOR],
    others: [queue.CONTRIBUTOR, queue.READER, queue.PROCESSOR, queue.SENDER, 'Storage Blob Delegator', table.DELEGATOR],
    roles: [
      [queue.CONTRIBUTOR],
      [queue.READER],
      [queue.PROCESSOR],
      [queue.SENDER],
      [queue.SENDER, queue.PROCESSOR],
      [],
    ],
    contributor: queue.CONTRIBUTOR,
    reader: queue.READER,
    letterSets: ['r', 'a', 'u', 'p'],
    fields: {},
  },
  {
    service: fileCredentials.FILES,
    delegate: fileCredentials.delegate,
    delegators: [file.DELEGATOR, file.MANAGER],
    others: [file.CONTRIBUTOR, file.READER, 'Storage Blob Delegator', queue.DELEGATOR, 'Reader'],
    roles: [[file.CONTRIBUTOR], [file.READER], [file.MANAGER], []],
    contributor: file.CONTRIBUTOR,
    reader: file.READER,
    letterSets: ['r', 'c', 'w', 'd', 'l', 'rl', 'cw'],
    fields: { sr: 'f', rsct: 'text/html' },
  },
];

const { clock, issuer, oauth, startWith, startOverTls, inSeconds } = await oauthServers();

for (const { service, delegators, contributor, reader, ...row } of ROWS) {
  describe(`a user delegation key for ${service.door}s`, () => {
    let owner: Access & { readonly ca: Buffer };
    before(async () => {
      const { server, ca } = await startOverTls();
      const { port } = new URL(server.origins[service.door]);
      owner = { endpoint: `https://localhost:${port}/${SECOND_ACCOUNT.name}`, key: SECOND_ACCOUNT, ca };
    });

    const guestWith = (sas: string): Access => ({ endpoint: owner.endpoint, sas, ca: owner.ca });
    const delegateTo = async (...roles: string[]): Promise<UserDelegation> => {
      const guest = { endpoint: owner.endpoint, bearer: await issuer.sign({ roles }), ca: owner.ca };
      return row.delegate(guest, { startsOn: inSeconds(-60), expiresOn: inSeconds(3600) });
    };
    const tokenOf = async (
      roles: readonly string[],
      name: string,
      { letters = service.sasLetters, ...values }: DelegatedSasValues & { letters?: string } = {},
    ): Promise<string> => {
      const delegation = await delegateTo(delegators[0], ...roles);
      return delegation.makeSas(name, letters, { expiresOn: inSeconds(60), ...values });
    };
    const reads = (sas: string, name: string): Promise<string> => service.outcome(service.read(guestWith(sas), name));

    test('says who has it', async () => {
      const { key } = await delegateTo(delegators[0]);
      assert.deepEqual(
        [key.signedObjectId, key.signedTenantId, key.signedService],
        [USER, TENANT, service.serviceLetter],
      );
      assert.equal(key.signedExpiresOn.getTime(), Math.floor(inSeconds(3600).getTime() / 1000) * 1000);
      assert.equal(Buffer.from(key.value, 'base64').length, 32);
    });

    test('is given in some roles, and neither in others nor for the key of the account', async () => {
      for (const role of delegators) assert.equal(await outcome(delegateTo(role)), 'ok', role);
      for (const role of row.others) assert.equal(await refusal(delegateTo(role)), NOT_PERMITTED, role);
      const period = { startsOn: inSeconds(0), expiresOn: inSeconds(60) };
      assert.equal(await refusal(row.delegate(owner, period)), NOT_AUTHENTIC);
    });

    for (const roles of row.roles) {
      test(`makes tokens that are worth what a delegator has who is ${roles.join(' and ') || 'nothing else'}`, async () => {
        const resource = await service.fresh(owner);
        const wanted = bySas(({ byRoles }) => byRoles.some((role) => roles.includes(role)));
        await resource.assertOutcomes(guestWith(await tokenOf(roles, resource.name)), wanted);
      });
    }

    for (const letters of row.letterSets) {
      test(`makes tokens with ${letters} that open what is meant by that`, async () => {
        const resource = await service.fresh(owner);
        const wanted = bySas((operation) => opens(letters, operation.bySas));
        await resource.assertOutcomes(guestWith(await tokenOf([contributor], resource.name, { letters })), wanted);
      });
    }

    test(`makes tokens that are for one ${service.resource}, and cannot be touched`, async () => {
      const [{ name }, other] = [await service.fresh(owner), await service.fresh(owner)];
      const token = await tokenOf([contributor], name, { letters: 'r' });
      assert.equal(await reads(token, name), 'ok');
      assert.equal(await reads(token, other.name), NOT_AUTHENTIC);
      const fields = {
        sp: service.sasLetters,
        se: inSeconds(600).toISOString(),
        skoid: 'somebody',
        ske: inSeconds(7200).toISOString(),
        sig: Buffer.alloc(32).toString('base64'),
        ...row.fields,
      };
      for (const [field, value] of Object.entries(fields)) {
        const touched = new URLSearchParams(token);
        touched.set(field, value);
        assert.equal(await reads(touched.toString(), name), NOT_AUTHENTIC, field);
      }
    });

    test('makes tokens for one user, who shows a token too', async () => {
      const { name } = await service.fresh(owner);
      const token = await tokenOf([reader], name, { delegatedUserObjectId: 'guest' });
      const readAs = async (oid: string): Promise<string> =>
        service.outcome(service.read({ ...guestWith(token), bearer: await issuer.sign({ oid }) }, name));
      assert.equal(await readAs('guest'), 'ok');
      assert.equal(await readAs('another'), NOT_AUTHENTIC);
      assert.equal(await reads(token, name), NOT_AUTHENTIC);
    });

    test('makes tokens that end, with it at the latest', async () => {
      const { name } = await service.fresh(owner);
      const { makeSas } = await delegateTo(delegators[0], reader);
      const [brief, long] = [60, 7200].map((seconds) => makeSas(name, 'r', { expiresOn: inSeconds(seconds) }));
      const both = async (): Promise<string[]> => [
        await reads(brief as string, name),
        await reads(long as string, name),
      ];
      assert.deepEqual(await both(), ['ok', 'ok']);
      clock.advance({ seconds: 61 });
      assert.deepEqual(await both(), [NOT_AUTHENTIC, 'ok']);
      clock.advance({ seconds: 3600 });
      assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC]);
    });
  });
}

describe('a request by hand for a user delegation key', () => {
  let server: RunningServer;
  before(async () => {
    server = await startWith({ oauth });
  });

  for (const [door, role, letter, since, earlier] of [
    ['queue', queue.DELEGATOR, 'q', '2025-07-05', '2025-05-05'],
    ['table', table.DELEGATOR, 't', '2025-07-05', '2025-05-05'],
    ['file', file.DELEGATOR, 'f', '2026-02-06', '2025-11-05'],
  ] as const) {
    test(`for ${door}s gets one since ${since}, in XML`, async () => {
      const authorization = `Bearer ${await issuer.sign({ roles: [role] })}`;
      const ask = (version: string): Promise<RawResponse> =>
        send(server.origins[door], {
          method: 'POST',
          path: '/?restype=service&comp=userdelegationkey',
          account: null,
          pathAccount: SECOND_ACCOUNT.name,
          headers: { authorization, 'x-ms-version': version },
          body: `<KeyInfo><Expiry>${inSeconds(3600).toISOString()}</Expiry></KeyInfo>`,
        });
      const { status, headers, body } = await ask(since);
      assert.deepEqual([status, headers['content-type']], [200, 'application/xml']);
      assert.match(
        body.toString(),
        new RegExp(
          `<UserDelegationKey><SignedOid>${USER}</SignedOid><SignedTid>${TENANT}</SignedTid>.*` +
            `<SignedService>${letter}</SignedService><SignedVersion>${since}</SignedVersion><Value>[^<]{44}</Value>`,
        ),
      );
      assertRefused(await ask(earlier), '400 InvalidQueryParameterValue');
    });
  }
});
