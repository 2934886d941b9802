/**
 * Who may do what with files by a shared access signature, as the official client makes them: tokens for a share, for a file
 * and for the account, letter by letter against every operation; stored policies; renames; and what makes a token worth nothing.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  AccountSASPermissions,
  type AccountSASSignatureValues,
  FileSASPermissions,
  type FileSASSignatureValues,
  generateAccountSASQueryParameters,
  generateFileSASQueryParameters,
  SASProtocol,
  type ShareClient,
  type ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  type SignedIdentifier,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT, SECOND_ACCOUNT, type TestAccount } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { FILE_CLIENT_OPTIONS, freshShare, shareClient } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { bySas, NEVER, NOT_AUTHENTIC, NOT_PERMITTED, opens } from '../services/credentials.ts';
import {
  assertOutcomes,
  assertUntouched,
  DIRECTORY,
  FILE,
  fileOf,
  furnish,
  type Guest,
  type Place,
} from './operations.ts';

const server = await startInProcess({ accounts: [SECOND_ACCOUNT] });

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const keyOf = ({ name, key }: TestAccount = DEVELOPMENT_ACCOUNT): StorageSharedKeyCredential =>
  new StorageSharedKeyCredential(name, key);

type Values = Partial<FileSASSignatureValues> & { readonly key?: StorageSharedKeyCredential };

/** Neither letters nor an expiry where there is a policy, unless they are given. */
function tokenFor({ name }: Pick<ShareClient, 'name'>, letters: string, { key = keyOf(), ...values }: Values = {}) {
  const kind = values.filePath === undefined ? ShareSASPermissions : FileSASPermissions;
  const permissions = letters === '' ? {} : { permissions: kind.parse(letters) };
  const expiry = values.identifier === undefined ? { expiresOn: inSeconds(60) } : {};
  return generateFileSASQueryParameters({ shareName: name, ...permissions, ...expiry, ...values }, key).toString();
}

const FILE_PATH = `${DIRECTORY}/${FILE}`;

/** Clients that have nothing but the token. */
function guestOf({ name }: Pick<ShareClient, 'name'>, token: string, account = DEVELOPMENT_ACCOUNT): Guest {
  const url = `${server.fileEndpoint(account)}${token === '' ? '' : `?${token}`}`;
  const service = new ShareServiceClient(url, undefined, FILE_CLIENT_OPTIONS);
  return { service, share: service.getShareClient(name) };
}

const opened = (file: ShareFileClient): string =>
  `${file.url}?${tokenFor({ name: file.shareName }, 'r', { expiresOn: inSeconds(3600) })}`;

const freshPlace = async (): Promise<Place> => furnish(await freshShare(server), opened);

/** Every set of these letters but the empty one. */
const setsOf = (letters: string): string[] =>
  Array.from({ length: 2 ** letters.length - 1 }, (_, index) =>
    letters
      .split('')
      .filter((_letter, place) => ((index + 1) & (1 << place)) !== 0)
      .join(''),
  );

