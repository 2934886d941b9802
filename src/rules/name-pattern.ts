/**
 * Which names a pattern means ([MS-FSA] 2.1.4.4). Beside `*` and `?` there are three that say what DOS meant by its own:
 * `<` takes everything up to and with the last dot, `>` one character but no dot, `"` a dot. Behind the name's end `>` and `"`
 * take nothing. All ways to match are followed at once, so that no pattern takes longer than its length times the name's.
 */
import { FILE_NAME_LENGTH_MAX, foldName } from './file-names.ts';

const ANY = '*';
const ONE = '?';
const DOS_STAR = '<';
const DOS_ONE = '>';
const DOS_DOT = '"';

const WILDCARD = /[*?<>"]/;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const NEVER_IN_A_PATTERN = /[\\/:|\0-\x1f]/;
/** What takes nothing behind the end of a name. */
const TAKES_NOTHING_AT_THE_END: ReadonlySet<string> = new Set([ANY, DOS_STAR, DOS_ONE, DOS_DOT]);

export interface NamePattern {
  /** What every name that it means begins with; folded. */
  readonly prefix: string;
  /** It is a name itself, and means no other. */
  readonly isName: boolean;
  /** Of a folded name. */
  readonly matches: (name: string) => boolean;
}

/** Empty: all names. Null: it could mean no name at all. */
export function parsePattern(text: string): NamePattern | null {
  if (text.length > FILE_NAME_LENGTH_MAX || NEVER_IN_A_PATTERN.test(text)) return null;
  const pattern = foldName(text);
  if (pattern === '' || pattern === '*' || pattern === '*.*') return { prefix: '', isName: false, matches: () => true };
  const prefix = patternPrefix(pattern);
  if (prefix === pattern) return { prefix, isName: true, matches: (name) => name === pattern };
  const endsAt = endOf(pattern);
  return { prefix, isName: false, matches: (name) => matches(pattern, endsAt, name) };
}

/** What stands before the first wildcard. */
export function patternPrefix(pattern: string): string {
  const at = pattern.search(WILDCARD);
  return at < 0 ? pattern : pattern.slice(0, at);
}

/** From where on the rest of a pattern takes nothing behind the end of a name. */
function endOf(pattern: string): number {
  let at = pattern.length;
  while (at > 0 && TAKES_NOTHING_AT_THE_END.has(pattern.charAt(at - 1))) at--;
  return at;
}

function matches(pattern: string, endsAt: number, name: string): boolean {
  const lastDotAt = name.lastIndexOf('.');
  // Places in the pattern to go on from: before the unit that is looked at, and behind it.
  let here = new Uint8Array(pattern.length + 1);
  let next = new Uint8Array(pattern.length + 1);
  here[0] = 1;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charAt(at);
    let isAny = false;
    for (let place = 0; place < pattern.length; place++) {
      if (here[place] === 0) continue;
      const wanted = pattern.charAt(place);
      // What may take nothing lets the next one look at the same unit.
      if (wanted === ANY || wanted === DOS_STAR || (wanted === DOS_ONE && unit === '.')) here[place + 1] = 1;
      if (!takes(wanted, unit, at === name.length - 1)) continue;
      const stays = wanted === ANY || (wanted === DOS_STAR && at !== lastDotAt);
      next[stays ? place : place + 1] = 1;
      isAny = true;
    }
    if (!isAny) return false;
    [here, next] = [next, here];
    next.fill(0);
  }
  return here.includes(1, endsAt);
}

function takes(wanted: string, unit: string, isLast: boolean): boolean {
  if (wanted === ANY || wanted === ONE || wanted === DOS_STAR) return true;
  if (wanted === DOS_ONE) return unit !== '.' || isLast;
  return wanted === DOS_DOT ? unit === '.' : wanted === unit;
}
