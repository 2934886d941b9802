/** Get User Delegation Key, of the File service. */
import { fileNeeds } from '../../auth/needs.ts';
import { answerGetUserDelegationKey } from '../user-delegation-key.ts';
import type { Operation } from './operation.ts';

const SINCE_DELEGATION_KEYS = '2026-02-06';

export const getUserDelegationKey: Operation = {
  name: 'Get User Delegation Key',
  need: fileNeeds.getUserDelegationKey,
  handle: (storage, exchange) => answerGetUserDelegationKey(storage, exchange, SINCE_DELEGATION_KEYS),
};
