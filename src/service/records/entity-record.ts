/**
 * An entity as bytes: a format byte, the ticks of its Timestamp (8 bytes, big-endian), the number of its own properties
 * (u16), then each of them as `nameBytes:u16 type:u8 name value`. Its keys stand in its key alone. Numbers are
 * little-endian, texts UTF-8; texts and binaries have their length before them (u32). Made to be walked without building
 * anything: a filter or an answer looks at the properties that it wants and steps over all others.
 */
import { asBuffer } from '../../base/bytes.ts';
import type { EdmValue, Properties } from '../../rules/edm.ts';
import { UnreadableRecord } from './codec.ts';

const FORMAT = 1;
const TICKS_AT = 1;
const COUNT_AT = 9;
const PROPERTIES_AT = 11;
const PROPERTY_HEAD_BYTES = 3;

/** The type byte of a property. Booleans have no other byte. */
export const TYPE = {
  string: 1,
  binary: 2,
  false: 3,
  true: 4,
  int32: 5,
  int64: 6,
  double: 7,
  dateTime: 8,
  guid: 9,
} as const;

export interface Entity {
  readonly ticks: bigint;
  readonly properties: Properties;
}

export function encodeEntity({ ticks, properties }: Entity): Uint8Array {
  let lengthBytes = PROPERTIES_AT;
  for (const [name, value] of properties)
    lengthBytes += PROPERTY_HEAD_BYTES + Buffer.byteLength(name) + valueBytes(value);
  const bytes = Buffer.allocUnsafe(lengthBytes);
  bytes[0] = FORMAT;
  bytes.writeBigUInt64BE(ticks, TICKS_AT);
  bytes.writeUInt16LE(properties.length, COUNT_AT);
  let at = PROPERTIES_AT;
  for (const [name, value] of properties) {
    const nameBytes = bytes.write(name, at + PROPERTY_HEAD_BYTES, 'utf8');
    bytes.writeUInt16LE(nameBytes, at);
    bytes[at + 2] = typeByte(value);
    at = writeValue(bytes, at + PROPERTY_HEAD_BYTES + nameBytes, value);
  }
  return bytes;
}

export function decodeEntity(value: Uint8Array): Entity {
  const cursor = new EntityCursor(value);
  const properties: (readonly [string, EdmValue])[] = [];
  while (cursor.next()) properties.push([cursor.name, cursor.value]);
  return { ticks: cursor.ticks, properties };
}

export function ticksOf(value: Uint8Array): bigint {
  refuseUnreadable(value);
  return new DataView(value.buffer, value.byteOffset).getBigUint64(TICKS_AT);
}

function refuseUnreadable(value: Uint8Array): void {
  if (value[0] !== FORMAT) throw new UnreadableRecord(`unknown entity format ${value[0]}`);
  if (value.length < PROPERTIES_AT) throw endsTooEarly();
}

const endsTooEarly = (): UnreadableRecord => new UnreadableRecord('the entity ends too early');

/** Walks the properties of an encoded entity; between two steps it stands on one. */
export class EntityCursor {
  bytes: Buffer;
  nameStart = 0;
  nameEnd = 0;
  /** One of TYPE. */
  type = 0;
  /** Of a text or binary, behind its length. */
  valueStart = 0;
  valueEnd = 0;
  /** Properties behind this one. */
  left = 0;

  constructor(value: Uint8Array) {
    this.bytes = this.reset(value);
  }

  /** Before the first property of another entity. */
  reset(value: Uint8Array): Buffer {
    refuseUnreadable(value);
    this.bytes = asBuffer(value);
    this.left = this.bytes.readUInt16LE(COUNT_AT);
    this.valueEnd = PROPERTIES_AT;
    return this.bytes;
  }

  get ticks(): bigint {
    return this.bytes.readBigUInt64BE(TICKS_AT);
  }

  /** The upper 32 bits of the ticks. */
  get ticksHigh(): number {
    return this.bytes.readUInt32BE(TICKS_AT);
  }

  get ticksLow(): number {
    return this.bytes.readUInt32BE(TICKS_AT + 4);
  }

