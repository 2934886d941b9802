import { blobNeeds } from '../../auth/needs.ts';
import {
  deleteImmutabilityPolicy as deletePolicy,
  setLegalHold as setHold,
  setImmutabilityPolicy as setPolicy,
} from '../../service/blob/immutability.ts';
import { missingHeader } from '../../service/storage-error.ts';
import { parseDateHeader, parseFlag } from '../header-values.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest, parseImmutabilityModeHeader } from './request-headers.ts';
import { immutabilityHeaders } from './response-headers.ts';

export const setImmutabilityPolicy: Operation = {
  name: 'Set Blob Immutability Policy',
  need: blobNeeds.setImmutabilityPolicy,
  takesPast: true,
  async handle(storage, exchange, resource) {
    const untilMs = parseDateHeader(exchange, 'x-ms-immutability-policy-until-date');
    if (untilMs === null) throw missingHeader('x-ms-immutability-policy-until-date');
    const policy = { untilMs, mode: parseImmutabilityModeHeader(exchange) ?? 'Unlocked' };
    const { until } = await setPolicy(storage, { ...parseBlobRequest(exchange, resource), policy });
    return { status: 200, headers: immutabilityHeaders(until === undefined ? {} : { until }) };
  },
};

export const deleteImmutabilityPolicy: Operation = {
  name: 'Delete Blob Immutability Policy',
  need: blobNeeds.deleteImmutabilityPolicy,
  takesPast: true,
  async handle(storage, exchange, resource) {
    await deletePolicy(storage, parseBlobRequest(exchange, resource));
    return { status: 200, headers: [] };
  },
};

export const setLegalHold: Operation = {
  name: 'Set Blob Legal Hold',
  need: blobNeeds.setLegalHold,
  takesPast: true,
  async handle(storage, exchange, resource) {
    if (exchange.header('x-ms-legal-hold') === null) throw missingHeader('x-ms-legal-hold');
    const legalHold = parseFlag(exchange, 'x-ms-legal-hold');
    await setHold(storage, { ...parseBlobRequest(exchange, resource), legalHold });
    return { status: 200, headers: ['x-ms-legal-hold', String(legalHold)] };
  },
};