describe('a token for a share', () => {
  for (const letters of setsOf('rcwdl')) {
    test(`with ${letters} opens what those letters stand for and nothing else`, async () => {
      const place = await freshPlace();
      const wanted = bySas(({ bySas }) => opens(letters, bySas));
      await assertOutcomes(guestOf(place.share, tokenFor(place.share, letters)), place, wanted);
    });
  }

  test('is for its share and for no other', async () => {
    const [place, other] = [await freshPlace(), await freshPlace()];
    await assertOutcomes(guestOf(other.share, tokenFor(place.share, 'rcwdl')), other, () => NOT_AUTHENTIC);
    await assertUntouched(other);
  });

  test('is for its account', async () => {
    const { share } = await freshPlace();
    const token = tokenFor(share, 'rcwdl', { key: keyOf(SECOND_ACCOUNT) });
    assert.equal(await refusal(fileOf(guestOf(share, token).share).getProperties()), NOT_AUTHENTIC);
    const there = shareClient(server, share.name, SECOND_ACCOUNT);
    await there.create();
    const guest = guestOf(share, token, SECOND_ACCOUNT).share;
    assert.equal(await outcome(guest.rootDirectoryClient.listFilesAndDirectories().next()), 'ok');
  });

  test('opens a snapshot of it, to be read', async () => {
    const { share } = await freshPlace();
    const { snapshot = '' } = await share.createSnapshot();
    await fileOf(share).delete();
    const { share: guest } = guestOf(share, tokenFor(share, 'rcwdl'));
    const past = guest.withSnapshot(snapshot);
    assert.equal((await fileOf(past).downloadToBuffer(0, 12)).toString(), 'of the owner');
    assert.equal(await refusal(fileOf(guest).getProperties()), '404 ResourceNotFound');
    const { share: reader } = guestOf(share, tokenFor(share, 'cwd'));
    assert.equal(await refusal(fileOf(reader.withSnapshot(snapshot)).getProperties()), NOT_PERMITTED);
    assert.equal(await refusal(past.delete()), NEVER);
  });

  test('begins and ends to the second, by the server’s clock', async () => {
    const { share } = await freshPlace();
    const times = { startsOn: inSeconds(20), expiresOn: inSeconds(40) };
    const guest = fileOf(guestOf(share, tokenFor(share, 'r', times)).share);
    assert.equal(await outcome(guest.getProperties()), NOT_AUTHENTIC, 'not yet');
    server.clock.advance({ seconds: 21 });
    assert.equal(await outcome(guest.getProperties()), 'ok');
    server.clock.advance({ seconds: 20 });
    assert.equal(await outcome(guest.getProperties()), NOT_AUTHENTIC, 'no more');
  });

  test('that is touched in any part fails', async () => {
    const { share } = await freshPlace();
    const token = tokenFor(share, 'r', { startsOn: inSeconds(-60), protocol: SASProtocol.HttpsAndHttp });
    const uses = (text: string) => fileOf(guestOf(share, text).share);
    assert.equal(await outcome(uses(token).getProperties()), 'ok');
    for (const [name, value] of [
      ['sp', 'rcwdl'],
      ['sr', 'f'],
      ['st', inSeconds(-600).toISOString()],
      ['se', inSeconds(600).toISOString()],
      ['sv', '2020-12-06'],
      ['spr', 'https'],
      ['sip', '127.0.0.1'],
      ['si', 'policy'],
      ['rsct', 'text/html'],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      assert.equal(await refusal(uses(touched.toString()).getProperties()), NOT_AUTHENTIC, name);
    }
    assert.equal(await refusal(uses(`${token}&sp=rcwdl`).delete()), NOT_AUTHENTIC, 'sp twice');
  });

  test('that wants https is refused over http, and one for other addresses is refused from here', async () => {
    const { share } = await freshPlace();
    for (const [values, want] of [
      [{ protocol: SASProtocol.Https }, '403 AuthorizationProtocolMismatch'],
      [{ protocol: SASProtocol.HttpsAndHttp }, 'ok'],
      [{ ipRange: { start: '10.0.0.1', end: '10.0.0.9' } }, '403 AuthorizationSourceIPMismatch'],
      [{ ipRange: { start: '127.0.0.1' } }, 'ok'],
    ] as const) {
      const guest = fileOf(guestOf(share, tokenFor(share, 'r', values)).share);
      assert.equal(await outcome(guest.getProperties()), want, JSON.stringify(values));
    }
  });

  test('does not tell whether a share is there that it does not open', async () => {
    const { share } = await freshPlace();
    const name = `${share.name}-x`;
    const { share: nowhere } = guestOf({ name }, tokenFor(share, 'rcwdl'));
    assert.equal(await refusal(fileOf(nowhere).getProperties()), NOT_AUTHENTIC);
    const { share: gone } = guestOf({ name }, tokenFor({ name }, 'rcwdl'));
    assert.equal(await refusal(fileOf(gone).getProperties()), '404 ShareNotFound', 'its own share');
  });

  test('refused is told so in XML, before the headers are looked at', async () => {
    const { share } = await freshPlace();
    const put = (token: string) =>
      send(server.fileUrl, { method: 'PUT', path: `/${share.name}/new?${token}`, account: null });
    assertRefused(await put(tokenFor(share, 'rdl')), NOT_PERMITTED);
    assertRefused(await put(tokenFor(share, 'r').replace('sp=r', 'sp=rcwdl')), NOT_AUTHENTIC);
    assertRefused(await put(tokenFor(share, 'c')), '400 MissingRequiredHeader');
  });
});

describe('a token for a file', () => {
  for (const letters of setsOf('rcwd')) {
    test(`with ${letters} opens what those letters stand for, of that file, and nothing else`, async () => {
      const place = await freshPlace();
      const guest = guestOf(place.share, tokenFor(place.share, letters, { filePath: FILE_PATH }));
      await assertOutcomes(guest, place, ({ ofFile, bySas }) => {
        if (ofFile === undefined) return NOT_AUTHENTIC;
        return opens(letters, bySas) ? 'ok' : NOT_PERMITTED;
      });
    });
  }

  test('is for its path, as it is written', async () => {
    const { share } = await freshPlace();
    for (const [filePath, want] of [
      [FILE_PATH, 'ok'],
      [FILE_PATH.toUpperCase(), NOT_AUTHENTIC],
      [FILE, NOT_AUTHENTIC],
      [DIRECTORY, NOT_AUTHENTIC],
      [`/${FILE_PATH}`, NOT_AUTHENTIC],
      [encodeURI(FILE_PATH), NOT_AUTHENTIC],
    ] as const) {
      const { share: guest } = guestOf(share, tokenFor(share, 'r', { filePath }));
      assert.equal(await outcome(fileOf(guest).getProperties()), want, filePath);
    }
  });

  test('makes the file that it is for, and with c alone does so once', async () => {
    const share = await freshShare(server);
    const filePath = 'new (1) & 文.txt';
    const made = (letters: string) =>
      guestOf(share, tokenFor(share, letters, { filePath })).share.rootDirectoryClient.getFileClient(filePath);
    await made('c').create(10);
    assert.equal(await refusal(made('c').create(20)), NOT_PERMITTED);
    assert.equal(await refusal(made('rcd').create(20)), NOT_PERMITTED);
    assert.equal((await made('r').getProperties()).contentLength, 10);
    await made('w').create(20);
    assert.equal((await made('r').getProperties()).contentLength, 20);
    await made('d').delete();
    await made('c').create(30);
  });

  test('with c alone copies to where nothing is, and over nothing', async () => {
    const { share, source } = await freshPlace();
    const copied = (letters: string) =>
      guestOf(share, tokenFor(share, letters, { filePath: 'copy' })).share.rootDirectoryClient.getFileClient('copy');
    assert.equal(await outcome(copied('c').startCopyFromURL(source)), 'ok');
    assert.equal(await outcome(copied('c').startCopyFromURL(source)), NOT_PERMITTED);
    assert.equal(await outcome(copied('w').startCopyFromURL(source)), 'ok');
  });

  test('says how its content is to be taken', async () => {
    const { share } = await freshPlace();
    await fileOf(share).setHttpHeaders({ fileContentType: 'application/pdf', fileCacheControl: 'no-cache' });
    const values = {
      filePath: FILE_PATH,
      cacheControl: 'no-store',
      contentDisposition: 'attachment; filename="küche.txt"'.normalize('NFKD').replaceAll(/[^ -~]/g, ''),
      contentEncoding: 'identity',
      contentLanguage: 'de',
      contentType: 'text/plain',
    };
    const path = `/${share.name}/${encodeURIComponent(DIRECTORY)}/${encodeURIComponent(FILE)}`;
    const get = (method: string, token: string) =>
      send(server.fileUrl, { method, path: `${path}?${token}`, account: null });
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await get(method, tokenFor(share, 'r', values));
      assert.equal(status, 200);
      assert.deepEqual(
        [
          headers['cache-control'],
          headers['content-disposition'],
          headers['content-encoding'],
          headers['content-language'],
          headers['content-type'],
        ],
        [values.cacheControl, values.contentDisposition, 'identity', 'de', 'text/plain'],
        method,
      );
      const plain = await get(method, tokenFor(share, 'r', { filePath: FILE_PATH }));
      assert.deepEqual(
        [plain.headers['content-type'], plain.headers['cache-control']],
        ['application/pdf', 'no-cache'],
      );
    }
  });
});

