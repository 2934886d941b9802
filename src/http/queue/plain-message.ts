/**
 * A short cut for the body that nearly every Put Message has: `<QueueMessage><MessageText>…</MessageText></QueueMessage>`
 * with nothing but text inside. It gives what the XML parser would give, or steps aside: whatever is unusual or wrong is
 * left to the parser.
 */

/** A declaration as clients write them, and the elements around the text. */
const HEAD =
  /<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=(?:"[Uu][Tt][Ff]-8"|'[Uu][Tt][Ff]-8'))?(?: standalone=(?:"yes"|'yes'))? ?\?>\r?\n?<QueueMessage><MessageText>/y;
const BARE_HEAD = '<QueueMessage><MessageText>';
const TAIL = '</MessageText></QueueMessage>';

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNUSUAL = /[&>\0-\x08\x0b-\x1f\ufffe\uffff]/;
// oxlint-disable-next-line no-control-regex -- the same
const REFUSED = /\]\]>|[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Null: it is for the parser to say. `body` was UTF-8. */
export function plainMessageText(body: string): string | null {
  const start = headLength(body);
  const end = body.length - TAIL.length;
  if (start === 0 || body.indexOf('<', start) !== end || !body.endsWith(TAIL)) return null;
  const text = body.slice(start, end);
  if (!UNUSUAL.test(text)) return text;
  if (REFUSED.test(text)) return null;
  return decodeReferences(text.includes('\r') ? text.replaceAll(LINE_END, '\n') : text);
}

/** As XML reads them; a CR that is to stay one is written as a reference. */
const LINE_END = /\r\n?/g;

function headLength(body: string): number {
  if (body.startsWith(BARE_HEAD)) return BARE_HEAD.length;
  HEAD.lastIndex = 0;
  return HEAD.test(body) ? HEAD.lastIndex : 0;
}

function decodeReferences(text: string): string | null {
  let decoded = '';
  let from = 0;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', from)) {
    const end = text.indexOf(';', at);
    const character = end === -1 ? null : referred(text.slice(at + 1, end));
    if (character === null) return null;
    decoded += text.slice(from, at) + character;
    from = end + 1;
  }
  return decoded + text.slice(from);
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);
const DECIMAL = /^#\d{1,7}$/;
const HEXADECIMAL = /^#x[0-9A-Fa-f]{1,6}$/;

/** Null for what is no reference, or to a character that XML cannot carry. */
function referred(name: string): string | null {
  const entity = ENTITIES.get(name);
  if (entity !== undefined) return entity;
  if (DECIMAL.test(name)) return characterOf(Number(name.slice(1)));
  return HEXADECIMAL.test(name) ? characterOf(Number.parseInt(name.slice(2), 16)) : null;
}

function characterOf(code: number): string | null {
  const isCharacter =
    (code >= 0x20 && code < 0xd800) ||
    (code > 0xdfff && code < 0xfffe) ||
    (code > 0xffff && code <= 0x10ffff) ||
    code === 0x9 ||
    code === 0xa ||
    code === 0xd;
  return isCharacter ? String.fromCodePoint(code) : null;
}
