/** List Handles and Force Close Handles: what SMB clients have open. Asked of a file or directory alike. */

import { fileNeeds } from '../../auth/needs.ts';
import { formatHttpDate } from '../../base/http-date.ts';
import { forceCloseHandles as forceClose, type Handle, listHandles as list } from '../../service/file/opens/handles.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { parseMarker, parseMaxResults, renderMarker } from '../list.ts';
import { XmlWriter } from '../xml.ts';
import { renderName } from './list-directories-and-files.ts';
import { fileNameOf, type Operation } from './operation.ts';

export const listHandles: Operation = {
  name: 'List Handles',
  need: fileNeeds.listHandles,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const { handles, next } = await list(storage, {
      name: fileNameOf(exchange, resource),
      recursive: parseFlag(exchange, 'x-ms-recursive'),
      marker: parseMarker(exchange) || null,
      limit: parseMaxResults(exchange),
    });
    const xml = new XmlWriter().open('EnumerationResults');
    if (handles.length === 0) xml.leaf('Entries');
    else {
      xml.open('Entries');
      for (const handle of handles) renderHandle(xml, handle, exchange);
      xml.close();
    }
    const body = xml.leaf('NextMarker', renderMarker(next)).toString();
    return { status: 200, headers: ['Content-Type', 'application/xml'], body };
  },
};

export const forceCloseHandles: Operation = {
  name: 'Force Close Handles',
  need: fileNeeds.forceCloseHandles,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const { closedCount, failedCount, next } = await forceClose(storage, {
      name: fileNameOf(exchange, resource),
      recursive: parseFlag(exchange, 'x-ms-recursive'),
      handleId: parseHandleId(exchange),
      marker: parseMarker(exchange) || null,
    });
    const headers = [
      'x-ms-number-of-handles-closed',
      String(closedCount),
      'x-ms-number-of-handles-failed',
      String(failedCount),
    ];
    return { status: 200, headers: next === null ? headers : headers.concat('x-ms-marker', renderMarker(next)) };
  },
};

const HANDLE_ID = 'x-ms-handle-id';
const EVERY = '*';

/** Null: every one. */
function parseHandleId(exchange: Exchange): string | null {
  const text = exchange.header(HANDLE_ID);
  if (text === null) throw missingHeader(HANDLE_ID);
  if (text === EVERY) return null;
  if (!/^\d{1,20}$/.test(text)) throw invalidHeader(HANDLE_ID, text);
  return text;
}

const SINCE_RIGHTS = '2023-08-03';

function renderHandle(xml: XmlWriter, handle: Handle, { version }: Exchange): void {
  const { reconnectedMs } = handle;
  xml.open('Handle').leaf('HandleId', handle.id);
  renderName(xml, 'Path', handle.path);
  xml
    .leaf('FileId', handle.fileId)
    .leaf('ParentId', handle.parentId)
    .leaf('SessionId', handle.sessionId)
    .leaf('ClientIp', handle.clientIp)
    .leaf('ClientName', handle.clientName)
    .leaf('OpenTime', formatHttpDate(handle.openedMs))
    .leafIf('LastReconnectTime', reconnectedMs === null ? null : formatHttpDate(reconnectedMs));
  if (version >= SINCE_RIGHTS) {
    xml.open('AccessRightList');
    for (const right of handle.accessRights) xml.leaf('AccessRight', right);
    xml.close();
  }
  xml.close();
}
