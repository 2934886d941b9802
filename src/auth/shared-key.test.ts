import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlobServiceClient } from '@azure/storage-blob';
import { Random } from '../../test/harness/random.ts';
import {
  ACCOUNT,
  captureFromSdk,
  FIRST_KEY,
  HOST_STYLE,
  PATH_STYLE,
  SECOND_KEY,
  signedRequest,
  type WireRequest,
} from '../../test/vectors/signed-requests.ts';
import { StorageError } from '../service/storage-error.ts';
import { compareByteOrder, compareIcuOrder, compareServiceOrder } from './header-order.ts';
import type { ServiceLetter } from './identity.ts';
import { type SharedKeyScheme, stringsToSign, verifySharedKey } from './shared-key.ts';
import { sign } from './signature.ts';
import type { SignedRequest } from './signed-request.ts';

const DATE = 'Thu, 02 Jan 2025 00:00:00 GMT';
const NOW_MS = Date.parse(DATE);

function verify(
  request: SignedRequest,
  signature: string,
  { nowMs = NOW_MS, scheme = 'SharedKey' }: { nowMs?: number; scheme?: SharedKeyScheme } = {},
): void {
  verifySharedKey(request, ACCOUNT, { scheme, signature, nowMs });
}

/** The one that the service itself would sign. */
function usualString(request: SignedRequest, scheme: SharedKeyScheme): string {
  const [usual = ''] = stringsToSign(request, scheme);
  return usual;
}

const refusedAs = (code: string) => (error: unknown) => error instanceof StorageError && error.code === code;

const get = (
  headers: readonly (readonly [string, string])[],
  url = `${PATH_STYLE}/c1?restype=container&comp=list`,
): SignedRequest => signedRequest({ method: 'GET', url, headers });

const STANDARD_HEADERS = [
  ['x-ms-date', DATE],
  ['x-ms-version', '2024-11-04'],
] as const;

test('listing blobs signs eleven empty lines, the x-ms- headers, the account twice and the sorted query', () => {
  assert.equal(
    usualString(get(STANDARD_HEADERS), 'SharedKey'),
    `GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${DATE}\nx-ms-version:2024-11-04\n` +
      `/${ACCOUNT.name}/${ACCOUNT.name}/c1\ncomp:list\nrestype:container`,
  );
});

const everyLine = (date: string): string =>
  `GET\nencoding\nlanguage\n7\nmd5\ntype\n${date}\nims\nim\ninm\nius\nrange\n`;

test('every listed header has its own line, and Date gives way to x-ms-date', () => {
  const headers = [
    ['Range', 'range'],
    ['If-Unmodified-Since', 'ius'],
    ['If-None-Match', 'inm'],
    ['If-Match', 'im'],
    ['If-Modified-Since', 'ims'],
    ['Date', DATE],
    ['Content-Type', 'type'],
    ['Content-MD5', 'md5'],
    ['Content-Length', '7'],
    ['Content-Language', 'language'],
    ['Content-Encoding', 'encoding'],
    ['X-Other', 'unsigned'],
    ['x-ms-version', '2024-11-04'],
  ] as const;
  const url = `${HOST_STYLE}/c/b`;
  assert.equal(
    usualString(get(headers, url), 'SharedKey'),
    `${everyLine(DATE)}x-ms-version:2024-11-04\n/${ACCOUNT.name}/c/b`,
  );
  assert.equal(
    usualString(get([...headers, ['x-ms-date', DATE]], url), 'SharedKey'),
    `${everyLine('')}x-ms-date:${DATE}\nx-ms-version:2024-11-04\n/${ACCOUNT.name}/c/b`,
  );
});

const blob = (client: BlobServiceClient, name = 'b') => client.getContainerClient('c').getBlockBlobClient(name);

const ODD_METADATA = { a_b: '1', a0: '2', aa: '3', ab: '4', a: '5', _: '6', B1_: '7', b1: '8', b_1: '9' };

