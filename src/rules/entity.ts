/**
 * What an entity may be: its keys, its properties and its size. The size is counted as the service counts it, which is
 * not what an entity takes here: UTF-16, and a few bytes for each property.
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 */
import type { EdmValue, EntityKey, Properties } from './edm.ts';
import type { ErrorCode } from './error-code.ts';

export const KEY_UNITS_MAX = 512;
export const SYSTEM_PROPERTIES: readonly string[] = ['PartitionKey', 'RowKey', 'Timestamp'];
/** With the three of the system there are 255. */
export const PROPERTY_COUNT_MAX = 252;
const NAME_UNITS_MAX = 255;
const STRING_UNITS_MAX = 32 * 1024;
const BINARY_BYTES_MAX = 64 * 1024;
const ENTITY_BYTES_MAX = 1024 * 1024;

/** A key of an entity, before anything else is known of it. */
export function refuseKey(text: string): ErrorCode | null {
  if (text.length > KEY_UNITS_MAX) return 'KeyValueTooLarge';
  for (let index = 0; index < text.length; index++) {
    if (FORBIDDEN_IN_KEYS[text.charCodeAt(index)] === 1) return 'OutOfRangeInput';
  }
  return hasLoneSurrogate(text) ? 'OutOfRangeInput' : null;
}

/** By code unit: control characters, and those that would end or divide a URL's path. */
const FORBIDDEN_IN_KEYS = new Uint8Array(0xa0).fill(1, 0, 0x20).fill(1, 0x7f);
for (const character of '/\\#?') FORBIDDEN_IN_KEYS[character.charCodeAt(0)] = 1;

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Half a character: not text, and nothing that UTF-8 could keep. */
const hasLoneSurrogate = (text: string): boolean => LONE_SURROGATE.test(text);

/** The whole of it: keys, names, values, their number and size. */
export function refuseEntity({ partitionKey, rowKey }: EntityKey, properties: Properties): ErrorCode | null {
  const refusal = refuseKey(partitionKey) ?? refuseKey(rowKey);
  if (refusal !== null) return refusal;
  if (properties.length > PROPERTY_COUNT_MAX) return 'TooManyProperties';
  return refuseNames(properties) ?? refuseValues(properties, 4 + 2 * (partitionKey.length + rowKey.length));
}

function refuseNames(properties: Properties): ErrorCode | null {
  const names = new Set(SYSTEM_PROPERTIES);
  for (const [name] of properties) {
    const refusal = refuseName(name);
    if (refusal !== null) return refusal;
    names.add(name);
  }
  return names.size === SYSTEM_PROPERTIES.length + properties.length ? null : 'DuplicatePropertiesSpecified';
}

/** An identifier of C#, without its formatting characters. */
const IDENTIFIER = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}]*$/u;

function refuseName(name: string): ErrorCode | null {
  if (name.length > NAME_UNITS_MAX) return 'PropertyNameTooLong';
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit >= 0x80) return IDENTIFIER.test(name) ? null : 'PropertyNameInvalid';
    if (!isAsciiLetter(unit) && !(index > 0 && isAsciiDigit(unit))) return 'PropertyNameInvalid';
  }
  return name === '' ? 'PropertyNameInvalid' : null;
}

/** Or an underscore. */
const isAsciiLetter = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || unit === 0x5f;

const isAsciiDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

function refuseValues(properties: Properties, keysBytes: number): ErrorCode | null {
  let entityBytes = keysBytes;
  for (const [name, value] of properties) {
    const refusal = refuseValue(value);
    if (refusal !== null) return refusal;
    entityBytes += 8 + 2 * name.length + valueBytes(value);
  }
  return entityBytes > ENTITY_BYTES_MAX ? 'EntityTooLarge' : null;
}

function refuseValue({ type, value }: EdmValue): ErrorCode | null {
  if (type === 'Edm.String') {
    if (value.length > STRING_UNITS_MAX) return 'PropertyValueTooLarge';
    return hasLoneSurrogate(value) ? 'InvalidInput' : null;
  }
  return type === 'Edm.Binary' && value.length > BINARY_BYTES_MAX ? 'PropertyValueTooLarge' : null;
}

function valueBytes({ type, value }: EdmValue): number {
  switch (type) {
    case 'Edm.String':
      return 4 + 2 * value.length;
    case 'Edm.Binary':
      return 4 + value.length;
    case 'Edm.Boolean':
      return 1;
    case 'Edm.Int32':
      return 4;
    case 'Edm.Int64':
    case 'Edm.Double':
    case 'Edm.DateTime':
      return 8;
    case 'Edm.Guid':
      return 16;
  }
}
