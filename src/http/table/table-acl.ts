/** Get and Set Table ACL. */
import { tableNeeds } from '../../auth/needs.ts';
import { getTable, setTableAcl as setAcl } from '../../service/table/use-table.ts';
import { POLICIES_BYTES_MAX, parsePolicies, renderPolicies } from '../access-policies.ts';
import { readWhole } from '../body.ts';
import { type Operation, tableNameOf } from './operation.ts';

const TABLE_PERMISSIONS = 'raud';

export const getTableAcl: Operation = {
  name: 'Get Table ACL',
  need: tableNeeds.getTableAcl,
  async handle(storage, exchange, resource) {
    const { policies } = await getTable(storage, tableNameOf(exchange, resource));
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: renderPolicies(policies) };
  },
};

export const setTableAcl: Operation = {
  name: 'Set Table ACL',
  need: tableNeeds.setTableAcl,
  async handle(storage, exchange, resource) {
    const body = await readWhole(exchange, { maxBytes: POLICIES_BYTES_MAX });
    await setAcl(storage, tableNameOf(exchange, resource), parsePolicies(body, { letters: TABLE_PERMISSIONS }));
    return { status: 204, headers: [] };
  },
};