  /** False behind the last property, which must be the end of the record. */
  next(): boolean {
    const { bytes } = this;
    const at = this.valueEnd;
    if (this.left === 0) {
      if (at < bytes.length) throw new UnreadableRecord('the entity has extra bytes at its end');
      return false;
    }
    this.left--;
    if (at + PROPERTY_HEAD_BYTES > bytes.length) throw endsTooEarly();
    this.nameStart = at + PROPERTY_HEAD_BYTES;
    this.nameEnd = this.nameStart + bytes.readUInt16LE(at);
    this.type = bytes[at + 2] as number;
    this.#findValue();
    if (this.valueEnd > bytes.length) throw endsTooEarly();
    return true;
  }

  get name(): string {
    return this.bytes.toString('utf8', this.nameStart, this.nameEnd);
  }

  get value(): EdmValue {
    const { bytes, valueStart: start, valueEnd: end } = this;
    switch (this.type) {
      case TYPE.string:
        return { type: 'Edm.String', value: bytes.toString('utf8', start, end) };
      case TYPE.binary:
        return { type: 'Edm.Binary', value: Uint8Array.from(bytes.subarray(start, end)) };
      case TYPE.false:
      case TYPE.true:
        return { type: 'Edm.Boolean', value: this.type === TYPE.true };
      case TYPE.int32:
        return { type: 'Edm.Int32', value: bytes.readInt32LE(start) };
      case TYPE.int64:
        return { type: 'Edm.Int64', value: bytes.readBigInt64LE(start) };
      case TYPE.double:
        return { type: 'Edm.Double', value: bytes.readDoubleLE(start) };
      case TYPE.dateTime:
        return { type: 'Edm.DateTime', value: bytes.readBigInt64LE(start) };
      default:
        return { type: 'Edm.Guid', value: renderGuid(bytes, start) };
    }
  }

  #findValue(): void {
    const start = this.nameEnd;
    switch (this.type) {
      case TYPE.string:
      case TYPE.binary:
        this.valueStart = start + 4;
        if (this.valueStart > this.bytes.length) throw endsTooEarly();
        this.valueEnd = this.valueStart + this.bytes.readUInt32LE(start);
        return;
      default: {
        const lengthBytes = FIXED_BYTES[this.type];
        if (lengthBytes === undefined) throw new UnreadableRecord(`unknown property type ${this.type}`);
        this.valueStart = start;
        this.valueEnd = start + lengthBytes;
      }
    }
  }
}

/** By type byte; texts and binaries say their length. */
const FIXED_BYTES: readonly (number | undefined)[] = [undefined, undefined, undefined, 0, 0, 4, 8, 8, 8, 16];

/** The text of the 16 bytes from here on; bytes stand in the order of the text, so that they also sort like it. */
export function renderGuid(bytes: Buffer, start: number): string {
  const hex = bytes.toString('hex', start, start + 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function typeByte(value: EdmValue): number {
  switch (value.type) {
    case 'Edm.String':
      return TYPE.string;
    case 'Edm.Binary':
      return TYPE.binary;
    case 'Edm.Boolean':
      return value.value ? TYPE.true : TYPE.false;
    case 'Edm.Int32':
      return TYPE.int32;
    case 'Edm.Int64':
      return TYPE.int64;
    case 'Edm.Double':
      return TYPE.double;
    case 'Edm.DateTime':
      return TYPE.dateTime;
    case 'Edm.Guid':
      return TYPE.guid;
  }
}

function valueBytes(value: EdmValue): number {
  if (value.type === 'Edm.String') return 4 + Buffer.byteLength(value.value);
  if (value.type === 'Edm.Binary') return 4 + value.value.length;
  return FIXED_BYTES[typeByte(value)] as number;
}

/** Where the next property begins. */
function writeValue(bytes: Buffer, at: number, value: EdmValue): number {
  switch (value.type) {
    case 'Edm.String': {
      const lengthBytes = bytes.write(value.value, at + 4, 'utf8');
      bytes.writeUInt32LE(lengthBytes, at);
      return at + 4 + lengthBytes;
    }
    case 'Edm.Binary':
      bytes.writeUInt32LE(value.value.length, at);
      bytes.set(value.value, at + 4);
      return at + 4 + value.value.length;
    case 'Edm.Boolean':
      return at;
    case 'Edm.Int32':
      return bytes.writeInt32LE(value.value, at);
    case 'Edm.Double':
      return bytes.writeDoubleLE(value.value, at);
    case 'Edm.Int64':
    case 'Edm.DateTime':
      return bytes.writeBigInt64LE(value.value, at);
    case 'Edm.Guid':
      return at + bytes.write(value.value.replaceAll('-', ''), at, 'hex');
  }
}
