/** Get User Delegation Key, of the Blob service. */
import { blobNeeds } from '../../auth/needs.ts';
import { answerGetUserDelegationKey } from '../user-delegation-key.ts';
import type { Operation } from './operation.ts';

const SINCE_DELEGATION_KEYS = '2018-11-09';

export const getUserDelegationKey: Operation = {
  name: 'Get User Delegation Key',
  need: blobNeeds.getUserDelegationKey,
  handle: (storage, exchange) => answerGetUserDelegationKey(storage, exchange, SINCE_DELEGATION_KEYS),
};
