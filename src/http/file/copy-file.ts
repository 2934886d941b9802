import { mayOverwrite } from '../../auth/authorize.ts';
import { fileNeeds } from '../../auth/needs.ts';
import { abortCopyFile as abort } from '../../service/file/abort-copy-file.ts';
import { copyFile as copy } from '../../service/file/copy-file.ts';
import { parseCopyId, refuseBody, requireAbort, shownSource } from '../copy-request.ts';
import { parseFlag } from '../header-values.ts';
import { parseMetadata } from '../metadata.ts';
import { etagHeaders } from '../reply-headers.ts';
import { parseCopiedProperties } from './copied-property-headers.ts';
import type { Operation } from './operation.ts';
import { parseFileRequest, refuseNfsHeaders } from './request-headers.ts';

export const copyFile: Operation = {
  name: 'Copy File',
  need: fileNeeds.copyFile,
  async handle(storage, exchange, resource, { resolveSource }) {
    refuseBody(exchange);
    refuseNfsHeaders(exchange);
    const { node, copy: state } = await copy(storage, {
      ...parseFileRequest(exchange, resource),
      metadata: parseMetadata(exchange),
      properties: parseCopiedProperties(exchange),
      ignoresReadOnly: parseFlag(exchange, 'x-ms-file-copy-ignore-readonly'),
      mayOverwrite: mayOverwrite(exchange),
      shownSource: shownSource(exchange),
      version: exchange.version,
      source: await resolveSource(exchange),
    });
    const headers = [...etagHeaders(exchange, node), 'x-ms-copy-id', state.id, 'x-ms-copy-status', state.status];
    return { status: 202, headers };
  },
};

export const abortCopyFile: Operation = {
  name: 'Abort Copy File',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource) {
    requireAbort(exchange);
    await abort(storage, { ...parseFileRequest(exchange, resource), copyId: parseCopyId(exchange) });
    return { status: 204, headers: [] };
  },
};
