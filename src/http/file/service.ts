/** Operations on the account's File service as a whole. It has no stats. */
import { fileNeeds } from '../../auth/needs.ts';
import { answerGetProperties, answerSetProperties } from '../service-operations.ts';
import type { Operation } from './operation.ts';

export const getServiceProperties: Operation = {
  name: 'Get File Service Properties',
  need: fileNeeds.getServiceProperties,
  handle: answerGetProperties,
};

export const setServiceProperties: Operation = {
  name: 'Set File Service Properties',
  need: fileNeeds.setServiceProperties,
  handle: (storage, exchange) => answerSetProperties(storage, exchange),
};
