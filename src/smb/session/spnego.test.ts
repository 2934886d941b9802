import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  der,
  fieldsOfResp,
  MECH_KERBEROS,
  MECH_NTLM,
  mechTypesOf,
  negTokenInit,
  negTokenResp,
} from '../../../test/harness/ntlm-client.ts';
import { Malformed } from '../wire/message.ts';
import { decodeNegTokenInit, decodeNegTokenResp, encodeInitialToken, encodeNegTokenResp, NegState } from './spnego.ts';

const TOKEN = Buffer.from('a token');
const MIC = Buffer.alloc(16, 0x11);

test('the token of the server offers NTLM and the usual hint', () => {
  assert.equal(
    encodeInitialToken().toString('hex'),
    '604806062b0601050502a03e303c' +
      'a00e300c060a2b06010401823702020a' +
      `a32a3028a0261b24${Buffer.from('not_defined_in_RFC4178@please_ignore').toString('hex')}`,
  );
});

for (const [what, mechanisms, ntlmIndex] of [
  ['NTLM alone', [MECH_NTLM], 0],
  ['NTLM first', [MECH_NTLM, MECH_KERBEROS], 0],
  ['Kerberos first', [MECH_KERBEROS, MECH_NTLM], 1],
  ['Kerberos alone', [MECH_KERBEROS], -1],
  ['nothing', [], -1],
] as const) {
  test(`a client that offers ${what} is understood`, () => {
    const mechTypes = mechTypesOf(mechanisms);
    assert.deepEqual(decodeNegTokenInit(negTokenInit(mechTypes, TOKEN)), { mechTypes, ntlmIndex, mechToken: TOKEN });
    assert.equal(decodeNegTokenInit(negTokenInit(mechTypes, null)).mechToken, null);
  });
}

test('fields that are of no interest are passed over', () => {
  const fields = [
    der(0xa0, mechTypesOf([MECH_NTLM])),
    der(0xa1, Buffer.from('03020106', 'hex')),
    der(0xa2, der(4, TOKEN)),
  ];
  const blob = der(0x60, Buffer.from('06062b0601050502', 'hex'), der(0xa0, der(0x30, ...fields)));
  assert.deepEqual(decodeNegTokenInit(blob).mechToken, TOKEN);
});

test("a client's answer carries a token, and a MIC where it sends one", () => {
  assert.deepEqual(decodeNegTokenResp(negTokenResp(TOKEN)), { responseToken: TOKEN, mechListMic: null });
  assert.deepEqual(decodeNegTokenResp(negTokenResp(TOKEN, MIC)), { responseToken: TOKEN, mechListMic: MIC });
  const stateOnly = Buffer.from('a1073005a0030a0101', 'hex');
  assert.deepEqual(decodeNegTokenResp(stateOnly), { responseToken: null, mechListMic: null });
});

for (const [what, blob] of [
  ['nothing', Buffer.alloc(0)],
  ['a token of Kerberos itself', der(0x60, MECH_KERBEROS, Buffer.from([1, 0]))],
  ['an answer in place of a beginning', negTokenResp(TOKEN)],
  ['a beginning without mechanisms', der(0x60, Buffer.from('06062b0601050502', 'hex'), der(0xa0, der(0x30)))],
  ['bytes after the token', Buffer.concat([negTokenInit(mechTypesOf([MECH_NTLM]), TOKEN), Buffer.from([0, 0])])],
  ['a mechanism and no token', der(0x60, Buffer.from('06062b0601050502', 'hex'))],
  ['a field twice', der(0xa1, der(0x30, der(0xa2, der(4, TOKEN)), der(0xa2, der(4, TOKEN))))],
  ['a token that is no string', der(0xa1, der(0x30, der(0xa2, der(2, TOKEN))))],
] as const) {
  test(`${what} is malformed`, () => {
    const decode = blob[0] === 0xa1 && !what.startsWith('an answer') ? decodeNegTokenResp : decodeNegTokenInit;
    assert.throws(() => decode(blob), Malformed);
  });
}

test('answers are written as other servers write them', () => {
  assert.equal(encodeNegTokenResp({ state: NegState.ACCEPT_COMPLETED }).toString('hex'), 'a1073005a0030a0100');
  assert.equal(
    encodeNegTokenResp({ state: NegState.ACCEPT_INCOMPLETE, namesMechanism: true, responseToken: TOKEN }).toString(
      'hex',
    ),
    `a120301ea0030a0101a10c060a2b06010401823702020aa2090407${TOKEN.toString('hex')}`,
  );
  const fields = fieldsOfResp(encodeNegTokenResp({ state: NegState.ACCEPT_COMPLETED, mechListMic: MIC }));
  assert.deepEqual(
    [...fields],
    [
      [0, Buffer.from([0])],
      [3, MIC],
    ],
  );
});