const SDK_CALLS: Record<string, (client: BlobServiceClient) => Promise<unknown>> = {
  'a listing with several parameters': (client) =>
    client
      .getContainerClient('c')
      .listBlobsByHierarchy('/', { prefix: 'ä b/+&=%', includeSnapshots: true, includeMetadata: true })
      .next(),
  'an upload with odd metadata names': (client) => blob(client).upload('text', 4, { metadata: ODD_METADATA }),
  'an upload of nothing': (client) => blob(client).upload('', 0),
  'an upload with headers and conditions': (client) =>
    blob(client).upload('text', 4, {
      blobHTTPHeaders: { blobContentType: 'text/plain; charset="utf  8"', blobContentLanguage: 'de, en' },
      conditions: { ifMatch: '"0x1"', ifUnmodifiedSince: new Date(NOW_MS), leaseId: 'lease' },
      tags: { 'a b': 'c&d' },
    }),
  'a name beyond ASCII': (client) => blob(client, 'Übung/文書 ✓ a+b%20&c=d?e#f.txt').getProperties(),
  'a block with a Base64 id': (client) => blob(client).stageBlock('AAA+/w==', 'text', 4),
  'a block list': (client) => blob(client).commitBlockList(['AAA+/w=='], { metadata: { 'x-y': 'z  z' } }),
  'a range': (client) => blob(client).download(100, 50, { rangeGetContentMD5: true }),
  'a snapshot': (client) => blob(client).withSnapshot('2024-01-01T00:00:00.1234567Z').delete(),
  'the account root': (client) => client.getAccountInfo(),
  'the service properties': (client) => client.getProperties(),
  'a container lease': (client) => client.getContainerClient('c').getBlobLeaseClient().acquireLease(15),
  'an ACL': (client) =>
    client.getContainerClient('c').setAccessPolicy('blob', [{ id: 'i', accessPolicy: { permissions: 'r' } }]),
};

const SDK_TARGETS: Record<string, { endpoint: string; key: Buffer }> = {
  'path-style': { endpoint: PATH_STYLE, key: FIRST_KEY },
  'host-style, by the second key': { endpoint: HOST_STYLE, key: SECOND_KEY },
  'path-style, at the secondary': { endpoint: `${PATH_STYLE}-secondary`, key: FIRST_KEY },
  'host-style, at the secondary': {
    endpoint: HOST_STYLE.replace(ACCOUNT.name, `${ACCOUNT.name}-secondary`),
    key: SECOND_KEY,
  },
};

for (const [what, call] of Object.entries(SDK_CALLS)) {
  for (const [how, { endpoint, key }] of Object.entries(SDK_TARGETS)) {
    test(`the SDK signs ${what} (${how}) as the service order wants it`, async () => {
      const wire = await captureFromSdk(call, { endpoint, key });
      const request = signedRequest(wire);
      const signature = presentedSignature(request);
      assert.equal(sign(key, usualString(request, 'SharedKey')), signature);
      verify(request, signature, { nowMs: dateOf(request) });
      const stranger = { ...ACCOUNT, keys: [Buffer.from('another key')] };
      assert.throws(
        () => verifySharedKey(request, stranger, { scheme: 'SharedKey', signature, nowMs: dateOf(request) }),
        refusedAs('AuthenticationFailed'),
      );
    });
  }
}

const presentedSignature = (request: SignedRequest): string => {
  const [scheme, signature] = request.header('authorization')?.split(`${ACCOUNT.name}:`) ?? [];
  assert.equal(scheme, 'SharedKey ');
  return signature ?? '';
};

const dateOf = (request: SignedRequest): number => Date.parse(request.header('x-ms-date') ?? '');

const signedLines = (lines: readonly string[]): string => sign(FIRST_KEY, lines.join('\n'));

const valueOf = (name: string): string => (name === 'x-ms-version' ? '2024-11-04' : 'v');

