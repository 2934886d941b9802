/** What is particular to tables when the account's key signs: keys of odd characters, and a refusal in XML. */
// engines: embedded
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { odata } from '@azure/data-tables';
import { startInProcess } from '../harness/in-process.ts';
import { recipeOfTables, SCHEMES, signByHand } from '../harness/signed-by-hand.ts';
import { freshTable, tableService } from '../harness/table-clients.ts';
import { sendTable } from '../harness/table-http.ts';
import { ODD } from './credentials.ts';

const server = await startInProcess();

test('the official client signs keys of every character that has a meaning in a path', async () => {
  const service = tableService(server);
  const table = await freshTable(server, 'Signed');
  await table.createEntity({ ...ODD, n: 1 });
  await table.updateEntity({ ...ODD, n: 2 }, 'Merge');
  await table.upsertEntity({ ...ODD, n: 3 }, 'Replace');
  await table.submitTransaction([['update', { ...ODD, n: 4 }, 'Merge']]);
  assert.equal((await table.getEntity(ODD.partitionKey, ODD.rowKey))['n'], 4);
  const filter = odata`PartitionKey eq ${ODD.partitionKey}`;
  const found = await table.listEntities({ queryOptions: { filter } }).next();
  assert.equal((found.value as { n: number }).n, 4);
  await table.setAccessPolicy([{ id: 'one', accessPolicy: { permission: 'r' } }]);
  assert.equal((await table.getAccessPolicy())[0]?.id, 'one');
  await service.setProperties({ cors: [] });
  assert.deepEqual((await service.getProperties()).cors ?? [], []);
  const names: (string | undefined)[] = [];
  for await (const { name } of service.listTables()) names.push(name);
  assert.ok(names.includes(table.tableName));
  await table.deleteEntity(ODD.partitionKey, ODD.rowKey);
  await table.deleteTable();
});

for (const scheme of SCHEMES) {
  test(`a request by ${scheme} for access policies that is signed without its comp is refused in XML`, async () => {
    const asked = { scheme, path: '/letters?comp=acl', signed: { path: '/letters' } };
    const { outcome, body } = await sendTable(server.tableUrl, signByHand(recipeOfTables, asked));
    assert.equal(outcome, '403 AuthenticationFailed');
    assert.match(body.toString(), /<AuthenticationErrorDetail>Signature did not match/);
  });
}
