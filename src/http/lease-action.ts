/** Leases: one request form and one answer form for blobs, containers, files and shares. */
import { randomUUID } from 'node:crypto';
import { type LeaseAction, type LeaseId, refuseBreakPeriod, refuseLeaseDuration } from '../rules/lease.ts';
import type { LeaseResult } from '../service/blob/lease-blob.ts';
import { invalidHeader, missingHeader } from '../service/storage-error.ts';
import type { Exchange, Reply } from './exchange.ts';
import { parseLeaseIdHeader } from './header-values.ts';
import { etagHeaders } from './reply-headers.ts';

const STATUS: Readonly<Record<LeaseAction['action'], number>> = {
  acquire: 201,
  renew: 200,
  change: 200,
  release: 200,
  break: 202,
};

export function parseLeaseAction(exchange: Exchange): LeaseAction {
  const text = exchange.header('x-ms-lease-action');
  if (text === null) throw missingHeader('x-ms-lease-action');
  const action = text.toLowerCase();
  switch (action) {
    case 'acquire':
      return {
        action,
        proposedId: parseLeaseIdHeader(exchange, 'x-ms-proposed-lease-id'),
        freshId: randomUUID(),
        durationSeconds: parseDuration(exchange),
      };
    case 'renew':
    case 'release':
      return { action, id: requireLeaseId(exchange, 'x-ms-lease-id') };
    case 'change':
      return {
        action,
        id: requireLeaseId(exchange, 'x-ms-lease-id'),
        proposedId: requireLeaseId(exchange, 'x-ms-proposed-lease-id'),
      };
    case 'break':
      return { action, periodSeconds: parseBreakPeriod(exchange) };
    default:
      throw invalidHeader('x-ms-lease-action', text);
  }
}

function requireLeaseId(exchange: Exchange, name: string): LeaseId {
  const id = parseLeaseIdHeader(exchange, name);
  if (id === null) throw missingHeader(name);
  return id;
}

function parseDuration(exchange: Exchange): number {
  const text = exchange.header('x-ms-lease-duration');
  if (text === null) throw missingHeader('x-ms-lease-duration');
  const seconds = parseSeconds(text);
  if (seconds === null || refuseLeaseDuration(seconds) !== null) throw invalidHeader('x-ms-lease-duration', text);
  return seconds;
}

function parseBreakPeriod(exchange: Exchange): number | null {
  const text = exchange.header('x-ms-lease-break-period');
  if (text === null) return null;
  const seconds = parseSeconds(text);
  if (seconds === null || refuseBreakPeriod(seconds) !== null) throw invalidHeader('x-ms-lease-break-period', text);
  return seconds;
}

const parseSeconds = (text: string): number | null => (/^-?\d{1,9}$/.test(text) ? Number(text) : null);

export function renderLease(exchange: Exchange, { action }: LeaseAction, result: LeaseResult): Reply {
  const headers = result.target === null ? [] : etagHeaders(exchange, result.target);
  if (action === 'break') headers.push('x-ms-lease-time', String(result.remainingSeconds));
  else if (result.lease.state === 'leased') headers.push('x-ms-lease-id', result.lease.id);
  return { status: STATUS[action], headers };
}
