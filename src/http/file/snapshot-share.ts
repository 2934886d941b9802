import { fileNeeds } from '../../auth/needs.ts';
import { snapshotShare as snapshotOfShare } from '../../service/file/snapshot-share.ts';
import { parseMetadata } from '../metadata.ts';
import { etagHeaders } from '../reply-headers.ts';
import { type Operation, shareNameOf } from './operation.ts';

export const snapshotShare: Operation = {
  name: 'Snapshot Share',
  need: fileNeeds.snapshotShare,
  async handle(storage, exchange, resource) {
    const metadata = parseMetadata(exchange);
    const { moment, snapshot } = await snapshotOfShare(storage, {
      name: shareNameOf(exchange, resource),
      metadata: metadata.length === 0 ? null : metadata,
    });
    return { status: 201, headers: ['x-ms-snapshot', moment, ...etagHeaders(exchange, snapshot)] };
  },
};