test('the order of bytes and the order of ICU are accepted too, each signing the same headers', () => {
  const names = ['x-ms-meta-a_b', 'x-ms-meta-a-b', 'x-ms-meta-a0', 'x-ms-meta-aa', 'x-ms-meta-ab', 'x-ms-version'];
  const request = get([['Date', DATE], ...names.map((name) => [name, valueOf(name)] as const)], `${HOST_STYLE}/c/b`);
  const strings = [compareServiceOrder, compareByteOrder, compareIcuOrder].map((compare) => {
    const headers = [...names].sort(compare).map((name) => `${name}:${valueOf(name)}\n`);
    return `GET\n\n\n\n\n\n${DATE}\n\n\n\n\n\n${headers.join('')}/${ACCOUNT.name}/c/b`;
  });
  assert.equal(new Set(strings).size, 3);
  for (const stringToSign of strings) verify(request, sign(FIRST_KEY, stringToSign));
  const reversed = names.toReversed().map((name) => `${name}:${valueOf(name)}\n`);
  const other = `GET\n\n\n\n\n\n${DATE}\n\n\n\n\n\n${reversed.join('')}/${ACCOUNT.name}/c/b`;
  assert.throws(() => verify(request, sign(FIRST_KEY, other)), refusedAs('AuthenticationFailed'));
});

const getLines = (path: string, metadata: readonly string[] = []): string[] => [
  'GET',
  ...Array.from({ length: 11 }, () => ''),
  `x-ms-date:${DATE}`,
  ...metadata,
  'x-ms-version:2024-11-04',
  path,
];

test('white space is signed as sent or folded, but kept inside quotes', () => {
  const request = get([...STANDARD_HEADERS, ['x-ms-meta-m', ' a  b\t"c  d" e']], `${HOST_STYLE}/c/b`);
  verify(request, signedLines(getLines('/larimartest/c/b', ['x-ms-meta-m:a  b\t"c  d" e'])));
  verify(request, signedLines(getLines('/larimartest/c/b', ['x-ms-meta-m:a b "c  d" e'])));
  assert.throws(
    () => verify(request, signedLines(getLines('/larimartest/c/b', ['x-ms-meta-m:a b "c d" e']))),
    refusedAs('AuthenticationFailed'),
  );
});

test('a repeated x-ms- header is signed once, its values joined in the order sent', () => {
  const request = get([...STANDARD_HEADERS, ['x-ms-meta-m', 'z'], ['x-ms-meta-m', 'a']], `${HOST_STYLE}/c/b`);
  assert.match(usualString(request, 'SharedKey'), /\nx-ms-meta-m:z,a\n/);
});

test('a repeated parameter is signed once, its values sorted', () => {
  const request = get(STANDARD_HEADERS, `${HOST_STYLE}/c?Restype=container&include=z&INCLUDE=a`);
  assert.match(usualString(request, 'SharedKey'), /\/c\ninclude:a,z\nrestype:container$/);
});

test('a parameter without a value is signed', () => {
  const request = get(STANDARD_HEADERS, `${HOST_STYLE}/c?prefix=&flag`);
  assert.match(usualString(request, 'SharedKey'), /\/c\nflag:\nprefix:$/);
});

for (const [version, length] of [
  ['2014-02-14', '0'],
  ['2015-02-21', ''],
  ['2024-11-04', ''],
] as const) {
  test(`in ${version} an empty body's Content-Length is signed as '${length}'`, () => {
    const headers = [
      ['x-ms-date', DATE],
      ['x-ms-version', version],
      ['Content-Length', '0'],
    ] as const;
    assert.equal(usualString(get(headers), 'SharedKey').split('\n')[3], length);
  });
}

for (const [version, signed] of [
  ['2015-12-11', false],
  ['2016-05-31', true],
] as const) {
  test(`in ${version} an empty x-ms- header is ${signed ? '' : 'not '}signed`, () => {
    const request = get([
      ['x-ms-date', DATE],
      ['x-ms-version', version],
      ['x-ms-meta-m', ''],
    ]);
    assert.equal(usualString(request, 'SharedKey').includes('x-ms-meta-m:\n'), signed);
  });
}

