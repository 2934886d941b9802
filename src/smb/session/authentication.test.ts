import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  der,
  fieldsOfResp,
  MECH_KERBEROS,
  MECH_NTLM,
  mechTypesOf,
  NtlmClient,
  type NtlmClientOptions,
  negTokenInit,
  negTokenResp,
} from '../../../test/harness/ntlm-client.ts';
import { Random } from '../../../test/harness/random.ts';
import type { Account } from '../../auth/identity.ts';
import { ManualClock } from '../../base/clock.ts';
import { Authentication, initialToken, type Step } from './authentication.ts';

/** The hashes are of the keys' Base64, computed with OpenSSL. */
const FIRST_KEY = Buffer.alloc(64, 7);
const FIRST_HASH = Buffer.from('9071a6f880fa0ccd3aeb069d11a72219', 'hex');
const SECOND_KEY = Buffer.alloc(64, 9);
const SECOND_HASH = Buffer.from('f26adbd38d8ed8e604e02d342ffab012', 'hex');
const WRONG_HASH = Buffer.alloc(16, 0x42);

const accounts: ReadonlyMap<string, Account> = new Map(
  [
    { name: 'store1', keys: [FIRST_KEY, SECOND_KEY], loopbackOnly: false },
    { name: 'single', keys: [FIRST_KEY], loopbackOnly: false },
    { name: 'devstoreaccount1', keys: [FIRST_KEY], loopbackOnly: true },
  ].map((account) => [account.name, account]),
);

const open = ({ isLoopback = false } = {}): Authentication =>
  new Authentication({ accounts, isLoopback, serverName: 'larimar', clock: new ManualClock() });

const USUAL: NtlmClientOptions = { user: 'store1', domain: 'AZURE', ntHash: FIRST_HASH };

function blobOf(step: Step): Buffer {
  assert.equal(step.kind, 'more');
  return (step as Step & { kind: 'more' }).blob;
}

function signInRaw(client: NtlmClient, server = open()): Step {
  return server.step(client.authenticate(blobOf(server.step(client.negotiate()))));
}

const ONLY_NTLM = mechTypesOf([MECH_NTLM]);
const KERBEROS_FIRST = mechTypesOf([MECH_KERBEROS, MECH_NTLM]);

function tokenIn(blob: Buffer): Buffer {
  const token = fieldsOfResp(blob).get(2);
  assert.ok(token !== undefined, 'the server sent no token');
  return token;
}

/** With NTLM's first message in the first token, as clients do that offer nothing else. */
function signInWithin(client: NtlmClient, { sendsMic = false, server = open() } = {}): Step {
  const challenge = tokenIn(blobOf(server.step(negTokenInit(ONLY_NTLM, client.negotiate()))));
  const message = client.authenticate(challenge);
  return server.step(negTokenResp(message, sendsMic ? client.mechListMic(ONLY_NTLM, 'client-to-server') : null));
}

const FORMS = [
  ['raw', (client: NtlmClient) => signInRaw(client)],
  ['within SPNEGO', (client: NtlmClient) => signInWithin(client)],
  ['within SPNEGO with a MIC', (client: NtlmClient) => signInWithin(client, { sendsMic: true })],
] as const;

const PROTECTIONS = [
  ['neither key exchange nor MIC', {}],
  ['key exchange', { exchangesKey: true }],
  ['a MIC', { sendsMic: true }],
  ['key exchange and a MIC', { exchangesKey: true, sendsMic: true }],
] as const;

