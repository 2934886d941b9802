/**
 * The orders in which clients sort `x-ms-` header names before signing. They differ only where `-`, `_` or another sign
 * meets digits or letters, in practice in metadata names. Names are lower-case HTTP tokens.
 */

/** Signs that the service's order passes over at first; every other character has its weight by its place below. */
const IGNORED_AT_FIRST = "'-";
const WEIGHED = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz';

const weightOf = new Uint8Array(128);
for (const [place, char] of WEIGHED.split('').entries()) weightOf[char.charCodeAt(0)] = place + 1;

/** As the service sorts, after .NET's culture-aware order: dashes and apostrophes only break ties. */
export function compareServiceOrder(a: string, b: string): number {
  let i = 0;
  let j = 0;
  while (true) {
    while (i < a.length && weightAt(a, i) === 0) i++;
    while (j < b.length && weightAt(b, j) === 0) j++;
    if (i === a.length || j === b.length) break;
    const difference = weightAt(a, i++) - weightAt(b, j++);
    if (difference !== 0) return difference;
  }
  return a.length - i - (b.length - j) || compareIgnored(a, b);
}

/** Two names alike but for the ignored signs: at the first difference, the name that has one there comes later. */
function compareIgnored(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return IGNORED_AT_FIRST.indexOf(a.charAt(at) || ' ') - IGNORED_AT_FIRST.indexOf(b.charAt(at) || ' ');
}

const weightAt = (name: string, index: number): number => weightOf[name.charCodeAt(index)] ?? 0;

export const compareByteOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const collator = new Intl.Collator('en-US');
export const compareIcuOrder = (a: string, b: string): number => collator.compare(a, b);