const LITE_HEADERS = [
  ['Content-MD5', 'md5'],
  ['Content-Type', 'type'],
  ['If-Match', 'unsigned'],
  ['x-ms-date', DATE],
  ['x-ms-version', '2024-11-04'],
] as const;

const otherForms: [string, ServiceLetter, SharedKeyScheme, string, string[]][] = [
  [
    'Shared Key Lite signs comp and no other parameter',
    'b',
    'SharedKeyLite',
    `${PATH_STYLE}/c?restype=container&comp=list&prefix=x`,
    ['PUT', 'md5', 'type', '', `x-ms-date:${DATE}`, 'x-ms-version:2024-11-04', `/larimartest/larimartest/c?comp=list`],
  ],
  [
    'Shared Key Lite of queues is the same',
    'q',
    'SharedKeyLite',
    `${PATH_STYLE}/q/messages?numofmessages=2`,
    ['PUT', 'md5', 'type', '', `x-ms-date:${DATE}`, 'x-ms-version:2024-11-04', '/larimartest/larimartest/q/messages'],
  ],
  [
    'Shared Key of tables signs no x-ms- headers',
    't',
    'SharedKey',
    `${PATH_STYLE}/Tables('t%20x')?$filter=x`,
    ['PUT', 'md5', 'type', DATE, "/larimartest/larimartest/Tables('t%20x')"],
  ],
  [
    'Shared Key Lite of tables signs the date and the resource',
    't',
    'SharedKeyLite',
    `${HOST_STYLE}/?restype=service&comp=properties`,
    [DATE, '/larimartest/?comp=properties'],
  ],
  [
    'a table batch signs its path',
    't',
    'SharedKey',
    `${HOST_STYLE}/$batch`,
    ['PUT', 'md5', 'type', DATE, '/larimartest/$batch'],
  ],
];

for (const [sentence, service, scheme, url, lines] of otherForms) {
  test(sentence, () => {
    const request = signedRequest({ method: 'PUT', url, headers: LITE_HEADERS, service });
    assert.equal(usualString(request, scheme), lines.join('\n'));
    verify(request, signedLines(lines), { scheme });
    const otherScheme = scheme === 'SharedKey' ? 'SharedKeyLite' : 'SharedKey';
    assert.throws(
      () => verify(request, signedLines(lines), { scheme: otherScheme }),
      refusedAs('AuthenticationFailed'),
    );
  });
}

test('before 2009-09-19 Shared Key was what Shared Key Lite is now', () => {
  const request = get(
    [
      ['Date', DATE],
      ['x-ms-version', '2009-07-17'],
    ],
    `${HOST_STYLE}/c?comp=list`,
  );
  const lines = ['GET', '', '', DATE, 'x-ms-version:2009-07-17', '/larimartest/c?comp=list'];
  assert.equal(usualString(request, 'SharedKey'), lines.join('\n'));
});

test("a path-style secondary may sign the primary's path, a host-style account only its own", () => {
  const secondary = get(STANDARD_HEADERS, `${PATH_STYLE}-secondary/c/b`);
  verify(secondary, signedLines(getLines('/larimartest/larimartest-secondary/c/b')));
  verify(secondary, signedLines(getLines('/larimartest/larimartest/c/b')));
  const primary = get(STANDARD_HEADERS, `${PATH_STYLE}/c/b`);
  assert.throws(() => verify(primary, signedLines(getLines('/larimartest/larimartest-secondary/c/b'))));
  for (const host of [HOST_STYLE, HOST_STYLE.replace(ACCOUNT.name, `${ACCOUNT.name}-secondary`)]) {
    const hostStyle = get(STANDARD_HEADERS, `${host}/larimartest-secondary/c`);
    verify(hostStyle, signedLines(getLines('/larimartest/larimartest-secondary/c')));
    assert.throws(() => verify(hostStyle, signedLines(getLines('/larimartest/larimartest/c'))));
  }
});

