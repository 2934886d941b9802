import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inheritedDescriptor } from './inherited-permission.ts';
import { formatSddl, parseSddl } from './sddl.ts';

function inherited(parent: string, kind: 'file' | 'directory'): string {
  const descriptor = parseSddl(parent);
  assert.ok(!('refusal' in descriptor), JSON.stringify(descriptor));
  return formatSddl(inheritedDescriptor(descriptor, kind));
}

/** Of an entry in the parent: what stands for it in a file, and in a directory. */
describe('entries for what is below, with owner BG and group PU:', () => {
  for (const [entry, file, directory] of [
    ['(A;OICI;FA;;;BA)', '(A;ID;FA;;;BA)', '(A;OICIID;FA;;;BA)'],
    ['(D;OICI;FW;;;BU)', '(D;ID;FW;;;BU)', '(D;OICIID;FW;;;BU)'],
    ['(A;OI;FR;;;BU)', '(A;ID;FR;;;BU)', '(A;OIIOID;FR;;;BU)'],
    ['(A;CI;FR;;;BU)', '', '(A;CIID;FR;;;BU)'],
    ['(A;;FR;;;BU)', '', ''],
    ['(A;ID;FR;;;BU)', '', ''],
    ['(A;OICIIO;FR;;;BU)', '(A;ID;FR;;;BU)', '(A;OICIID;FR;;;BU)'],
    ['(A;OICIID;FR;;;BU)', '(A;ID;FR;;;BU)', '(A;OICIID;FR;;;BU)'],
    ['(A;OINP;FR;;;BU)', '(A;ID;FR;;;BU)', ''],
    ['(A;CINP;FR;;;BU)', '', '(A;ID;FR;;;BU)'],
    ['(A;OICINP;FR;;;BU)', '(A;ID;FR;;;BU)', '(A;ID;FR;;;BU)'],
    // General rights count below as what they mean for files, and go on as they are.
    ['(A;OICI;GA;;;BU)', '(A;ID;FA;;;BU)', '(A;ID;FA;;;BU)(A;OICIIOID;GA;;;BU)'],
    ['(A;OICIIO;GXGR;;;BU)', '(A;ID;0x1200a9;;;BU)', '(A;ID;0x1200a9;;;BU)(A;OICIIOID;GXGR;;;BU)'],
    ['(A;OICI;SDGXGWGR;;;BU)', '(A;ID;0x1301bf;;;BU)', '(A;ID;0x1301bf;;;BU)(A;OICIIOID;SDGXGWGR;;;BU)'],
    ['(A;CINP;GR;;;BU)', '', '(A;ID;FR;;;BU)'],
    ['(A;OI;GR;;;BU)', '(A;ID;FR;;;BU)', '(A;OIIOID;GR;;;BU)'],
    // Whoever creates is, from then on, the owner.
    ['(A;OICIIO;GA;;;CO)', '(A;ID;FA;;;BG)', '(A;ID;FA;;;BG)(A;OICIIOID;GA;;;CO)'],
    ['(A;OICIIO;FR;;;CG)', '(A;ID;FR;;;PU)', '(A;ID;FR;;;PU)(A;OICIIOID;FR;;;CG)'],
    ['(A;OICINP;FA;;;CO)', '(A;ID;FA;;;BG)', '(A;ID;FA;;;BG)'],
  ] as const) {
    // A second entry, so that what is inherited is never nothing.
    const also = { file: '(A;ID;FX;;;WD)', directory: '(A;OICIID;FX;;;WD)' };
    const parent = `O:BGG:PUD:P${entry}(A;OICI;FX;;;WD)`;
    test(`${entry} in a file`, () => assert.equal(inherited(parent, 'file'), `O:BGG:PUD:AI${file}${also.file}`));
    test(`${entry} in a directory`, () =>
      assert.equal(inherited(parent, 'directory'), `O:BGG:PUD:AI${directory}${also.directory}`));
  }
});

const ROOT =
  'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)';

test('a file in the root of a new share', () =>
  assert.equal(
    inherited(ROOT, 'file'),
    'O:SYG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)(A;ID;FA;;;SY)',
  ));

test('a directory in the root of a new share, and one in that', () => {
  const first = inherited(ROOT, 'directory');
  assert.equal(
    first,
    'O:SYG:SYD:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;OICIIOID;GXGR;;;BU)(A;OICIID;0x1301bf;;;AU)(A;ID;FA;;;SY)(A;OICIIOID;GA;;;CO)',
  );
  assert.equal(inherited(first, 'directory'), first);
});

test('where nothing is meant for what is below, the system and administrators get in', () => {
  const want = 'O:BAG:BUD:(A;;FA;;;SY)(A;;FA;;;BA)';
  assert.equal(inherited('O:BAG:BUD:(A;;FA;;;WD)', 'file'), want);
  assert.equal(inherited('O:BAG:BUD:', 'directory'), want);
  assert.equal(inherited('O:BAG:BU', 'directory'), want);
});

test('what lets everybody in does so below', () =>
  assert.equal(inherited('O:BAG:BUD:NO_ACCESS_CONTROL', 'file'), 'O:BAG:BUD:NO_ACCESS_CONTROL'));

test('an entry about an owner that there is not is left away', () =>
  assert.equal(inherited('D:(A;OI;FA;;;CO)(A;OI;FR;;;CG)(A;OI;FR;;;WD)', 'file'), 'D:AI(A;ID;FR;;;WD)'));

test('audits are inherited with what they audit', () =>
  assert.equal(
    inherited('O:BAG:BAD:(A;OICI;FA;;;BA)S:P(AU;OICISAFA;GA;;;WD)(AU;SA;FA;;;BU)', 'directory'),
    'O:BAG:BAD:AI(A;OICIID;FA;;;BA)S:AI(AU;IDSAFA;FA;;;WD)(AU;OICIIOIDSAFA;GA;;;WD)',
  ));
