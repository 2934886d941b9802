/**
 * Security descriptors as text: the Security Descriptor Definition Language of Windows (MS-DTYP 2.5.1), for as much of it
 * as files have. Names that mean something else in every domain are refused: what is stored must mean the same everywhere.
 */
import {
  type Ace,
  type AceType,
  type Acl,
  AUDIT_FAILURE,
  AUDIT_SUCCESS,
  CONTAINER_INHERIT,
  DACL_TYPES,
  INHERIT_ONLY,
  INHERITED,
  isTooLong,
  NO_PROPAGATE,
  OBJECT_INHERIT,
  type Refused,
  SACL_TYPES,
  type SecurityDescriptor,
} from './security-descriptor.ts';
import { formatSid, parseSid, type Sid } from './sid.ts';

const TYPES: readonly (readonly [word: string, type: AceType])[] = [
  ['A', 'allow'],
  ['D', 'deny'],
  ['AU', 'audit'],
  ['ML', 'label'],
];
const TYPE_OF: ReadonlyMap<string, AceType> = new Map(TYPES);
const WORD_OF_TYPE: ReadonlyMap<AceType, string> = new Map(TYPES.map(([word, type]) => [type, word]));

const FLAGS: readonly (readonly [word: string, bit: number])[] = [
  ['OI', OBJECT_INHERIT],
  ['CI', CONTAINER_INHERIT],
  ['NP', NO_PROPAGATE],
  ['IO', INHERIT_ONLY],
  ['ID', INHERITED],
  ['SA', AUDIT_SUCCESS],
  ['FA', AUDIT_FAILURE],
];

/** One bit each, in the order in which Windows writes them. */
const RIGHTS: readonly (readonly [word: string, bit: number])[] = [
  ['CC', 0x0000_0001],
  ['DC', 0x0000_0002],
  ['LC', 0x0000_0004],
  ['SW', 0x0000_0008],
  ['RP', 0x0000_0010],
  ['WP', 0x0000_0020],
  ['DT', 0x0000_0040],
  ['LO', 0x0000_0080],
  ['CR', 0x0000_0100],
  ['SD', 0x0001_0000],
  ['RC', 0x0002_0000],
  ['WD', 0x0004_0000],
  ['WO', 0x0008_0000],
  ['GA', 0x1000_0000],
  ['GX', 0x2000_0000],
  ['GW', 0x4000_0000],
  ['GR', 0x8000_0000],
];

const FILE_RIGHTS: readonly (readonly [word: string, mask: number])[] = [
  ['FA', 0x001f_01ff],
  ['FR', 0x0012_0089],
  ['FW', 0x0012_0116],
  ['FX', 0x0012_00a0],
];

const KEY_RIGHTS: readonly (readonly [word: string, mask: number])[] = [
  ['KA', 0x000f_003f],
  ['KR', 0x0002_0019],
  ['KW', 0x0002_0006],
  ['KX', 0x0002_0019],
];

const LABEL_RIGHTS: readonly (readonly [word: string, bit: number])[] = [
  ['NW', 0x1],
  ['NR', 0x2],
  ['NX', 0x4],
];

const NO_LIST = 'NO_ACCESS_CONTROL';

const refused = (refusal: string): Refused => ({ refusal });

// ---- from text

/** Spaces and case mean nothing. Every part may be missing. */
export function parseSddl(text: string): SecurityDescriptor | Refused {
  const parts = new Map<string, string>();
  const rest = text.replace(/\s+/g, '').toUpperCase();
  // A part reaches up to the next letter with a colon behind it: within a part none ever stands.
  for (const piece of rest.split(/(?=[OGDS]:)/)) {
    const name = piece.slice(0, 2);
    if (!/^[OGDS]:$/.test(name)) return refused('Each part must begin with O:, G:, D: or S:.');
    if (parts.has(name)) return refused(`${name} appears twice.`);
    parts.set(name, piece.slice(2));
  }
  const owner = parseNamed(parts.get('O:'));
  if (owner !== null && typeof owner !== 'string') return owner;
  const group = parseNamed(parts.get('G:'));
  if (group !== null && typeof group !== 'string') return group;
  const dacl = parseAcl(parts.get('D:'), DACL_TYPES);
  if (dacl !== null && 'refusal' in dacl) return dacl;
  const sacl = parseAcl(parts.get('S:'), SACL_TYPES);
  if (sacl !== null && 'refusal' in sacl) return sacl;
  return { owner, group, dacl, sacl };
}

function parseNamed(text: string | undefined): Sid | null | Refused {
  return text === undefined ? null : (parseSid(text) ?? unknownSid(text));
}

const DOMAIN_RELATIVE: ReadonlySet<string> = new Set(
  'LA LG CA DA DD DU DG DC SA EA PA RS ED RO CN AP KA EK'.split(' '),
);