test('either key signs, and a signature must be spelt canonically', () => {
  const request = get(STANDARD_HEADERS);
  const stringToSign = usualString(request, 'SharedKey');
  verify(request, sign(SECOND_KEY, stringToSign));
  const signature = sign(FIRST_KEY, stringToSign);
  for (const wrong of ['', 'x', signature.slice(0, -1), `${signature}=`, ` ${signature}`, signature.toLowerCase()]) {
    assert.throws(() => verify(request, wrong), refusedAs('AuthenticationFailed'), wrong);
  }
});

test('a wrong signature is answered with the string that the server signed', () => {
  const request = get(STANDARD_HEADERS);
  const stringToSign = usualString(request, 'SharedKey');
  assert.throws(
    () => verify(request, 'wrong'),
    (error: unknown) =>
      error instanceof StorageError &&
      error.details.elements?.['AuthenticationErrorDetail'] ===
        `Signature did not match. String to sign used was ${stringToSign}`,
  );
});

const MINUTE_MS = 60_000;
for (const [headers, nowMs, code] of [
  [[['x-ms-date', DATE]], NOW_MS + 15 * MINUTE_MS, null],
  [[['x-ms-date', DATE]], NOW_MS - 15 * MINUTE_MS, null],
  [[['x-ms-date', DATE]], NOW_MS + 15 * MINUTE_MS + 1, 'AuthenticationFailed'],
  [[['x-ms-date', DATE]], NOW_MS - 15 * MINUTE_MS - 1, 'AuthenticationFailed'],
  [[['Date', DATE]], NOW_MS, null],
  [[['Date', DATE]], NOW_MS + 16 * MINUTE_MS, 'AuthenticationFailed'],
  [
    [
      ['Date', DATE],
      ['x-ms-date', 'Thu, 02 Jan 2020 00:00:00 GMT'],
    ],
    NOW_MS,
    'AuthenticationFailed',
  ],
  [
    [
      ['x-ms-date', DATE],
      ['Date', 'Thu, 02 Jan 2020 00:00:00 GMT'],
    ],
    NOW_MS,
    null,
  ],
  [[['x-ms-date', 'today']], NOW_MS, 'AuthenticationFailed'],
  [[['x-ms-date', '']], NOW_MS, 'AuthenticationFailed'],
  [
    [
      ['x-ms-date', DATE],
      ['x-ms-date', DATE],
    ],
    NOW_MS,
    'AuthenticationFailed',
  ],
  [[], NOW_MS, 'AuthenticationFailed'],
  [
    [
      ['x-ms-date', DATE],
      ['Content-Type', 'a'],
      ['content-type', 'a'],
    ],
    NOW_MS,
    'InvalidHeaderValue',
  ],
] as const) {
  test(`a signed request with ${JSON.stringify(headers)} at ${new Date(nowMs).toISOString()} gets ${code}`, () => {
    const request = get([...headers, ['x-ms-version', '2024-11-04']]);
    const act = () => verify(request, sign(FIRST_KEY, usualString(request, 'SharedKey')), { nowMs });
    if (code === null) act();
    else assert.throws(act, refusedAs(code));
  });
}

