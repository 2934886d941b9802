import { blobNeeds } from '../../auth/needs.ts';
import { parseExpiryOption } from '../../rules/expiry.ts';
import { setBlobExpiry as set } from '../../service/blob/set-blob-expiry.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import { etagHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseBlobRequest } from './request-headers.ts';

export const setBlobExpiry: Operation = {
  name: 'Set Blob Expiry',
  need: blobNeeds.setBlobExpiry,
  async handle(storage, exchange, resource) {
    const text = exchange.header('x-ms-expiry-option');
    if (text === null) throw missingHeader('x-ms-expiry-option');
    const option = parseExpiryOption(text);
    if (option === null) throw invalidHeader('x-ms-expiry-option', text);
    const time = exchange.header('x-ms-expiry-time');
    const record = await set(storage, { ...parseBlobRequest(exchange, resource), option, time });
    return { status: 200, headers: etagHeaders(exchange, record) };
  },
};
