/** Get User Delegation Key, of the Queue service. */
import { queueNeeds } from '../../auth/needs.ts';
import { answerGetUserDelegationKey } from '../user-delegation-key.ts';
import type { Operation } from './operation.ts';

const SINCE_DELEGATION_KEYS = '2025-07-05';

export const getUserDelegationKey: Operation = {
  name: 'Get User Delegation Key',
  need: queueNeeds.getUserDelegationKey,
  handle: (storage, exchange) => answerGetUserDelegationKey(storage, exchange, SINCE_DELEGATION_KEYS),
};
