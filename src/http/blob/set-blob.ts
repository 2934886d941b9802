import { blobNeeds } from '../../auth/needs.ts';
import { parseSequenceAction, parseSequenceNumber } from '../../rules/sequence-number.ts';
import { setBlobMetadata as setMetadata } from '../../service/blob/set-blob-metadata.ts';
import {
  type SetBlobPropertiesRequest,
  setBlobProperties as setProperties,
} from '../../service/blob/set-blob-properties.ts';
import { invalidHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseMetadata } from '../metadata.ts';
import { etagHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parsePageBlobLength } from './put-blob.ts';
import { parseBlobHeaders, parseBlobRequest, parseKeyedBlobRequest } from './request-headers.ts';
import { writtenHeaders } from './response-headers.ts';

export const setBlobMetadata: Operation = {
  name: 'Set Blob Metadata',
  need: blobNeeds.setBlobMetadata,
  async handle(storage, exchange, resource) {
    const request = { ...parseKeyedBlobRequest(exchange, resource), metadata: parseMetadata(exchange) };
    return { status: 200, headers: writtenHeaders(exchange, await setMetadata(storage, request)) };
  },
};

export const setBlobProperties: Operation = {
  name: 'Set Blob Properties',
  need: blobNeeds.setBlobProperties,
  async handle(storage, exchange, resource) {
    const record = await setProperties(storage, {
      ...parseBlobRequest(exchange, resource),
      headers: parseBlobHeaders(exchange, { plain: false }),
      lengthBytes: exchange.header('x-ms-blob-content-length') === null ? null : parsePageBlobLength(exchange),
      sequence: parseSequence(exchange),
    });
    const headers = etagHeaders(exchange, record);
    if (record.type === 'PageBlob') headers.push('x-ms-blob-sequence-number', record.sequenceNumber ?? '0');
    return { status: 200, headers };
  },
};

/** A number without an action says nothing about what to do with it. */
function parseSequence(exchange: Exchange): SetBlobPropertiesRequest['sequence'] {
  const actionText = exchange.header('x-ms-sequence-number-action');
  const numberText = exchange.header('x-ms-blob-sequence-number');
  if (actionText === null && numberText === null) return null;
  const action = actionText === null ? null : parseSequenceAction(actionText);
  if (action === null) throw invalidHeader('x-ms-sequence-number-action', actionText ?? '');
  const given = numberText === null ? null : parseSequenceNumber(numberText);
  if (numberText !== null && given === null) throw invalidHeader('x-ms-blob-sequence-number', numberText);
  return { action, given };
}
