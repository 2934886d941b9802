/**
 * Cross-origin resource sharing: the rules that an account's service properties hold, their limits, and what they say
 * about a preflight and about an actual request. Headers are given as name, value, name, value, ….
 */
import type { ErrorCode } from './error-code.ts';

export type CorsRule = {
  /** Exact, `*`, or with a wildcard for sub-domains: `http://*.contoso.com`. */
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  /** Exact, or a prefix that ends in `*`. */
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
  readonly maxAgeSeconds: number;
};

const METHODS: ReadonlySet<string> = new Set(['DELETE', 'GET', 'HEAD', 'MERGE', 'PATCH', 'POST', 'OPTIONS', 'PUT']);

// ---- limits

const RULE_COUNT_MAX = 5;
const RULES_CHARACTERS_MAX = 2048;
const TEXT_LENGTH_MAX = 256;
const ORIGIN_COUNT_MAX = 64;
const LITERAL_HEADER_COUNT_MAX = 64;
const PREFIXED_HEADER_COUNT_MAX = 2;

export function refuseCorsRules(rules: readonly CorsRule[]): ErrorCode | null {
  if (rules.length > RULE_COUNT_MAX) return 'InvalidXmlDocument';
  if (!rules.every(isWithinLimits)) return 'InvalidXmlNodeValue';
  const characters = rules.reduce((sum, rule) => sum + textOf(rule).length, 0);
  return characters > RULES_CHARACTERS_MAX ? 'InvalidXmlDocument' : null;
}

function isWithinLimits(rule: CorsRule): boolean {
  return (
    rule.allowedOrigins.length >= 1 &&
    rule.allowedOrigins.length <= ORIGIN_COUNT_MAX &&
    rule.allowedOrigins.every((origin) => origin !== '' && origin.length <= TEXT_LENGTH_MAX) &&
    rule.allowedMethods.length >= 1 &&
    rule.allowedMethods.every((method) => METHODS.has(method)) &&
    areHeadersWithinLimits(rule.allowedHeaders) &&
    areHeadersWithinLimits(rule.exposedHeaders) &&
    Number.isInteger(rule.maxAgeSeconds) &&
    rule.maxAgeSeconds >= 0
  );
}

function areHeadersWithinLimits(headers: readonly string[]): boolean {
  const prefixedCount = headers.filter((header) => header.endsWith('*')).length;
  return (
    prefixedCount <= PREFIXED_HEADER_COUNT_MAX &&
    headers.length - prefixedCount <= LITERAL_HEADER_COUNT_MAX &&
    headers.every((header) => header.length <= TEXT_LENGTH_MAX)
  );
}

/** A rule as its XML holds it, without the tags. */
function textOf(rule: CorsRule): string {
  const lists = [rule.allowedOrigins, rule.allowedMethods, rule.allowedHeaders, rule.exposedHeaders];
  return lists.map((list) => list.join(',')).join('') + String(rule.maxAgeSeconds);
}

// ---- matching

type OriginMatch = 'exact' | 'any';

/** How a rule lets an origin in; a named origin counts before `*`. A request without Origin is met by `*` only. */
function matchOrigin(rule: CorsRule, origin: string | null): OriginMatch | null {
  if (origin !== null && rule.allowedOrigins.some((allowed) => isOrigin(allowed, origin))) return 'exact';
  return rule.allowedOrigins.includes('*') ? 'any' : null;
}

function isOrigin(allowed: string, origin: string): boolean {
  const [before = '', after, ...more] = allowed.split('*');
  if (after === undefined) return allowed === origin;
  if (before === '' || after === '' || more.length > 0) return false;
  const middle = origin.slice(before.length, origin.length - after.length);
  return origin === before + middle + after && /^[A-Za-z0-9.-]+$/.test(middle);
}

function findRule(
  rules: readonly CorsRule[],
  { origin, method }: { origin: string | null; method: string },
): { rule: CorsRule; match: OriginMatch } | null {
  for (const rule of rules) {
    const match = rule.allowedMethods.includes(method) ? matchOrigin(rule, origin) : null;
    if (match !== null) return { rule, match };
  }
  return null;
}

function isHeaderAllowed(rule: CorsRule, header: string): boolean {
  const wanted = header.toLowerCase();
  return rule.allowedHeaders.some((entry) => {
    const allowed = entry.toLowerCase();
    return allowed.endsWith('*') ? wanted.startsWith(allowed.slice(0, -1)) : wanted === allowed;
  });
}

export type PreflightRefusal =
  | {
      readonly refusal: 'InvalidHeaderValue';
      readonly header: 'Origin' | 'Access-Control-Request-Method';
    }
  | { readonly refusal: 'CorsPreflightFailure' };

/** The first rule for this origin and method decides alone: if it lacks a header, no later rule is tried. */
export function matchPreflight(
  rules: readonly CorsRule[],
  request: { origin: string | null; method: string | null; headers: readonly string[] },
): { readonly headers: readonly string[] } | PreflightRefusal {
  const { origin, method, headers } = request;
  if (origin === null || origin === '') return { refusal: 'InvalidHeaderValue', header: 'Origin' };
  if (method === null || !METHODS.has(method)) {
    return { refusal: 'InvalidHeaderValue', header: 'Access-Control-Request-Method' };
  }
  const found = findRule(rules, { origin, method });
  if (found === null || !headers.every((header) => isHeaderAllowed(found.rule, header))) {
    return { refusal: 'CorsPreflightFailure' };
  }
  return {
    headers: [
      ...allowOrigin(found.match, origin),
      'Access-Control-Allow-Methods',
      method,
      ...(headers.length > 0 ? ['Access-Control-Allow-Headers', headers.join(',')] : []),
      'Access-Control-Max-Age',
      String(found.rule.maxAgeSeconds),
    ],
  };
}

/** What an actual request's answer says to a browser. It is never refused for its origin. */
export function corsResponseHeaders(
  rules: readonly CorsRule[],
  { origin, method }: { origin: string | null; method: string },
): readonly string[] {
  if (rules.length === 0) return [];
  const found = findRule(rules, { origin, method });
  // Caches may hand an answer that is the same for all origins to anyone; any other only to the same origin.
  const varies = found?.match !== 'any' && (method === 'GET' || method === 'HEAD');
  const vary = varies ? ['Vary', 'Origin'] : [];
  if (found === null) return vary;
  const exposed = found.rule.exposedHeaders.join(',');
  return [
    ...vary,
    ...allowOrigin(found.match, origin ?? ''),
    ...(exposed === '' ? [] : ['Access-Control-Expose-Headers', exposed]),
  ];
}

function allowOrigin(match: OriginMatch, origin: string): readonly string[] {
  if (match === 'any') return ['Access-Control-Allow-Origin', '*'];
  return ['Access-Control-Allow-Origin', origin, 'Access-Control-Allow-Credentials', 'true'];
}