for (const [form, signIn] of FORMS) {
  for (const [protection, options] of PROTECTIONS) {
    test(`${form}, ${protection}: the right password opens a session whose key both sides have`, () => {
      const client = new NtlmClient({ ...USUAL, ...options, workstation: 'LAPTOP' });
      const step = signIn(client);
      assert.equal(step.kind, 'done');
      assert.ok(step.kind === 'done');
      assert.deepEqual([step.account, step.clientName, step.sessionKey], ['store1', 'LAPTOP', client.sessionKey]);
      if (form === 'raw') assert.equal(step.blob.length, 0);
      else assert.deepEqual(fieldsOfResp(step.blob).get(0), Buffer.from([0]));
    });

    test(`${form}, ${protection}: a wrong password is refused`, () => {
      assert.deepEqual(signIn(new NtlmClient({ ...USUAL, ...options, ntHash: WRONG_HASH })), { kind: 'refused' });
    });
  }

  for (const [what, options] of [
    ['the second key', { ntHash: SECOND_HASH }],
    ['the only key of another account', { user: 'single' }],
    ['the user in capitals', { user: 'STORE1' }],
    ['the user in mixed case', { user: 'Store1' }],
    ['no domain', { domain: '' }],
    ['a domain in small letters', { domain: 'localhost' }],
    ['a domain with letters of its own', { domain: 'Bürostraße' }],
    ['the domain in front of the user', { user: 'AZURE\\store1', domain: '' }],
    ['the domain in front of the user and in its own field', { user: 'AZURE\\store1', domain: 'AZURE' }],
    ['the domain behind the user', { user: 'store1@azure.example', domain: '' }],
    ['no workstation', { workstation: '' }],
  ] as const) {
    test(`${form}: ${what} is accepted`, () => {
      const client = new NtlmClient({ ...USUAL, exchangesKey: true, sendsMic: true, ...options });
      const step = signIn(client);
      assert.ok(step.kind === 'done');
      assert.deepEqual(step.sessionKey, client.sessionKey);
    });
  }

  for (const [what, options] of [
    ['an unknown user', { user: 'nobody' }],
    ['a user whose name only begins like an account', { user: 'store' }],
    ['a key that the account does not have', { user: 'single', ntHash: SECOND_HASH }],
    ['an empty user', { user: '' }],
    ['a user that is all domain', { user: 'store1\\' }],
    ['guest', { user: 'guest' }],
    ['an anonymous user', { user: '', domain: '', response: Buffer.alloc(0), isAnonymous: true }],
    ['a user who wants to be anonymous', { isAnonymous: true }],
    ['NTLMv1', { response: Buffer.alloc(24, 1) }],
    ['LM alone', { response: Buffer.alloc(0) }],
    ['names that are not in Unicode', { withoutUnicode: true }],
    ['the development account from elsewhere', { user: 'devstoreaccount1' }],
    ['an empty password', { ntHash: Buffer.from('31d6cfe0d16ae931b73c59d7e0c089c0', 'hex') }],
  ] as const) {
    test(`${form}: ${what} is refused`, () => {
      const step = openly(() => signIn(new NtlmClient({ ...USUAL, ...options })));
      assert.deepEqual(step, { kind: 'refused' });
    });
  }
}

/** Some are refused before there is a challenge for them. */
function openly(signIn: () => Step): Step {
  try {
    return signIn();
  } catch (error) {
    assert.ok(error instanceof assert.AssertionError && error.actual === 'refused', String(error));
    return { kind: 'refused' };
  }
}

test('the development account signs in from this machine', () => {
  const client = new NtlmClient({ ...USUAL, user: 'devstoreaccount1' });
  const step = signInRaw(client, open({ isLoopback: true }));
  assert.ok(step.kind === 'done');
  assert.equal(step.account, 'devstoreaccount1');
});

test('a workstation is shown without what listings cannot hold', () => {
  const step = signInRaw(new NtlmClient({ ...USUAL, workstation: `A\u0000B\ud800${'c'.repeat(300)}` }));
  assert.ok(step.kind === 'done');
  assert.equal(step.clientName, `A?B?${'c'.repeat(251)}`);
});

test('the server answers a MIC of the mechanisms with its own', () => {
  for (const exchangesKey of [false, true]) {
    const client = new NtlmClient({ ...USUAL, exchangesKey });
    const step = signInWithin(client, { sendsMic: true });
    assert.ok(step.kind === 'done');
    assert.deepEqual(fieldsOfResp(step.blob).get(3), client.mechListMic(ONLY_NTLM, 'server-to-client'));
  }
});

test('a client that sends no MIC of the mechanisms gets none', () => {
  const step = signInWithin(new NtlmClient(USUAL));
  assert.ok(step.kind === 'done');
  assert.equal(fieldsOfResp(step.blob).get(3), undefined);
});

for (const [what, mic] of [
  ['of another list', (client: NtlmClient) => client.mechListMic(KERBEROS_FIRST, 'client-to-server')],
  ['made with the keys of the server', (client: NtlmClient) => client.mechListMic(ONLY_NTLM, 'server-to-client')],
  ['that is too short', (client: NtlmClient) => client.mechListMic(ONLY_NTLM, 'client-to-server').subarray(0, 15)],
  ['that is empty', () => Buffer.alloc(0)],
] as const) {
  test(`a MIC of the mechanisms ${what} is refused`, () => {
    const server = open();
    const client = new NtlmClient({ ...USUAL, exchangesKey: true });
    const challenge = tokenIn(blobOf(server.step(negTokenInit(ONLY_NTLM, client.negotiate()))));
    const message = client.authenticate(challenge);
    assert.deepEqual(server.step(negTokenResp(message, mic(client))), { kind: 'refused' });
  });
}