const SAFE = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomWire(random: Random): WireRequest {
  const word = (length = 1 + random.below(8)): string =>
    Array.from({ length }, () => random.pick(`${SAFE}ABC-_`.split(''))).join('');
  const count = (max: number) => Array.from({ length: random.below(max + 1) });
  const path = count(3).map(() => encodeURIComponent(word() + random.pick(['', ' ', 'ü', '文', '+', '%'])));
  const query = new Map(count(4).map(() => [word().toLowerCase(), word() + random.pick(['', ' ', '✓', '&', '='])]));
  const metadata = new Map(count(4).map(() => [`x-ms-meta-${word().toLowerCase()}`, word()]));
  const search = [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return {
    method: random.pick(['GET', 'PUT', 'HEAD', 'DELETE', 'POST']),
    url: `${random.pick([PATH_STYLE, HOST_STYLE])}/${path.join('/')}${search === '' ? '' : `?${search}`}`,
    headers: [
      ['x-ms-date', DATE],
      ['x-ms-version', random.pick(['2009-09-19', '2015-02-21', '2024-11-04'])],
      ['content-length', String(random.below(3))],
      ['content-type', word()],
      ['if-match', word()],
      ['range', `bytes=${random.below(9)}-`],
      ...metadata,
    ],
  };
}

/** The text with one character changed to another one. */
function altered(text: string, random: Random): string {
  const at = random.below(text.length);
  const other = random.pick(SAFE.split('').filter((char) => char !== text.charAt(at).toLowerCase()));
  return text.slice(0, at) + other + text.slice(at + 1);
}

function tampered(request: SignedRequest, random: Random): [what: string, request: SignedRequest] {
  const { target } = request;
  switch (random.pick(['method', 'path', 'parameter', 'parameterName', 'header', 'headerName', 'added', 'dropped'])) {
    case 'method':
      return ['the method', { ...request, method: altered(request.method, random) }];
    case 'parameter':
    case 'parameterName': {
      if (target.query.entries.length === 0) return tampered(request, random);
      const chosen = random.below(target.query.entries.length);
      const inName = random.chance(0.5);
      const entries = target.query.entries.map(([name, value], index): [string, string] => {
        if (index !== chosen) return [name, value];
        return inName ? [altered(name, random), value] : [name, altered(value, random)];
      });
      return ['a parameter', { ...request, target: { ...target, query: { ...target.query, entries } } }];
    }
    case 'header':
    case 'headerName': {
      const chosen = random.below(request.rawHeaders.length);
      const inName = random.chance(0.5);
      const rawHeaders = request.rawHeaders.map(([name, value], index): [string, string] => {
        if (index !== chosen) return [name, value];
        return inName ? [`x-ms-${altered(name, random)}`, value] : [name, altered(value, random)];
      });
      return ['a header', { ...request, rawHeaders }];
    }
    case 'added':
      return ['an added header', { ...request, rawHeaders: [...request.rawHeaders, ['x-ms-added', 'x']] }];
    case 'dropped': {
      const chosen = random.below(request.rawHeaders.length);
      if (request.rawHeaders[chosen]?.[1] === '0') return tampered(request, random);
      const rawHeaders = request.rawHeaders.filter((_, index) => index !== chosen);
      return ['a dropped header', { ...request, rawHeaders }];
    }
    default:
      return [
        'the path',
        { ...request, target: { ...target, rawPath: `/${altered(target.rawPath.slice(1) || 'x', random)}` } },
      ];
  }
}

test('a random request verifies, and any one change of what is signed is refused', (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 2000; round++) {
    const request = signedRequest(randomWire(random));
    const signature = sign(random.pick([FIRST_KEY, SECOND_KEY]), usualString(request, 'SharedKey'));
    verify(request, signature);
    const [what, changed] = tampered(request, random);
    assert.throws(
      () => verify(changed, signature),
      refusedAs('AuthenticationFailed'),
      `${what}, seed ${random.seed}: ${usualString(changed, 'SharedKey')}`,
    );
  }
});

test('the SDK signs random metadata names in the service order', async (t) => {
  const random = new Random();
  t.diagnostic(`LARIMAR_SEED=${random.seed}`);
  for (let round = 0; round < 50; round++) {
    const word = () =>
      Array.from({ length: 1 + random.below(4) }, () => random.pick(['a', 'b', '0', '_', '-'])).join('');
    const metadata = Object.fromEntries(Array.from({ length: 8 }, () => [word(), 'v']));
    const request = signedRequest(await captureFromSdk((client) => blob(client).setMetadata(metadata)));
    assert.equal(
      sign(FIRST_KEY, usualString(request, 'SharedKey')),
      presentedSignature(request),
      `seed ${random.seed}: ${Object.keys(metadata).join(' ')}`,
    );
  }
});
