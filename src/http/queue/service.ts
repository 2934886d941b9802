/** Operations on the account's Queue service as a whole. */
import { queueNeeds } from '../../auth/needs.ts';
import { answerGetProperties, answerGetStats, answerSetProperties } from '../service-operations.ts';
import type { Operation } from './operation.ts';

export const getServiceProperties: Operation = {
  name: 'Get Queue Service Properties',
  need: queueNeeds.getServiceProperties,
  handle: answerGetProperties,
};

export const setServiceProperties: Operation = {
  name: 'Set Queue Service Properties',
  need: queueNeeds.setServiceProperties,
  handle: (storage, exchange) => answerSetProperties(storage, exchange),
};

export const getServiceStats: Operation = {
  name: 'Get Queue Service Stats',
  need: queueNeeds.getServiceStats,
  handle: answerGetStats,
};
