/**
 * User delegation keys for files, and the tokens that the official client makes with them, over TLS: what a token is worth by
 * the roles of the key's holder and by its own letters, for whom and for how long it is, and where it stops being one.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  FileSASPermissions,
  type FileSASSignatureValues,
  generateFileSASQueryParameters,
  type ShareClient,
  type ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
  type UserDelegationKey,
} from '@azure/storage-file-share';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { TENANT, USER } from '../harness/oauth-issuer.ts';
import { credentialOf, oauthServers } from '../harness/oauth-servers.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { missingTool } from '../packages.ts';
import { bySas, NOT_AUTHENTIC, NOT_PERMITTED, opens } from '../services/credentials.ts';
import {
  assertOutcomes,
  CONTRIBUTOR,
  DELEGATOR,
  DIRECTORY,
  FILE,
  fileOf,
  furnish,
  type Guest,
  MANAGER,
  type Place,
  READER,
} from './operations.ts';

const { clock, issuer, oauth, startWith, startOverTls, inSeconds } = await oauthServers();

const KEY = new StorageSharedKeyCredential(SECOND_ACCOUNT.name, SECOND_ACCOUNT.key);
const FILE_PATH = `${DIRECTORY}/${FILE}`;

const opened = (file: ShareFileClient): string => {
  const values = { shareName: file.shareName, permissions: ShareSASPermissions.parse('r'), expiresOn: inSeconds(3600) };
  return `${file.url}?${generateFileSASQueryParameters(values, KEY).toString()}`;
};

type Values = Partial<FileSASSignatureValues> & { readonly letters?: string };

function tokenOf(key: UserDelegationKey, { name }: ShareClient, { letters, ...values }: Values = {}): string {
  const permissions =
    values.filePath === undefined
      ? ShareSASPermissions.parse(letters ?? 'rcwdl')
      : FileSASPermissions.parse(letters ?? 'rcwd');
  const all = { shareName: name, permissions, expiresOn: inSeconds(60), ...values };
  return generateFileSASQueryParameters(all, key, SECOND_ACCOUNT.name).toString();
}

describe('a user delegation key for files', { skip: missingTool('openssl') }, () => {
  let endpoint: string;
  let options: StoragePipelineOptions;
  let owner: ShareServiceClient;

  before(async () => {
    const { server, ca } = await startOverTls();
    endpoint = `https://localhost:${new URL(server.origins.file).port}/${SECOND_ACCOUNT.name}`;
    options = { ...FILE_CLIENT_OPTIONS, tlsOptions: { ca } } as StoragePipelineOptions;
    owner = new ShareServiceClient(endpoint, KEY, options);
  });

  async function freshPlace(): Promise<Place> {
    const share = owner.getShareClient(`test-${randomUUID()}`);
    await share.create();
    return furnish(share, opened);
  }

  /** Nobody is asked for an intent: a key is no data. */
  const keyFor = async (...roles: string[]): Promise<UserDelegationKey> =>
    new ShareServiceClient(endpoint, credentialOf(await issuer.sign({ roles })), options).getUserDelegationKey(
      inSeconds(-60),
      inSeconds(3600),
    );

  const guestBy = (token: string, { name }: ShareClient): Guest => {
    const service = new ShareServiceClient(`${endpoint}?${token}`, undefined, options);
    return { service, share: service.getShareClient(name) };
  };

  test('says who has it', async () => {
    const key = await keyFor(DELEGATOR);
    assert.deepEqual([key.signedObjectId, key.signedTenantId, key.signedService], [USER, TENANT, 'f']);
    assert.equal(key.signedExpiresOn.getTime(), Math.floor(inSeconds(3600).getTime() / 1000) * 1000);
    assert.equal(Buffer.from(key.value, 'base64').length, 32);
  });

  test('is for delegators and managers, and not for the key of the account', async () => {
    for (const role of [CONTRIBUTOR, READER, 'Storage Blob Delegator', 'Storage Queue Delegator', 'Reader']) {
      assert.equal(await refusal(keyFor(role)), NOT_PERMITTED, role);
    }
    assert.equal(await outcome(keyFor(MANAGER)), 'ok');
    assert.equal(await refusal(owner.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
  });

  for (const roles of [[CONTRIBUTOR], [READER], [MANAGER], []]) {
    test(`makes tokens that are worth what a delegator has who is ${roles.join(' and ') || 'nothing else'}`, async () => {
      const place = await freshPlace();
      const token = tokenOf(await keyFor(DELEGATOR, ...roles), place.share);
      const wanted = bySas(({ byRoles }) => byRoles.some((role) => roles.includes(role)));
      await assertOutcomes(guestBy(token, place.share), place, wanted);
    });
  }

  for (const letters of ['r', 'c', 'w', 'd', 'l', 'rl', 'cw']) {
    test(`makes tokens with ${letters} that open what is meant by that`, async () => {
      const place = await freshPlace();
      const token = tokenOf(await keyFor(DELEGATOR, CONTRIBUTOR), place.share, { letters });
      const wanted = bySas(({ bySas }) => opens(letters, bySas));
      await assertOutcomes(guestBy(token, place.share), place, wanted);
    });
  }

  for (const letters of ['r', 'w', 'd', 'rcwd']) {
    test(`makes tokens with ${letters} for one file`, async () => {
      const place = await freshPlace();
      const token = tokenOf(await keyFor(DELEGATOR, CONTRIBUTOR), place.share, { letters, filePath: FILE_PATH });
      await assertOutcomes(guestBy(token, place.share), place, ({ ofFile, bySas }) => {
        if (ofFile === undefined) return NOT_AUTHENTIC;
        return opens(letters, bySas) ? 'ok' : NOT_PERMITTED;
      });
    });
  }

  test('makes tokens that are for one share, and cannot be touched', async () => {
    const [{ share }, { share: other }] = [await freshPlace(), await freshPlace()];
    const token = tokenOf(await keyFor(DELEGATOR, CONTRIBUTOR), share, { letters: 'r' });
    const reads = (text: string, from = share) => outcome(fileOf(guestBy(text, from).share).getProperties());
    assert.equal(await reads(token), 'ok');
    assert.equal(await reads(token, other), NOT_AUTHENTIC);
    for (const [name, value] of [
      ['sp', 'rcwdl'],
      ['sr', 'f'],
      ['se', inSeconds(600).toISOString()],
      ['skoid', 'somebody'],
      ['ske', inSeconds(7200).toISOString()],
      ['rsct', 'text/html'],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      assert.equal(await reads(touched.toString()), NOT_AUTHENTIC, name);
    }
  });

  test('makes tokens that say how content is to be taken', async () => {
    const { share } = await freshPlace();
    const values = { filePath: FILE_PATH, contentType: 'text/plain', contentDisposition: 'attachment' };
    const token = tokenOf(await keyFor(DELEGATOR, READER), share, values);
    const { contentType, contentDisposition } = await fileOf(guestBy(token, share).share).download();
    assert.deepEqual([contentType, contentDisposition], ['text/plain', 'attachment']);
  });

  test('makes tokens for one user, who shows a token too', async () => {
    const { share } = await freshPlace();
    const token = tokenOf(await keyFor(DELEGATOR, READER), share, { delegatedUserObjectId: 'guest' });
    const readAs = async (oid: string): Promise<string> => {
      const credential = credentialOf(await issuer.sign({ oid }));
      const service = new ShareServiceClient(`${endpoint}?${token}`, credential, options);
      return outcome(fileOf(service.getShareClient(share.name)).getProperties());
    };
    assert.equal(await readAs('guest'), 'ok');
    assert.equal(await readAs('another'), NOT_AUTHENTIC);
    assert.equal(await outcome(fileOf(guestBy(token, share).share).getProperties()), NOT_AUTHENTIC);
  });

  test('makes tokens that end, with it at the latest', async () => {
    const { share } = await freshPlace();
    const key = await keyFor(DELEGATOR, READER);
    const [brief, long] = [tokenOf(key, share), tokenOf(key, share, { expiresOn: inSeconds(7200) })];
    const reads = (token: string) => outcome(fileOf(guestBy(token, share).share).getProperties());
    assert.deepEqual([await reads(brief), await reads(long)], ['ok', 'ok']);
    clock.advance({ seconds: 61 });
    assert.deepEqual([await reads(brief), await reads(long)], [NOT_AUTHENTIC, 'ok']);
    clock.advance({ seconds: 3600 });
    assert.equal(await reads(long), NOT_AUTHENTIC);
  });
});

test('a key is given since 2026-02-06', async () => {
  const server = await startWith({ oauth });
  const authorization = `Bearer ${await issuer.sign({ roles: [DELEGATOR] })}`;
  const ask = (version: string) =>
    send(server.origins.file, {
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      account: null,
      pathAccount: SECOND_ACCOUNT.name,
      headers: { authorization, 'x-ms-version': version },
      body: `<KeyInfo><Expiry>${inSeconds(3600).toISOString()}</Expiry></KeyInfo>`,
    });
  const { status, headers, body } = await ask('2026-02-06');
  assert.deepEqual([status, headers['content-type']], [200, 'application/xml']);
  assert.match(
    body.toString(),
    /<SignedService>f<\/SignedService><SignedVersion>2026-02-06<\/SignedVersion><Value>[^<]{44}<\/Value>/,
  );
  assertRefused(await ask('2025-11-05'), '400 InvalidQueryParameterValue');
});
