/** CORS at the edge: the answer to a preflight, and the headers that a service's rules add to every other answer. */
import { type CorsRule, corsResponseHeaders, matchPreflight } from '../rules/cors.ts';
import { invalidHeader, StorageError } from '../service/storage-error.ts';
import type { Exchange, Reply } from './exchange.ts';

/** The answer to OPTIONS: whether the rules let a browser send the request it announces. Nobody is authenticated. */
export function answerPreflight(rules: readonly CorsRule[], exchange: Exchange): Reply {
  const outcome = matchPreflight(rules, {
    origin: exchange.header('origin'),
    method: exchange.header('access-control-request-method'),
    headers: splitNames(exchange.header('access-control-request-headers')),
  });
  if ('headers' in outcome) return { status: 200, headers: outcome.headers };
  if (outcome.refusal === 'CorsPreflightFailure') throw new StorageError('CorsPreflightFailure');
  throw invalidHeader(outcome.header, exchange.header(outcome.header.toLowerCase()) ?? '');
}

/** Name, value, name, value, …; nothing where the service has no rules. */
export function corsHeaders(rules: readonly CorsRule[], exchange: Exchange): readonly string[] {
  if (rules.length === 0) return [];
  return corsResponseHeaders(rules, { origin: exchange.header('origin'), method: exchange.method });
}

function splitNames(list: string | null): string[] {
  if (list === null) return [];
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