const POLICY = 'guests';
const policy = (permissions: string, expiresOn = inSeconds(60)): SignedIdentifier[] => [
  { id: POLICY, accessPolicy: { permissions, startsOn: inSeconds(-60), expiresOn } },
];

describe('a stored policy', () => {
  test('says what its tokens may, and the very next request goes by what it says now', async () => {
    const { share } = await freshPlace();
    for (const filePath of [undefined, FILE_PATH]) {
      const values = filePath === undefined ? { identifier: POLICY } : { identifier: POLICY, filePath };
      const guest = fileOf(guestOf(share, tokenFor(share, '', values)).share);
      const both = async (): Promise<string[]> => [
        await outcome(guest.setMetadata({ by: 'guest' })),
        await outcome(guest.getProperties()),
      ];
      assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'no policy yet');
      await share.setAccessPolicy(policy('w'));
      assert.deepEqual(await both(), ['ok', NOT_PERMITTED], 'may write');
      await share.setAccessPolicy(policy('r'));
      assert.deepEqual(await both(), [NOT_PERMITTED, 'ok'], 'may read');
      await share.setAccessPolicy(policy('rw', inSeconds(-1)));
      assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'ended');
      await share.setAccessPolicy(policy('rw'));
      assert.deepEqual(await both(), ['ok', 'ok'], 'may both');
      await share.setAccessPolicy(policy('rw').map((one) => ({ ...one, id: 'others' })));
      assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'under another name');
      await share.setAccessPolicy([]);
      assert.deepEqual(await both(), [NOT_AUTHENTIC, NOT_AUTHENTIC], 'revoked');
    }
  });

  for (const letters of ['r', 'c', 'w', 'd', 'l']) {
    test(`with ${letters} opens what a token with ${letters} does`, async () => {
      const place = await freshPlace();
      await place.share.setAccessPolicy(policy(letters));
      const guest = guestOf(place.share, tokenFor(place.share, '', { identifier: POLICY }));
      await assertOutcomes(
        guest,
        place,
        bySas(({ bySas }) => opens(letters, bySas)),
      );
    });
  }

  test('is that of the token’s share', async () => {
    const [{ share }, { share: other }] = [await freshPlace(), await freshPlace()];
    await other.setAccessPolicy(policy('r'));
    const token = tokenFor(share, '', { identifier: POLICY });
    for (const { name } of [share, other]) {
      assert.equal(await outcome(fileOf(guestOf({ name }, token).share).getProperties()), NOT_AUTHENTIC);
    }
  });

  test('and token together say everything once', async () => {
    const { share } = await freshPlace();
    const withoutEnd = { permissions: 'r' } as SignedIdentifier['accessPolicy'];
    await share.setAccessPolicy([{ id: POLICY, accessPolicy: withoutEnd }]);
    const uses = (letters: string, values: Values = {}): Promise<string> =>
      outcome(
        fileOf(guestOf(share, tokenFor(share, letters, { identifier: POLICY, ...values })).share).getProperties(),
      );
    assert.equal(await uses(''), NOT_AUTHENTIC, 'nobody says when it ends');
    assert.equal(await uses('', { expiresOn: inSeconds(60) }), 'ok');
    assert.equal(await uses('r', { expiresOn: inSeconds(60) }), NOT_AUTHENTIC, 'twice');
    assert.equal(await uses('', { expiresOn: inSeconds(60), identifier: 'others' }), NOT_AUTHENTIC, 'no such policy');
  });
});

