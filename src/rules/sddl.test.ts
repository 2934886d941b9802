import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatSddl, parseSddl } from './sddl.ts';

const normalized = (text: string): string => {
  const parsed = parseSddl(text);
  return 'refusal' in parsed ? parsed.refusal : formatSddl(parsed);
};

describe('text that is given back as it came:', () => {
  for (const text of [
    'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)',
    'O:BAG:BAD:PAI(D;OICINP;FW;;;BG)(A;OICIID;FX;;;WD)',
    'O:BAG:BAD:ARAI(A;;SDGXGWGR;;;AU)',
    'O:BAG:BAD:(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;SY)',
    'O:BAG:BAD:NO_ACCESS_CONTROL',
    'O:BAG:BAD:',
    'O:BAG:BAD:(A;;;;;BA)',
    'O:BAG:BAD:(A;;FA;;;BA)S:AI(AU;OICISAFA;FA;;;WD)(ML;;NWNRNX;;;HI)',
    'O:S-1-5-21-1-2-3-500G:S-1-0x0123456789ab-4D:P(A;;FR;;;S-1-5)',
  ]) {
    test(text, () => assert.equal(normalized(text), text));
  }
});

describe('the same, written otherwise:', () => {
  for (const [text, want] of [
    ['g:sy o:ba d:(a;oici;fa;;;ba)', 'O:BAG:SYD:(A;OICI;FA;;;BA)'],
    ['O:S-1-5-32-544G:S-1-5-18D: (A ;CIOI; 0x1F01FF ; ; ; S-1-5-18)', 'O:BAG:SYD:(A;OICI;FA;;;SY)'],
    ['D:AIP(A;;FRFX;;;BU)', 'D:PAI(A;;0x1200a9;;;BU)'],
    ['D:(A;;KA;;;BU)', 'D:(A;;CCDCLCSWRPWPSDRCWDWO;;;BU)'],
    ['D:(A;;2032127;;;BU)', 'D:(A;;FA;;;BU)'],
    ['D:(A;;0x80000000;;;BU)', 'D:(A;;GR;;;BU)'],
    ['D:(A;;FA;;;S-1-0x000000000005-18)', 'D:(A;;FA;;;SY)'],
    ['S:(AU;SA;0x1;;;WD)', 'S:(AU;SA;CC;;;WD)'],
    ['D:(A;;0xffffffff;;;WD)', 'D:(A;;0xffffffff;;;WD)'],
  ] as const) {
    test(text, () => assert.equal(normalized(text), want));
  }
});

test('a right of 32 bits is a number of its own', () => {
  const parsed = parseSddl('D:(A;;GRGA;;;WD)');
  assert.ok(!('refusal' in parsed));
  assert.equal(parsed.dacl?.aces?.[0]?.mask, 0x9000_0000);
});

describe('text that is refused:', () => {
  for (const [text, want] of [
    ['', /must begin with/],
    ['invalidPermission', /must begin with/],
    ['X:BA', /must begin with/],
    ['O:BAO:BA', /twice/],
    ['O:', /not an identifier/],
    ['O:ZZ', /not an identifier/],
    ['O:S-1', /not an identifier/],
    ['O:S-2-5-18', /not an identifier/],
    ['O:S-1-5-4294967296', /not an identifier/],
    [`O:S-1-5${'-1'.repeat(16)}`, /not an identifier/],
    ['O:DA', /different account in every domain/],
    ['D:(A;;FA;;;DU)', /different account in every domain/],
    ['D:XX(A;;FA;;;BA)', /flags, followed by entries/],
    ['D:(A;;FA;;;BA', /flags, followed by entries/],
    ['D:(A;;FA;;;BA)AI', /flags, followed by entries/],
    ['D:NO_ACCESS_CONTROL(A;;FA;;;BA)', /must not have entries/],
    ['D:(A;;FA;;BA)', /six parts/],
    ['D:(A;;FA;;;BA;more)', /six parts/],
    ['D:()', /flags, followed by entries|six parts/],
    ['D:(OA;;FA;;;BA)', /type OA/],
    ['D:(OD;;FA;;;BA)', /type OD/],
    ['D:(AU;SA;FA;;;BA)', /type AU/],
    ['S:(A;;FA;;;BA)', /type A /],
    ['D:(XA;;FA;;;BA;(Member_of{SID(BA)}))', /flags, followed by entries/],
    ['D:(A;;FA;bf967aba-0de6-11d0-a285-00aa003049e2;;BA)', /one type of object/],
    ['D:(A;XX;FA;;;BA)', /not flags/],
    ['D:(A;OIC;FA;;;BA)', /not flags/],
    ['D:(A;;ZZ;;;BA)', /not rights/],
    ['D:(A;;0x1ffffffff;;;BA)', /not rights/],
    ['D:(A;;4294967296;;;BA)', /not rights/],
    ['D:(A;;NW;;;BA)', /not rights/],
    ['S:(ML;;FA;;;HI)', /not rights/],
    [`D:${'(A;;FA;;;BA)'.repeat(2_731)}`, /too long/],
  ] as const) {
    test(text.slice(0, 60) || '(nothing)', () => assert.match(normalized(text), want));
  }
});

test('a list of 65,535 bytes and less is kept', () => {
  const text = `D:${'(A;;FA;;;BA)'.repeat(2_730)}`;
  assert.equal(normalized(text), text);
});
