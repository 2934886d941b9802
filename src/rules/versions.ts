/** The protocol's versions (`x-ms-version`): dates as text, compared as text, and the days on which behaviour switched. */
import { parseIso8601 } from '../base/http-date.ts';

/** `YYYY-MM-DD`. */
export type ApiVersion = string;

/** Every published version, oldest first. */
export const KNOWN_VERSIONS: readonly ApiVersion[] = [
  '2008-10-27',
  '2009-04-14',
  '2009-07-17',
  '2009-09-19',
  '2011-08-18',
  '2012-02-12',
  '2013-08-15',
  '2014-02-14',
  '2015-02-21',
  '2015-04-05',
  '2015-07-08',
  '2015-12-11',
  '2016-05-31',
  '2017-04-17',
  '2017-07-29',
  '2017-11-09',
  '2018-03-28',
  '2018-11-09',
  '2019-02-02',
  '2019-07-07',
  '2019-10-10',
  '2019-12-12',
  '2020-02-10',
  '2020-04-08',
  '2020-06-12',
  '2020-08-04',
  '2020-10-02',
  '2020-12-06',
  '2021-02-12',
  '2021-04-10',
  '2021-06-08',
  '2021-08-06',
  '2021-10-04',
  '2021-12-02',
  '2022-11-02',
  '2023-01-03',
  '2023-08-03',
  '2023-11-03',
  '2024-02-04',
  '2024-05-04',
  '2024-08-04',
  '2024-11-04',
  '2025-01-05',
  '2025-05-05',
  '2025-07-05',
  '2025-11-05',
  '2026-02-06',
  '2026-04-06',
  '2026-06-06',
  '2026-10-06',
  '2026-12-06',
  '2027-03-07',
];

export const OLDEST_VERSION: ApiVersion = KNOWN_VERSIONS[0] as ApiVersion;
export const NEWEST_VERSION: ApiVersion = KNOWN_VERSIONS.at(-1) as ApiVersion;

/** ETags stand in quotes in responses. */
export const SINCE_QUOTED_ETAGS = '2011-08-18';
/** An entity can be inserted or replaced, or merged, without If-Match. */
export const SINCE_UPSERTS = '2011-08-18';
/** A read takes any mix of conditions, and lists of ETags. */
export const SINCE_READ_CONDITIONS_COMBINE = '2013-08-15';
/** A lease id on a write whose blob is not there is refused. */
export const SINCE_LEASE_ID_NEEDS_BLOB = '2013-08-15';
/** Delete Blob takes a blob of staged blocks only. */
export const SINCE_UNCOMMITTED_DELETABLE = '2013-08-15';
/** There are append blobs. */
export const SINCE_APPEND_BLOBS = '2015-02-21';
/** A Content-Length of 0 is signed as an empty line. */
export const SINCE_EMPTY_CONTENT_LENGTH_SIGNED = '2015-02-21';
/** `x-ms-*` headers without a value are signed. */
export const SINCE_EMPTY_HEADERS_SIGNED = '2016-05-31';
/** `If-None-Match: *` on a read is an error. */
export const SINCE_READ_IF_NONE_MATCH_ANY_REFUSED = '2016-05-31';
/** Blocks of 100 MiB, Put Blob of 256 MiB. */
export const SINCE_LARGE_BLOCKS = '2016-05-31';
/** `If-Match: *` fails where there are staged blocks only. */
export const SINCE_IF_MATCH_ANY_NEEDS_COMMITTED = '2017-04-17';
/** The delete permission is enough to break a lease. */
export const SINCE_BREAK_BY_DELETE_PERMISSION = '2017-07-29';
/** Get Page Ranges takes a marker and a maximum. */
export const SINCE_PAGE_LISTS_IN_PARTS = '2021-06-08';
/** While a blob is leased, Set Blob Tags needs the lease. */
export const SINCE_TAGS_NEED_LEASE = '2020-04-08';
/** Get and Set Blob Tags take conditions, in headers of their own. */
export const SINCE_CONDITIONS_ON_TAGS = '2026-02-06';
/** The tier that moves a blob between the others by itself. */
export const SINCE_SMART_TIER = '2026-06-06';
/** Append Block of 100 MiB. */
export const SINCE_LARGE_APPENDS = '2022-11-02';
/** Blocks of 4,000 MiB, Put Blob of 5,000 MiB. */
export const SINCE_VERY_LARGE_BLOCKS = '2019-12-12';
/** An anonymous request to something private gets a challenge (401) and not 404. */
export const SINCE_BEARER_CHALLENGE = '2019-12-12';

/**
 * The version to serve a request as: `fallback` where it names none, the newest known in place of one still to come
 * (a newer client is served, not turned away), null for text that is no date or a date before the first version.
 */
export function effectiveVersion(text: string | null, fallback: ApiVersion): ApiVersion | null {
  if (text === null) return fallback;
  const isDay = text.length === NEWEST_VERSION.length && parseIso8601(text) !== null;
  if (!isDay || text < OLDEST_VERSION) return null;
  return text > NEWEST_VERSION ? NEWEST_VERSION : text;
}