test('a MIC of the mechanisms is refused where nothing can be signed', () => {
  const client = new NtlmClient({ ...USUAL, withoutExtendedSecurity: true });
  assert.deepEqual(signInWithin(client, { sendsMic: true }), { kind: 'refused' });
  assert.equal(signInWithin(new NtlmClient({ ...USUAL, withoutExtendedSecurity: true })).kind, 'done');
});

test('a client that prefers Kerberos is told to speak NTLM, and asked for a MIC', () => {
  const server = open();
  const client = new NtlmClient({ ...USUAL, exchangesKey: true, sendsMic: true });
  const chosen = fieldsOfResp(blobOf(server.step(negTokenInit(KERBEROS_FIRST, Buffer.from('a ticket')))));
  assert.deepEqual(
    [...chosen],
    [
      [0, Buffer.from([3])],
      [1, MECH_NTLM.subarray(2)],
    ],
  );
  const challenged = fieldsOfResp(blobOf(server.step(negTokenResp(client.negotiate()))));
  assert.deepEqual([...challenged.keys()], [0, 2]);
  assert.deepEqual(challenged.get(0), Buffer.from([1]));
  const message = client.authenticate(challenged.get(2) as Buffer);
  const step = server.step(negTokenResp(message, client.mechListMic(KERBEROS_FIRST, 'client-to-server')));
  assert.ok(step.kind === 'done');
  assert.deepEqual(step.sessionKey, client.sessionKey);
  assert.deepEqual(fieldsOfResp(step.blob).get(3), client.mechListMic(KERBEROS_FIRST, 'server-to-client'));
});

test('a client that names NTLM first and sends nothing of it yet is asked for it', () => {
  const server = open();
  const client = new NtlmClient(USUAL);
  const chosen = fieldsOfResp(blobOf(server.step(negTokenInit(ONLY_NTLM, null))));
  assert.deepEqual([chosen.get(0), chosen.get(1)], [Buffer.from([1]), MECH_NTLM.subarray(2)]);
  const challenge = tokenIn(blobOf(server.step(negTokenResp(client.negotiate()))));
  assert.equal(server.step(negTokenResp(client.authenticate(challenge))).kind, 'done');
});

