/**
 * What can be wrong with a request to the file door: its headers, query words, path, version, body or method, each changed by
 * chance into something odd. What the texts are: empty, long, numbers at the edges, words of the protocol in the wrong
 * place, names that mean something to some system, encodings of what is no character.
 */
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import type { RawRequest } from '../harness/http.ts';
import type { Random } from '../harness/random.ts';
import { SDDL } from './raw-operations.ts';

/** What nobody is to write to, and paths are to lead to as if by mistake. */
export const KEPT = 'fuzz-kept';
export const KEPT_FILE = 'precious';

/** Stands where a signature would: answers do not repeat it. */
export const SECRET = 'c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MTI=';

const split = (words: string): string[] => words.split(' ');
const all = (...lists: readonly (readonly string[])[]): string[] => lists.flat();
const asLatin1 = (text: string): string => Buffer.from(text).toString('latin1');
const marker = (name: string): string => `1!${Buffer.from(name).toString('base64url')}`;

const ENDLESS = '9'.repeat(400);
const GUID = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';

/** Odd texts, by what they are like. No number is a length that a file can have and nobody would want to read. */
const KINDS: readonly { readonly form: RegExp; readonly texts: readonly string[] }[] = [
  {
    form: /^bytes=/,
    texts: all(
      split('bytes=0-0 bytes=0- bytes=-1 bytes=9-1 bytes=0-1,5-6 bytes=0-4095 bytes=4095-4096 bytes= bytes=1.5-2'),
      split('bytes=500-1100 bytes=9000-9599 bytes=9223372036854775807-9223372036854775807 bytes=3000-'),
      [`bytes=${ENDLESS}-${ENDLESS}`, `bytes=0-${ENDLESS}`],
    ),
  },
  {
    form: /^-?\d+$/,
    texts: all(
      split('-1 -0 0 00 1 5 512 4097 102401 +1 1.5 1e3 0x10 NaN Infinity -Infinity 4398046511105 9007199254740993'),
      split('9223372036854775807 9223372036854775808 18446744073709551616'),
      [ENDLESS],
    ),
  },
  {
    form: /^\d{4}-\d\d-\d\d/,
    texts: all(
      split('0001-01-01T00:00:00Z 1600-12-31T23:59:59.9999999Z 1601-01-01T00:00:00Z 9999-12-31T23:59:59.9999999Z'),
      split('2024-02-30T00:00:00Z 2024-01-01T00:00:00.12345678Z 2024-01-01'),
      ['Mon, 01 Jan 2024 00:00:00 GMT'],
    ),
  },
  {
    form: /^O:/,
    texts: all(
      [SDDL, 'O:SYG:SY', 'D:(A;;;;;)', 'O:LAG:SYD:', 'O:SYG:SYD:(A;OICI;GA;;;CO)', 'O:SYG:SYD:PNO_ACCESS_CONTROL'],
      [`O:SYG:SYD:${'(A;OICI;GA;;;CO)'.repeat(400)}`, 'inherit', 'preserve', `D:${'('.repeat(4_000)}`],
    ),
  },
  { form: /^[0-9a-f-]{36}$/, texts: [GUID, `{${GUID}}`, GUID.replace('a', 'g'), GUID.slice(1)] },
  {
    form: /^[A-Za-z |-]+$/,
    texts: all(
      split('true false TRUE null now preserve inherit source override None ReadOnly Directory ReadOnly|None Restore'),
      split('include include-leased acquire renew break change release update clear abort Binary NFS Premium'),
    ),
  },
  {
    form: /^/,
    texts: all(
      split(`x * % %00 %zz <&> " ' ; , a,b a|b | \\ {} [] __proto__ constructor 1*2 AAAA AAAAAAAAAAA=`),
      ['', ' ', '\t', '\x7f', '\xff', asLatin1('ü'), asLatin1('\u{1faa8}'), 'Bearer x'],
      ['x'.repeat(255), 'x'.repeat(3_000), 'x'.repeat(20_000), '//'.repeat(9_000)],
    ),
  },
];

const TEXTS: readonly string[] = KINDS.flatMap(({ texts }) => texts);

