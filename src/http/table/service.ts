/** Operations on the account's Table service as a whole. */
import { tableNeeds } from '../../auth/needs.ts';
import { answerGetProperties, answerGetStats, answerSetProperties } from '../service-operations.ts';
import type { Operation } from './operation.ts';

export const getServiceProperties: Operation = {
  name: 'Get Table Service Properties',
  need: tableNeeds.getServiceProperties,
  handle: answerGetProperties,
};

export const setServiceProperties: Operation = {
  name: 'Set Table Service Properties',
  need: tableNeeds.setServiceProperties,
  handle: (storage, exchange) => answerSetProperties(storage, exchange),
};

export const getServiceStats: Operation = {
  name: 'Get Table Service Stats',
  need: tableNeeds.getServiceStats,
  handle: answerGetStats,
};
