/** Get User Delegation Key, of the Table service. */
import { tableNeeds } from '../../auth/needs.ts';
import { answerGetUserDelegationKey } from '../user-delegation-key.ts';
import type { Operation } from './operation.ts';

const SINCE_DELEGATION_KEYS = '2025-07-05';

export const getUserDelegationKey: Operation = {
  name: 'Get User Delegation Key',
  need: tableNeeds.getUserDelegationKey,
  handle: (storage, exchange) => answerGetUserDelegationKey(storage, exchange, SINCE_DELEGATION_KEYS),
};
