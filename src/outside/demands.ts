/** What a request demands of its source: as headers, and judged on the answer of a source that does not know them. */
import type { OutgoingHttpHeaders } from 'node:http';
import { formatHttpDate } from '../base/http-date.ts';
import { type EtagCondition, refuseRead } from '../rules/conditions.ts';
import type { ByteRange } from '../rules/range-header.ts';
import { type OutsideHead, type OutsideRequest, SourceRefused } from '../service/copy/outside.ts';

/** Old enough for every Azure Storage, and for those who imitate it; new enough for bearer tokens. */
const SOURCE_VERSION = '2020-10-02';

export function requestHeaders({
  authorization,
  range,
  ifMatch,
  conditions,
  ifTags,
}: OutsideRequest): OutgoingHttpHeaders {
  const headers = {
    'user-agent': 'Larimar',
    accept: '*/*',
    // The bytes are wanted as they are stored.
    'accept-encoding': 'identity',
    'x-ms-version': SOURCE_VERSION,
    authorization,
    range: range === null ? null : renderRange(range),
    // A weak ETag never matches (RFC 9110, 13.1.1): the answer's own is compared instead.
    'if-match': ifMatch === null ? renderEtags(conditions.ifMatch) : isWeak(ifMatch) ? null : ifMatch,
    'if-none-match': renderEtags(conditions.ifNoneMatch),
    'if-modified-since': renderDate(conditions.ifModifiedSinceMs),
    'if-unmodified-since': renderDate(conditions.ifUnmodifiedSinceMs),
    'x-ms-if-tags': ifTags,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

const renderRange = ({ firstOffsetBytes, lastOffsetBytes }: ByteRange): string =>
  `bytes=${firstOffsetBytes}-${lastOffsetBytes ?? ''}`;

const isWeak = (etag: string): boolean => etag.startsWith('W/');

function renderEtags(condition: EtagCondition | null): string | null {
  if (condition === null || condition === '*') return condition;
  return condition.map((etag) => (isWeak(etag) ? etag : `"${etag}"`)).join(', ');
}

const renderDate = (ms: number | null): string | null => (ms === null ? null : formatHttpDate(ms));

/** A source that does not say when it changed may have changed just now. */
const UNKNOWN_MS = Number.POSITIVE_INFINITY;

/** Throws SourceRefused where an answer that is a success does not fit the conditions. */
export function refuseOtherState(
  source: Pick<OutsideHead, 'etag' | 'lastModifiedMs' | 'blobType'>,
  { ifMatch, conditions, ifTags }: OutsideRequest,
): void {
  const isOther = ifMatch !== null && source.etag !== ifMatch;
  // Only a blob store knows what tags are.
  const ignoresTags = ifTags !== null && source.blobType === null;
  if (isOther || ignoresTags) throw new SourceRefused({ status: 412, code: 'ConditionNotMet' });
  const target = { etag: withoutQuotes(source.etag ?? ''), lastModifiedMs: source.lastModifiedMs ?? UNKNOWN_MS };
  const refusal = refuseRead(conditions, target, { version: SOURCE_VERSION });
  if (refusal === null) return;
  const { code, notModified } = refusal;
  throw new SourceRefused({ status: code === 'ConditionNotMet' ? (notModified ? 304 : 412) : 400, code });
}

const withoutQuotes = (etag: string): string => /^"(.*)"$/.exec(etag)?.[1] ?? etag;
