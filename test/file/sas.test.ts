/**
 * What is particular to files in shared access signatures: snapshots, tokens for one file, renames. What they share with
 * other services is in test/services.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ShareClient } from '@azure/storage-file-share';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { outcome, refusal } from '../harness/clients.ts';
import { freshShare } from '../harness/file-clients.ts';
import { send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { assertRefused } from '../harness/queue-http.ts';
import { NEVER, NOT_AUTHENTIC, NOT_PERMITTED, opens, type SasValues, setsOf } from '../services/credentials.ts';
import * as credentials from './credentials.ts';
import { assertOutcomes, assertUntouched, DIRECTORY, FILE, fileOf, type Guest, type Place } from './operations.ts';

const { FILE_PATH, FILES } = credentials;

const server = await startInProcess();

const inSeconds = (seconds: number): Date => new Date(server.clock.nowMs() + seconds * 1000);

const tokenFor = ({ name }: ShareClient, letters: string, values: SasValues = {}): string =>
  FILES.makeSas(DEVELOPMENT_ACCOUNT, name, letters, { expiresOn: inSeconds(60), ...values });

const accountToken = (letters: string, resourceTypes: string): string =>
  FILES.makeAccountSas(DEVELOPMENT_ACCOUNT, letters, { services: 'f', resourceTypes, expiresOn: inSeconds(60) });

/** Clients that have nothing but the token. */
function guestOf({ name }: ShareClient, sas: string): Guest {
  const service = credentials.connect({ endpoint: server.fileEndpoint(), sas });
  return { service, share: service.getShareClient(name) };
}

const freshPlace = (): Promise<Place> =>
  credentials.freshPlace({ endpoint: server.fileEndpoint(), key: DEVELOPMENT_ACCOUNT });

describe('a token for a share', () => {
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

test('a token for the account gets no user delegation key', async () => {
  const guest = credentials.connect({ endpoint: server.fileEndpoint(), sas: accountToken('rwdlc', 'sco') });
  assert.equal(await refusal(guest.getUserDelegationKey(inSeconds(0), inSeconds(60))), NOT_AUTHENTIC);
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
    const [w, d] = [accountToken('w', 'o'), accountToken('d', 'o')];
    assert.equal(await rename(share, { token: d, sourceToken: d }), NOT_PERMITTED);
    assert.equal(await rename(share, { token: w, sourceToken: w }), NOT_PERMITTED);
    const elsewhere = accountToken('d', 'c');
    assert.equal(await rename(share, { token: w, sourceToken: elsewhere }), '403 AuthorizationResourceTypeMismatch');
    assert.equal(await rename(share, { token: w, sourceToken: d }), '200');
  });

  test('has a source that is over when its token is', async () => {
    const { share } = await freshPlace();
    const ended = tokenFor(share, 'rcwdl', { expiresOn: inSeconds(-1) });
    assert.equal(await rename(share, { token: tokenFor(share, 'rcwdl'), sourceToken: ended }), NOT_AUTHENTIC);
    const accessPolicy = { permissions: 'd', startsOn: inSeconds(-60), expiresOn: inSeconds(60) };
    await share.setAccessPolicy([{ id: 'guests', accessPolicy }]);
    const byPolicy = FILES.makeSas(DEVELOPMENT_ACCOUNT, share.name, '', { identifier: 'guests' });
    assert.equal(await rename(share, { token: tokenFor(share, 'w'), sourceToken: byPolicy }), '200');
  });
});
