/**
 * Tokens for one file that the official client makes with a user delegation key, over TLS. What keys for files share with
 * those for other services is in test/services.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { SECOND_ACCOUNT } from '../harness/accounts.ts';
import { oauthServers } from '../harness/oauth-servers.ts';
import { type Access, type DelegatedSasValues, NOT_AUTHENTIC, NOT_PERMITTED, opens } from '../services/credentials.ts';
import { delegate, FILE_PATH, FILES, freshPlace, shareOf } from './credentials.ts';
import { CONTRIBUTOR, DELEGATOR, fileOf, READER } from './operations.ts';

const { issuer, startOverTls, inSeconds } = await oauthServers();

describe('a user delegation key for files', () => {
  let owner: Access & { readonly ca: Buffer };
  before(async () => {
    const { server, ca } = await startOverTls();
    const { port } = new URL(server.origins.file);
    owner = { endpoint: `https://localhost:${port}/${SECOND_ACCOUNT.name}`, key: SECOND_ACCOUNT, ca };
  });

  const tokenBy = async (role: string, share: string, letters: string, values: DelegatedSasValues): Promise<Access> => {
    const { endpoint, ca } = owner;
    const holder = { endpoint, bearer: await issuer.sign({ roles: [DELEGATOR, role] }), ca };
    const { makeSas } = await delegate(holder, { startsOn: inSeconds(-60), expiresOn: inSeconds(3600) });
    return { endpoint, sas: makeSas(share, letters, { expiresOn: inSeconds(60), filePath: FILE_PATH, ...values }), ca };
  };

  for (const letters of ['r', 'w', 'd', 'rcwd']) {
    test(`makes tokens with ${letters} for one file`, async () => {
      const share = await FILES.fresh(owner);
      await share.assertOutcomes(await tokenBy(CONTRIBUTOR, share.name, letters, {}), ({ ofFile, bySas }) => {
        if (ofFile === undefined) return NOT_AUTHENTIC;
        return opens(letters, bySas) ? 'ok' : NOT_PERMITTED;
      });
    });
  }

  test('makes tokens that say how content is to be taken', async () => {
    const { share } = await freshPlace(owner);
    const values = { filePath: FILE_PATH, contentType: 'text/plain', contentDisposition: 'attachment' };
    const guest = await tokenBy(READER, share.name, 'r', values);
    const { contentType, contentDisposition } = await fileOf(shareOf(guest, share.name)).download();
    assert.deepEqual([contentType, contentDisposition], ['text/plain', 'attachment']);
  });
});
