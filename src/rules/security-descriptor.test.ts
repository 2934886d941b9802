import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../test/harness/random.ts';
import { formatSddl, parseSddl } from './sddl.ts';
import {
  type Ace,
  type Acl,
  decodeDescriptor,
  encodeDescriptor,
  type SecurityDescriptor,
} from './security-descriptor.ts';

function parsed(sddl: string): SecurityDescriptor {
  const descriptor = parseSddl(sddl);
  assert.ok(!('refusal' in descriptor), JSON.stringify(descriptor));
  return descriptor;
}

function decoded(bytes: Uint8Array): SecurityDescriptor {
  const descriptor = decodeDescriptor(bytes);
  assert.ok(!('refusal' in descriptor), JSON.stringify(descriptor));
  return descriptor;
}

/** What official clients send and expect back, as text and as bytes. */
const SDDL =
  'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)S:NO_ACCESS_CONTROL';
const BYTES =
  'AQAUhGwAAACIAAAAAAAAABQAAAACAFgAAwAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAYAP8BHwABAgAAAAAABSAAAAAgAgAAAAAkAKkAEgABBQAAAAAABRUAAABZUbgXZnJdJWRjOwuMmS4AAQUAAAAAAAUVAAAAoGXPfnhLm1/nfIdwr/1IAQEFAAAAAAAFFQAAAKBlz354S5tf53yHcAECAAA=';

test('a descriptor has the bytes that Windows gives it', () => {
  assert.equal(Buffer.from(encodeDescriptor(parsed(SDDL))).toString('base64'), BYTES);
});

test('bytes are told as the text that Windows writes', () => {
  assert.equal(formatSddl(decoded(Buffer.from(BYTES, 'base64'))), SDDL);
});

test('the same descriptor has the same bytes, wherever its parts lie', () => {
  const { owner, group, dacl, sacl } = parsed('O:BAG:SYD:(A;OICI;FA;;;BA)');
  const usual = encodeDescriptor({ owner, group, dacl, sacl });
  const view = new DataView(usual.buffer);
  const daclAt = view.getUint32(16, true);
  // The list at the end, behind a gap; owner and group where they were; an owner that was not chosen, but usual.
  const moved = Buffer.concat([usual, Buffer.alloc(8, 0xff), usual.subarray(daclAt, view.getUint32(4, true))]);
  moved.writeUInt32LE(usual.length + 8, 16);
  moved.writeUInt16LE(moved.readUInt16LE(2) | 1, 2);
  assert.notDeepEqual(moved, Buffer.from(usual));
  assert.deepEqual(encodeDescriptor(decoded(moved)), usual);
});

const PLAIN = { noNullPrototype: true };

const sid = fc
  .tuple(fc.nat({ max: 2 ** 48 - 1 }), fc.array(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 15 }))
  .map(([authority, parts]) => {
    const first = authority > 0xffff_ffff ? `0x${authority.toString(16).padStart(12, '0')}` : authority;
    return ['S-1', first, ...parts].join('-');
  });
const known = fc.constantFrom('S-1-5-18', 'S-1-5-32-544', 'S-1-1-0', 'S-1-3-0', 'S-1-16-4096');
const anybody = fc.oneof(sid, known);
const mask = fc.oneof(fc.nat({ max: 2 ** 32 - 1 }), fc.constantFrom(0x1f01ff, 0x120089, 0xa0000000, 0xf01ff, 0, 7));
const flags = fc.nat({ max: 255 }).map((bits) => bits & 0xdf);
const ace = (...types: Ace['type'][]): fc.Arbitrary<Ace> =>
  fc.record({ type: fc.constantFrom(...types), flags, mask, sid: anybody }, PLAIN);
const acl = (...types: Ace['type'][]): fc.Arbitrary<Acl> =>
  fc.record(
    {
      isProtected: fc.boolean(),
      isAutoInherited: fc.boolean(),
      asksForInheritance: fc.boolean(),
      aces: fc.option(fc.array(ace(...types), { maxLength: 12 })),
    },
    PLAIN,
  );
const descriptors: fc.Arbitrary<SecurityDescriptor> = fc.record(
  {
    owner: fc.option(anybody),
    group: fc.option(anybody),
    dacl: fc.option(acl('allow', 'deny')),
    sacl: fc.option(acl('audit', 'label')),
  },
  PLAIN,
);

test('any descriptor survives the way through bytes, text and bytes', () => {
  fc.assert(
    fc.property(descriptors, (descriptor) => {
      const bytes = encodeDescriptor(descriptor);
      const text = formatSddl(decoded(bytes));
      assert.deepEqual(encodeDescriptor(text === '' ? descriptor : parsed(text)), bytes);
      assert.deepEqual(decoded(bytes), descriptor);
    }),
    seeded,
  );
});

test('bytes that are cut off or changed are read or refused, and never fail', () => {
  fc.assert(
    fc.property(descriptors, fc.nat(), fc.nat({ max: 255 }), fc.nat(), (descriptor, at, byte, length) => {
      const bytes = encodeDescriptor(descriptor);
      bytes[at % bytes.length] = byte;
      decodeDescriptor(bytes.subarray(0, length % (bytes.length + 1)));
      const changed = decodeDescriptor(bytes);
      if (!('refusal' in changed)) assert.deepEqual(decoded(encodeDescriptor(changed)), changed);
    }),
    { ...seeded, numRuns: 500 },
  );
});

describe('bytes that are no descriptor:', () => {
  const good = Buffer.from(BYTES, 'base64');
  const withByte = (at: number, byte: number): Buffer => {
    const bytes = Buffer.from(good);
    bytes[at] = byte;
    return bytes;
  };
  for (const [name, bytes, want] of [
    ['none at all', Buffer.alloc(0), /head/],
    ['less than a head', good.subarray(0, 19), /head/],
    ['of another revision', withByte(0, 2), /head/],
    ['with pointers in place of offsets', withByte(3, 0x04), /self-relative/],
    ['with an owner outside', good.subarray(0, 0x70), /owner or group/],
    ['with an owner in the head', withByte(4, 4), /owner or group/],
    ['with a list outside', withByte(16, 0xff), /list lies outside/],
    ['with a list in the head', withByte(16, 8), /list lies outside/],
    ['with a list longer than the bytes', withByte(0x14 + 3, 0x7f), /list lies outside/],
    ['with more entries than the list has', withByte(0x14 + 4, 4), /shorter than its entries/],
    ['with an entry for one type of object', withByte(0x1c, 5), /type 5/],
    ['with an audit among who may do what', withByte(0x1c, 2), /type 2/],
    ['with an entry that goes on behind the list', withByte(0x1c + 3, 1), /no valid identifier/],
  ] as const) {
    test(name, () => {
      const refused = decodeDescriptor(bytes);
      assert.match('refusal' in refused ? refused.refusal : 'read', want);
    });
  }
});