/** In place of this value: mostly something like it. */
function oddText(random: Random, value = ''): string {
  const { texts } = KINDS.find(({ form }) => form.test(value)) ?? { texts: TEXTS };
  return random.pick(random.chance(0.7) ? texts : TEXTS);
}

const VERSIONS: readonly string[] = all(
  split('2014-02-14 2015-02-21 2017-04-17 2018-11-09 2019-02-02 2021-04-10 2021-06-08 2022-11-02 2024-11-04'),
  split('2026-06-06 2026-10-06 2009-09-19 2099-01-01 2024-13-40 x 2024'),
  [''],
);

/** Beside those that requests have of themselves. */
const HEADERS: readonly string[] = all(
  split('x-ms-lease-id x-ms-source-lease-id x-ms-destination-lease-id x-ms-lease-duration x-ms-lease-action'),
  split('x-ms-file-permission x-ms-file-permission-key x-ms-file-permission-format x-ms-file-property-semantics'),
  split('x-ms-allow-trailing-dot x-ms-source-allow-trailing-dot x-ms-range range x-ms-source-range x-ms-mode'),
  split('x-ms-source-content-crc64 x-ms-source-if-match-crc64 x-ms-source-if-match x-ms-source-if-tags'),
  split('if-match if-none-match if-modified-since content-md5 content-type content-encoding origin expect accept'),
  split('x-ms-content-md5 x-ms-content-disposition x-ms-content-language x-ms-file-support-rename x-ms-write'),
  split('x-ms-meta- x-ms-meta-1 x-ms-meta-a x-ms-meta-__proto__ x-ms-client-request-id x-ms-date authorization'),
  split('x-ms-share-quota x-ms-enabled-protocols x-ms-root-squash x-ms-recursive x-ms-file-extended-info'),
  split('x-ms-delete-snapshots x-ms-copy-source-authorization x-ms-file-request-intent x-ms-structured-body'),
  split('access-control-request-method x-ms-file-copy-set-archive x-ms-file-change-time x-ms-content-length'),
);

const WORDS: readonly string[] = all(
  split('restype comp sharesnapshot prevsharesnapshot timeout prefix marker maxresults include copyid api-version'),
  split('sv sr sp se sig si ss srt rsct x %ff __proto__'),
);

const WORD_VALUES: readonly string[] = all(
  split('share directory file service hardlink list properties metadata acl stats rename range rangelist lease copy'),
  split('snapshot undelete filepermission listhandles forceclosehandles % %zz %ff %00 %C0%80 %ED%A0%80 %F0%9F%AA%A8'),
  ['+', '1!', '3!512', '3!x', marker('\0'), marker('y'.repeat(3_000)), marker('fuzz\x003z'), marker('f')],
  TEXTS.map((text) => encodeURIComponent(text)),
);

/** Names in paths, some of them possible. */
const NAMES: readonly string[] = all(
  split(`. .. ... %2e%2e %2E ..%2f..%2f${KEPT}%2f${KEPT_FILE} %2e%2e/${KEPT}/${KEPT_FILE} ..%5C${KEPT} a%2Fb %5C`),
  split('%20 ~ %00 %1f %7f a:b a%3Aads * %3F %22 %7C % %zz %ff CON nul com1 LPT9 LPT9.txt CLOCK%24 dot. dots... F D'),
  split('%C5%BF %C3%9F %C4%B1 %EF%BF%BF %EF%BF%BE %ED%A0%80 %ED%A0%BD%ED%B8%80 %F0%9F%98%80 %E2%80%AE %EF%BC%8F'),
  split('///// %2f%2f ; # a%20b%2Bc+d $root __proto__'),
  ['', asLatin1('ü'), '\xff', 'd/'.repeat(260), 'a/'.repeat(2_000), `${'.'.repeat(9_000)}x`],
  ['x'.repeat(255), 'x'.repeat(256), 'x'.repeat(9_000), encodeURIComponent('字'.repeat(255))],
);

const BODIES: readonly string[] = all(
  ['x', '\0\0\0', '{}', 'null', '[]', '"x"', '{"permission":1}', '{"permission":""}', `{"Permission":"${SDDL}"}`],
  [`{"permission":"${SDDL}","format":"x"}`, '{"permission":"AAAA","format":"Binary"}', '['.repeat(9_000)],
  ['<SignedIdentifiers/>', '<SignedIdentifiers><SignedIdentifier>', '<SignedIdentifiers><x/></SignedIdentifiers>'],
  ['<StorageServiceProperties/>', '<KeyInfo/>', '<!DOCTYPE x [<!ENTITY y "z">]><x>&y;</x>', '<x>'.repeat(9_000)],
);
const LONG_BODY = 'x'.repeat(4 * 1024 ** 2 + 1);