const LETTERS = 'rwdlc';
type AccountValues = Partial<AccountSASSignatureValues> & { readonly key?: StorageSharedKeyCredential };
const accountToken = (letters: string, { key = keyOf(), ...values }: AccountValues = {}): string =>
  generateAccountSASQueryParameters(
    {
      permissions: AccountSASPermissions.parse(letters),
      services: 'f',
      resourceTypes: 'sco',
      expiresOn: inSeconds(60),
      ...values,
    },
    key,
  ).toString();

describe('a token for the account', () => {
  for (const letters of [...LETTERS.split(''), 'aup', LETTERS]) {
    for (const resourceTypes of ['s', 'c', 'o', 'sco']) {
      test(`with ${letters} for ${resourceTypes} opens what both stand for`, async () => {
        const place = await freshPlace();
        const guest = guestOf(place.share, accountToken(letters, { resourceTypes }));
        await assertOutcomes(guest, place, ({ type, byAccountSas }) => {
          if (byAccountSas.length === 0) return NEVER;
          if (!resourceTypes.includes(type)) return '403 AuthorizationResourceTypeMismatch';
          return opens(letters, byAccountSas) ? 'ok' : NOT_PERMITTED;
        });
      });
    }
  }

  test('of other services opens nothing here, and changes nothing', async () => {
    const place = await freshPlace();
    for (const services of ['b', 'bqt']) {
      const guest = guestOf(place.share, accountToken(LETTERS, { services }));
      await assertOutcomes(guest, place, () => '403 AuthorizationServiceMismatch');
    }
    await assertUntouched(place);
  });

  test('among several services opens files as well', async () => {
    const { share } = await freshPlace();
    const { share: guest } = guestOf(share, accountToken('r', { services: 'bqtf', resourceTypes: 'o' }));
    assert.equal(await outcome(fileOf(guest).getProperties()), 'ok');
  });

  test('gets no user delegation key', async () => {
    const { service } = guestOf({ name: 'any' }, accountToken(LETTERS));
    assert.equal(await refusal(service.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
  });

  test('of another account opens nothing here', async () => {
    const place = await freshPlace();
    const guest = guestOf(place.share, accountToken(LETTERS, { key: keyOf(SECOND_ACCOUNT) }));
    await assertOutcomes(guest, place, () => NOT_AUTHENTIC);
    await assertUntouched(place);
  });

  for (const [what, values, want] of [
    ['not yet good', () => ({ startsOn: inSeconds(10) }), NOT_AUTHENTIC],
    ['at its end', () => ({ expiresOn: inSeconds(0) }), NOT_AUTHENTIC],
    ['for https', () => ({ protocol: SASProtocol.Https }), '403 AuthorizationProtocolMismatch'],
    ['for other addresses', () => ({ ipRange: { start: '10.0.0.1' } }), '403 AuthorizationSourceIPMismatch'],
    ['for this address', () => ({ ipRange: { start: '127.0.0.1', end: '127.0.0.9' } }), 'ok'],
  ] as const) {
    test(`${what} gets ${want}`, async () => {
      const { share } = await freshPlace();
      assert.equal(await outcome(fileOf(guestOf(share, accountToken('r', values())).share).getProperties()), want);
    });
  }

  test('that is touched in any part fails', async () => {
    const { share } = await freshPlace();
    const token = accountToken('r', { resourceTypes: 'o' });
    for (const [name, value] of [
      ['sp', 'rw'],
      ['ss', 'bf'],
      ['srt', 'co'],
      ['se', inSeconds(600).toISOString()],
      ['sv', '2019-02-02'],
      ['sip', '127.0.0.1'],
      ['sig', Buffer.alloc(32).toString('base64')],
    ] as const) {
      const touched = new URLSearchParams(token);
      touched.set(name, value);
      const guest = fileOf(guestOf(share, touched.toString()).share);
      assert.equal(await refusal(guest.getProperties()), NOT_AUTHENTIC, name);
    }
  });
});

const encoded = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

describe('a rename', () => {
  interface Rename {
    /** Of the request; none: the owner of the account signs it. */
    readonly token?: string;
    readonly kind?: 'directory';
    readonly from?: string;
    /** Of the source. */
    readonly sourceToken?: string;
    readonly to?: string;
  }

  async function rename({ name }: ShareClient, asked: Rename): Promise<string> {
    const { token, kind, from = FILE_PATH, sourceToken, to = 'moved' } = asked;
    const source = `${server.fileEndpoint()}/${name}/${encoded(from)}${sourceToken === undefined ? '' : `?${sourceToken}`}`;
    const words = [
      ...(kind === undefined ? [] : [`restype=${kind}`]),
      'comp=rename',
      ...(token === undefined ? [] : [token]),
    ];
    const answer = await send(server.fileUrl, {
      method: 'PUT',
      path: `/${name}/${encoded(to)}?${words.join('&')}`,
      headers: { 'x-ms-file-rename-source': source },
      ...(token === undefined ? {} : { account: null }),
    });
    return answer.outcome;
  }

  test('by the account’s key needs no token for what it moves', async () => {
    const { share } = await freshPlace();
    assert.equal(await rename(share, {}), '200');
    assert.equal(await rename(share, { from: 'moved', to: FILE_PATH }), '200');
    assert.equal(await rename(share, { kind: 'directory', from: DIRECTORY, to: 'other' }), '200');
  });

  test('by a token needs one for what it moves, which is taken away, and one for where it goes, which is written', async () => {
    for (const [letters, ofSource, want] of [
      ['rcwdl', undefined, NOT_AUTHENTIC],
      ['rcdl', 'rcwdl', NOT_PERMITTED],
      ['rcwdl', 'rcwl', NOT_PERMITTED],
      ['w', 'd', '200'],
      ['rcwdl', 'rcwdl', '200'],
    ] as const) {
      const place = await freshPlace();
      const { share } = place;
      const tokens = {
        token: tokenFor(share, letters),
        ...(ofSource === undefined ? {} : { sourceToken: tokenFor(share, ofSource) }),
      };
      assert.equal(await rename(share, tokens), want, `${letters} ${ofSource}`);
      if (want !== '200') await assertUntouched(place);
      const directories = { ...tokens, kind: 'directory', from: DIRECTORY, to: 'other' } as const;
      assert.equal(await rename(share, directories), want, `a directory: ${letters} ${ofSource}`);
    }
  });

  test('by tokens for files needs the right one at either end', async () => {
    const { share } = await freshPlace();
    const [ofNew, ofOld] = [
      tokenFor(share, 'cw', { filePath: 'moved' }),
      tokenFor(share, 'd', { filePath: FILE_PATH }),
    ];
    assert.equal(await rename(share, { token: ofNew, sourceToken: ofNew }), NOT_AUTHENTIC);
    assert.equal(await rename(share, { token: ofOld, sourceToken: ofOld }), NOT_AUTHENTIC);
    assert.equal(await rename(share, { token: ofOld, sourceToken: ofNew }), NOT_AUTHENTIC);
    assert.equal(await rename(share, { token: ofNew, sourceToken: ofOld }), '200');
  });

  test('by tokens for the account goes by their letters too', async () => {
    const { share } = await freshPlace();
    const [w, d] = [accountToken('w', { resourceTypes: 'o' }), accountToken('d', { resourceTypes: 'o' })];
    assert.equal(await rename(share, { token: d, sourceToken: d }), NOT_PERMITTED);
    assert.equal(await rename(share, { token: w, sourceToken: w }), NOT_PERMITTED);
    const elsewhere = accountToken('d', { resourceTypes: 'c' });
    assert.equal(await rename(share, { token: w, sourceToken: elsewhere }), '403 AuthorizationResourceTypeMismatch');
    assert.equal(await rename(share, { token: w, sourceToken: d }), '200');
  });

  test('has a source that is over when its token is', async () => {
    const { share } = await freshPlace();
    const ended = tokenFor(share, 'rcwdl', { expiresOn: inSeconds(-1) });
    assert.equal(await rename(share, { token: tokenFor(share, 'rcwdl'), sourceToken: ended }), NOT_AUTHENTIC);
    await share.setAccessPolicy(policy('d'));
    const byPolicy = tokenFor(share, '', { identifier: POLICY });
    assert.equal(await rename(share, { token: tokenFor(share, 'w'), sourceToken: byPolicy }), '200');
  });
});

test('nobody is let in without a credential, to anything', async () => {
  const place = await freshPlace();
  await place.share.setAccessPolicy(policy('rcwdl'));
  await assertOutcomes(guestOf(place.share, ''), place, () => '401 NoAuthenticationInformation');
  await assertUntouched(place);
  const { share: nowhere } = guestOf({ name: `none-${randomUUID()}` }, '');
  assert.equal(await refusal(fileOf(nowhere).getProperties()), '401 NoAuthenticationInformation');
});
