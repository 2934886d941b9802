/** The Table service as tests of credentials see it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  type AccountSasServices,
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  generateTableSas,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from '@azure/data-tables';
import { credentialOf } from '../harness/oauth-servers.ts';
import { TABLE_CLIENT_OPTIONS } from '../harness/table-clients.ts';
import type { Access, CredentialService, Resource } from '../services/credentials.ts';
import { assertOutcomes, assertUntouched, type Guest, outcome } from './operations.ts';

/** Every character that has a meaning in a path or between quotes. */
export const ODD = { partitionKey: "o'b +&%25 ü(1)文", rowKey: `=,;@:$!*~"<>[]{}|^` };

export function connect({ endpoint, key, bearer, sas, ca }: Access, name: string): Guest {
  const options: TableServiceClientOptions =
    ca === undefined ? TABLE_CLIENT_OPTIONS : { retryOptions: { maxRetries: 0 }, tlsOptions: { ca } };
  if (bearer !== undefined) {
    const credential = credentialOf(bearer);
    return {
      service: new TableServiceClient(endpoint, credential, options),
      table: new TableClient(endpoint, name, credential, options),
    };
  }
  if (key !== undefined) {
    const credential = new AzureNamedKeyCredential(key.name, key.key);
    return {
      service: new TableServiceClient(endpoint, credential, options),
      table: new TableClient(endpoint, name, credential, options),
    };
  }
  if (sas === undefined) {
    return { service: new TableServiceClient(endpoint, options), table: new TableClient(endpoint, name, options) };
  }
  const credential = new AzureSASCredential(sas);
  return {
    service: new TableServiceClient(endpoint, credential, options),
    table: new TableClient(endpoint, name, credential, options),
  };
}

const tableOf = (guest: Access, name: string): TableClient => connect(guest, name).table;

/** With an entity of odd keys in it. */
async function fresh(owner: Access, name = `test${randomBytes(8).toString('hex')}`): Promise<Resource> {
  const table = tableOf(owner, name);
  await table.createTable();
  await table.createEntity(ODD);
  let isPrepared = false;
  return {
    name,
    assertOutcomes(guest, wanted) {
      isPrepared = true;
      return assertOutcomes(connect(guest, name), table, wanted);
    },
    assertUntouched: () => assertUntouched(table, { isPrepared }),
    async assertShown(guest) {
      const { service, table } = connect(guest, name);
      assert.equal((await table.getEntity(ODD.partitionKey, ODD.rowKey)).rowKey, ODD.rowKey);
      assert.equal((await service.listTables().next()).done, false);
    },
    setPolicies: (policies) =>
      table.setAccessPolicy(
        policies.map(({ id, permissions, expiresOn }) => ({
          id,
          accessPolicy: { permission: permissions, ...(expiresOn === undefined ? {} : { expiry: expiresOn }) },
        })),
      ),
  };
}

const WORDS = { r: 'query', w: 'write', d: 'delete', l: 'list', a: 'add', u: 'update' } as const;

/** The token's letters as the client wants them. */
const wordsOf = (letters: string) =>
  Object.fromEntries(letters.split('').map((letter) => [WORDS[letter as keyof typeof WORDS], true]));

export const TABLES: CredentialService = {
  door: 'table',
  resource: 'table',
  fresh,
  outcome,
  notFound: '404 TableNotFound',
  sasLetters: 'raud',
  makeSas(signer, name, letters, values) {
    const key = new AzureNamedKeyCredential(signer.name, signer.key);
    return generateTableSas(name, key, { ...(letters === '' ? {} : { permissions: wordsOf(letters) }), ...values });
  },
  sasParts: [{}],
  serviceLetter: 't',
  accountSasLetters: ['r', 'w', 'd', 'l', 'a', 'u', 'au', 'rwdlau'],
  makeAccountSas(signer, letters, { services, ...values }) {
    const [blob, queue, table, file] = 'bqtf'.split('').map((letter) => services.includes(letter));
    return generateAccountSas(new AzureNamedKeyCredential(signer.name, signer.key), {
      permissions: wordsOf(letters),
      services: { blob, queue, table, file } as AccountSasServices,
      ...values,
    });
  },
  read: (guest, name) => tableOf(guest, name).listEntities().next(),
  writeLetters: 'au',
  writes: [
    (guest, name) => tableOf(guest, name).upsertEntity({ partitionKey: 'p', rowKey: '1' }),
    (guest, name) => tableOf(guest, name).submitTransaction([['upsert', { partitionKey: 'p', rowKey: '2' }]]),
  ],
  changes: [],
};