const METHODS = split('GET PUT DELETE HEAD POST OPTIONS PATCH TRACE MERGE');

interface Draft {
  method: string;
  path: string;
  headers: Record<string, string | readonly string[]>;
  body: string | Uint8Array | undefined;
}

type Disorder = (random: Random, draft: Draft) => void;

const DISORDERS: readonly Disorder[] = [
  // Headers.
  (random, { headers }) => {
    delete headers[random.pick([...Object.keys(headers), 'x-ms-version'])];
  },
  (random, { headers }) => {
    const name = random.pick([...Object.keys(headers), 'x-ms-date']);
    headers[name] = oddText(random, String(headers[name] ?? ''));
  },
  (random, { headers }) => {
    const name = random.pick([...Object.keys(headers), 'x-ms-version', 'x-ms-meta-a']);
    headers[name] = [headers[name] ?? 'x', oddText(random)].flat();
  },
  (random, { headers }) => {
    headers[random.pick(HEADERS)] = oddText(random);
  },
  (random, { headers }) => {
    headers['x-ms-version'] = random.pick(VERSIONS);
  },
  (random, { headers }) => {
    const path = random.chance(0.5) ? `${KEPT}/${KEPT_FILE}` : `fuzz-a/${random.pick(NAMES)}`;
    headers[random.pick(['x-ms-copy-source', 'x-ms-file-rename-source'])] =
      `http://127.0.0.1:1/${DEVELOPMENT_ACCOUNT.name}/${path}?sv=2024-11-04&sig=${SECRET}`;
  },

  // The path and the words behind it.
  (random, draft) => changeWords(draft, (words) => words.splice(random.below(words.length), 1)),
  (random, draft) => changeWords(draft, (words) => words.push(random.pick([...words, 'comp=']))),
  (random, draft) => changeWords(draft, (words) => words.push(`${random.pick(WORDS)}=${random.pick(WORD_VALUES)}`)),
  (random, draft) => {
    changeWords(draft, (words) => {
      const [name] = random.pick([...words, 'restype']).split('=', 1);
      words.splice(
        words.findIndex((word) => word.startsWith(`${name}=`)) >>> 0,
        1,
        `${name}=${random.pick(WORD_VALUES)}`,
      );
    });
  },
  (random, draft) => {
    const [path = '', query = ''] = draft.path.split(/(?=\?)/, 2);
    const names = path.split('/').slice(1);
    names.splice(random.below(names.length + 1), random.below(2), random.pick(NAMES));
    draft.path = `/${names.join('/')}${query}`;
  },

  // The body, and what is to be done at all.
  (random, draft) => {
    draft.body = random.chance(0.1) ? LONG_BODY : random.pick(BODIES);
  },
  (random, draft) => {
    draft.body = draft.body?.slice(0, random.below(draft.body.length + 1));
  },
  (random, draft) => {
    const body = Buffer.from(draft.body ?? 'x');
    if (body.length > 0) body[random.below(body.length)] = random.below(256);
    draft.body = body;
  },
  (random, draft) => {
    draft.method = random.pick(METHODS);
  },
];

function changeWords(draft: Draft, change: (words: string[]) => unknown): void {
  const [path = '', query = ''] = draft.path.split(/\?(.*)/s, 2);
  const words = query.split('&').filter((word) => word !== '');
  change(words);
  draft.path = words.length === 0 ? path : `${path}?${words.join('&')}`;
}

/** The same request with up to `countMax` things wrong. */
export function putOutOfOrder(random: Random, request: RawRequest, countMax: number): RawRequest {
  const draft: Draft = { ...request, headers: { ...request.headers }, body: request.body };
  for (let count = random.below(countMax + 1); count > 0; count--) random.pick(DISORDERS)(random, draft);
  const { body, ...rest } = draft;
  return body === undefined ? rest : { ...rest, body };
}