for (const [what, blobs] of [
  ['nothing', [Buffer.alloc(0)]],
  ['a client that knows no NTLM', [negTokenInit(mechTypesOf([MECH_KERBEROS]), Buffer.from('a ticket'))]],
  ['a token of Kerberos itself', [der(0x60, MECH_KERBEROS, Buffer.from([1, 0]))]],
  ['noise', [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  ['a second beginning', [negTokenInit(KERBEROS_FIRST, null), negTokenInit(KERBEROS_FIRST, null)]],
  ['an empty second token', [negTokenInit(KERBEROS_FIRST, null), Buffer.from('a1023000', 'hex')]],
  ['raw NTLM after SPNEGO', [negTokenInit(ONLY_NTLM, null), new NtlmClient(USUAL).negotiate()]],
] as const) {
  test(`${what} is refused, and so is all that follows`, () => {
    const server = open();
    const steps = blobs.map((blob) => server.step(blob));
    assert.deepEqual(steps.at(-1), { kind: 'refused' });
    assert.deepEqual(server.step(new NtlmClient(USUAL).negotiate()), { kind: 'refused' });
  });
}

const PAIR_BEYOND_THE_END = Buffer.concat([
  Buffer.alloc(16, 0xab),
  Buffer.from([1, 1]),
  Buffer.alloc(26),
  Buffer.from('02000500abcd', 'hex'),
]);

for (const [what, answered] of [
  ['another negotiation', (client: NtlmClient) => client.negotiate()],
  ['noise', () => Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['a response that is cut off', (client: NtlmClient, challenge: Buffer) => client.authenticate(challenge)],
] as const) {
  test(`${what} is no answer to a challenge, whoever it is of, and the end of it`, () => {
    for (const user of ['store1', 'nobody']) {
      const server = open();
      const client = new NtlmClient({ ...USUAL, user, response: PAIR_BEYOND_THE_END });
      const challenge = blobOf(server.step(client.negotiate()));
      assert.deepEqual(server.step(answered(client, challenge)), { kind: 'malformed' });
      assert.deepEqual(server.step(client.negotiate()), { kind: 'refused' });
    }
  });
}

test('an answer counts once', () => {
  const server = open();
  const client = new NtlmClient(USUAL);
  const message = client.authenticate(blobOf(server.step(client.negotiate())));
  assert.equal(server.step(message).kind, 'done');
  assert.deepEqual(server.step(message), { kind: 'refused' });
});

test('an answer to one challenge is none to another', () => {
  const client = new NtlmClient(USUAL);
  const message = client.authenticate(blobOf(open().step(client.negotiate())));
  const server = open();
  server.step(client.negotiate());
  assert.deepEqual(server.step(message), { kind: 'refused' });
});

test('a wrong password has one try', () => {
  const server = open();
  const wrong = new NtlmClient({ ...USUAL, ntHash: WRONG_HASH });
  const challenge = blobOf(server.step(wrong.negotiate()));
  server.step(wrong.authenticate(challenge));
  assert.deepEqual(server.step(new NtlmClient(USUAL).authenticate(challenge)), { kind: 'refused' });
});

test('the offer of the server is a token that begins SPNEGO', () => {
  assert.equal(initialToken().toString('hex', 0, 10), '604806062b0601050502');
});

/** One change: a bit, a byte, a stretch that is gone, one that is doubled, or noise at the end. */
function mutated(random: Random, blob: Buffer): Buffer {
  const at = random.below(blob.length);
  const length = 1 + random.below(Math.min(16, blob.length - at));
  const changed = Buffer.from(blob);
  switch (random.below(5)) {
    case 0:
      changed[at] = (changed[at] as number) ^ (1 << random.below(8));
      return changed;
    case 1:
      changed[at] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
      return changed;
    case 2:
      return Buffer.concat([blob.subarray(0, at), blob.subarray(at + length)]);
    case 3:
      return Buffer.concat([blob.subarray(0, at + length), blob.subarray(at)]);
    default:
      return Buffer.concat([blob.subarray(0, random.pick([at, blob.length])), random.bytes(length)]);
  }
}

const EXCHANGE_COUNT = 4_000;

test('whatever changes on the way of a raw exchange with a MIC, nothing is thrown and nobody signs in', (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let count = 0; count < EXCHANGE_COUNT; count++) {
    const server = open();
    const client = new NtlmClient({ ...USUAL, exchangesKey: random.chance(0.5), sendsMic: true });
    const victim = random.below(3);
    let isIntact = true;
    const pass = (index: number, blob: Buffer): Buffer => {
      const sent = index === victim ? mutated(random, blob) : blob;
      isIntact &&= sent.equals(blob);
      return sent;
    };
    const challenged = server.step(pass(0, client.negotiate()));
    if (challenged.kind !== 'more') continue;
    // What the client itself reads of the challenge must stay readable.
    const challenge = victim === 1 ? flipped(random, challenged.blob) : challenged.blob;
    isIntact &&= victim !== 1;
    const step = server.step(pass(2, client.authenticate(challenge)));
    assert.equal(step.kind === 'done', isIntact, `exchange ${count}, message ${victim}`);
  }
});

function flipped(random: Random, challenge: Buffer): Buffer {
  const changed = Buffer.from(challenge);
  const at = random.pick([24 + random.below(16), 48 + random.below(challenge.length - 48)]);
  changed[at] = (changed[at] as number) ^ (1 << random.below(8));
  return changed;
}

test('whatever changes on the way of an exchange within SPNEGO, who signs in is who it was, with its key', (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let count = 0; count < EXCHANGE_COUNT; count++) {
    const server = open();
    const client = new NtlmClient({ ...USUAL, exchangesKey: random.chance(0.5), sendsMic: true });
    const init = negTokenInit(ONLY_NTLM, client.negotiate());
    const isFirst = random.chance(0.5);
    const challenged = server.step(isFirst ? mutated(random, init) : init);
    if (challenged.kind !== 'more') continue;
    const challenge = fieldsOfResp(challenged.blob).get(2);
    // The server took another mechanism for the first.
    if (challenge === undefined) continue;
    const answer = negTokenResp(client.authenticate(challenge), client.mechListMic(ONLY_NTLM, 'client-to-server'));
    const step = server.step(isFirst ? answer : mutated(random, answer));
    if (step.kind !== 'done') continue;
    assert.deepEqual([step.account, step.sessionKey], ['store1', client.sessionKey], `exchange ${count}`);
  }
});

test('noise is refused', (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let count = 0; count < EXCHANGE_COUNT; count++) {
    const head = random.pick([
      '',
      '60',
      'a1',
      '4e544c4d53535000',
      '4e544c4d5353500001000000',
      '604806062b0601050502a0',
    ]);
    const blob = Buffer.concat([Buffer.from(head, 'hex'), random.bytes(random.below(200))]);
    assert.notEqual(open().step(blob).kind, 'done');
  }
});
