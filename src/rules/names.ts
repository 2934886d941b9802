/** Names of accounts, containers, blobs, queues and tables, and metadata: what is legal. As tolerant as the service, no more. */
import type { ErrorCode } from './error-code.ts';

export const ROOT_CONTAINER = '$root';
export const BLOB_NAME_LENGTH_MAX = 1024;
export const BLOB_NAME_SEGMENT_COUNT_MAX = 254;
export const METADATA_BYTES_MAX = 8 * 1024;

const SYSTEM_CONTAINERS: ReadonlySet<string> = new Set([ROOT_CONTAINER, '$web', '$logs', '$blobchangefeed']);

export function refuseAccountName(name: string): ErrorCode | null {
  if (name.length < 3 || name.length > 24) return 'OutOfRangeInput';
  return /^[a-z0-9]+$/.test(name) ? null : 'InvalidResourceName';
}

/** Letters and digits, with single hyphens between them. */
const NAME_IN_PARTS = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export function refuseContainerName(name: string): ErrorCode | null {
  if (SYSTEM_CONTAINERS.has(name)) return null;
  if (name.length < 3 || name.length > 63) return 'OutOfRangeInput';
  return NAME_IN_PARTS.test(name) ? null : 'InvalidResourceName';
}

export function refuseQueueName(name: string): ErrorCode | null {
  if (name.length < 3 || name.length > 63) return 'OutOfRangeInput';
  return NAME_IN_PARTS.test(name) ? null : 'InvalidResourceName';
}

/** NUL, and halves of surrogate pairs, which no UTF-8 can hold: all else is somebody's blob name. */
const NEVER_IN_A_BLOB_NAME = /[\0\p{Surrogate}]/u;

export function refuseBlobName(name: string, { container }: { container: string }): ErrorCode | null {
  if (name.length < 1 || name.length > BLOB_NAME_LENGTH_MAX) return 'OutOfRangeInput';
  if (NEVER_IN_A_BLOB_NAME.test(name)) return 'InvalidResourceName';
  const segmentCountMax = container === ROOT_CONTAINER ? 1 : BLOB_NAME_SEGMENT_COUNT_MAX;
  return name.split('/').length > segmentCountMax ? 'InvalidResourceName' : null;
}

/** Outside the Char production of XML 1.0: not even a character reference can carry these. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const NEVER_IN_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\p{Surrogate}]/u;

/** Whether a listing must give this name percent-encoded, as `<Name Encoded="true">`. */
export function blobNameNeedsEncoding(name: string): boolean {
  return NEVER_IN_XML.test(name);
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_TEXT = /^[\t\x20-\x7e]*$/;

export type Metadata = readonly (readonly [name: string, value: string])[];

export function refuseMetadata(metadata: Metadata): ErrorCode | null {
  const seen = new Set<string>();
  let totalBytes = 0;
  for (const [name, value] of metadata) {
    const refusal = refuseMetadataName(name) ?? refuseMetadataValue(value);
    if (refusal !== null) return refusal;
    seen.add(name.toLowerCase());
    totalBytes += name.length + value.length;
  }
  if (seen.size < metadata.length) return 'InvalidMetadata';
  return totalBytes > METADATA_BYTES_MAX ? 'MetadataTooLarge' : null;
}

export function refuseMetadataName(name: string): ErrorCode | null {
  if (name === '') return 'EmptyMetadataKey';
  return IDENTIFIER.test(name) ? null : 'InvalidMetadata';
}

export function refuseMetadataValue(value: string): ErrorCode | null {
  return HEADER_TEXT.test(value) ? null : 'InvalidMetadata';
}

/** Names without regard to case, values exactly, in any order. */
export function isSameMetadata(a: Metadata, b: Metadata): boolean {
  const values = new Map(a.map(([name, value]) => [name.toLowerCase(), value]));
  return a.length === b.length && b.every(([name, value]) => values.get(name.toLowerCase()) === value);
}

const TABLE_NAME = /^[A-Za-z][A-Za-z0-9]*$/;

/** `Tables` is the name of the list of tables. */
export function refuseTableName(name: string): ErrorCode | null {
  if (name.toLowerCase() === 'tables') return 'InvalidInput';
  if (!TABLE_NAME.test(name)) return 'InvalidResourceName';
  return name.length < 3 || name.length > 63 ? 'OutOfRangeInput' : null;
}