const unknownSid = (text: string): Refused =>
  refused(
    DOMAIN_RELATIVE.has(text)
      ? `${text} stands for a different account in every domain: write its identifier (S-1-…) instead.`
      : `${text} is not an identifier.`,
  );

const LIST = /^((?:P|AR|AI|NO_ACCESS_CONTROL)*)((?:\([^()]+\))*)$/;

function parseAcl(text: string | undefined, types: ReadonlySet<AceType>): Acl | null | Refused {
  if (text === undefined) return null;
  const match = LIST.exec(text);
  if (match === null) return refused('A list must consist of flags, followed by entries in parentheses.');
  const words: readonly string[] = (match[1] as string).match(/P|AR|AI|NO_ACCESS_CONTROL/g) ?? [];
  const entries: readonly string[] = (match[2] as string).match(/[^()]+/g) ?? [];
  const isThere = !words.includes(NO_LIST);
  if (!isThere && entries.length > 0) return refused(`A list with ${NO_LIST} must not have entries.`);
  const aces: Ace[] = [];
  for (const entry of entries) {
    const ace = parseAce(entry, types);
    if ('refusal' in ace) return ace;
    aces.push(ace);
  }
  const acl: Acl = {
    isProtected: words.includes('P'),
    isAutoInherited: words.includes('AI'),
    asksForInheritance: words.includes('AR'),
    aces: isThere ? aces : null,
  };
  return isTooLong(acl) ? refused('A list is too long.') : acl;
}

function parseAce(text: string, types: ReadonlySet<AceType>): Ace | Refused {
  const [word = '', flagWords = '', rightWords = '', objectType, inheritedType, who, ...more] = text.split(';');
  if (who === undefined || more.length > 0) return refused('An entry must have six parts.');
  const type = TYPE_OF.get(word);
  if (type === undefined || !types.has(type)) return refused(`Entries of type ${word} are not allowed in this list.`);
  if (objectType !== '' || inheritedType !== '') return refused('Entries for one type of object are not supported.');
  const flags = bitsOf(flagWords, FLAGS);
  if (flags === null) return refused(`${flagWords} are not flags of an entry.`);
  const mask = parseRights(rightWords, type);
  if (mask === null) return refused(`${rightWords} are not rights.`);
  const sid = parseSid(who);
  return sid === null ? unknownSid(who) : { type, flags, mask, sid };
}

const MASK_MAX = 0xffff_ffff;

function parseRights(text: string, type: AceType): number | null {
  const number = /^(?:0X[0-9A-F]{1,8}|\d{1,10})$/.test(text) ? Number(text.toLowerCase()) : null;
  if (number !== null) return number > MASK_MAX ? null : number;
  return bitsOf(text, type === 'label' ? LABEL_RIGHTS : [...RIGHTS, ...FILE_RIGHTS, ...KEY_RIGHTS]);
}

/** Words of two letters, one after the other. */
function bitsOf(text: string, words: readonly (readonly [word: string, bits: number])[]): number | null {
  let bits = 0;
  for (let at = 0; at < text.length; at += 2) {
    const found = words.find(([word]) => word === text.slice(at, at + 2));
    if (found === undefined) return null;
    bits |= found[1];
  }
  return bits >>> 0;
}

// ---- to text

/** As Windows writes it. */
export function formatSddl({ owner, group, dacl, sacl }: SecurityDescriptor): string {
  return [
    owner === null ? '' : `O:${formatSid(owner)}`,
    group === null ? '' : `G:${formatSid(group)}`,
    dacl === null ? '' : `D:${formatAcl(dacl)}`,
    sacl === null ? '' : `S:${formatAcl(sacl)}`,
  ].join('');
}

function formatAcl({ isProtected, isAutoInherited, asksForInheritance, aces }: Acl): string {
  const flags = `${isProtected ? 'P' : ''}${asksForInheritance ? 'AR' : ''}${isAutoInherited ? 'AI' : ''}`;
  return flags + (aces === null ? NO_LIST : aces.map(formatAce).join(''));
}

const formatAce = ({ type, flags, mask, sid }: Ace): string =>
  `(${WORD_OF_TYPE.get(type)};${wordsOf(flags, FLAGS)};${formatRights(mask, type)};;;${formatSid(sid)})`;

/** The words of the rights where each has one, otherwise the number. */
function formatRights(mask: number, type: AceType): string {
  const whole = type === 'label' ? undefined : FILE_RIGHTS.find(([, bits]) => bits === mask);
  if (whole !== undefined) return whole[0];
  const rights = type === 'label' ? LABEL_RIGHTS : RIGHTS;
  const known = rights.reduce((sum, [, bit]) => (sum | bit) >>> 0, 0);
  return (mask & ~known) === 0 ? wordsOf(mask, rights) : `0x${mask.toString(16)}`;
}

const wordsOf = (bits: number, words: readonly (readonly [word: string, bit: number])[]): string =>
  words
    .filter(([, bit]) => (bits & bit) !== 0)
    .map(([word]) => word)
    .join('');
