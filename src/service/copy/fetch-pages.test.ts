import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writtenSpans } from './fetch-pages.ts';

const PAGE = 512;
const KIB = 1024;

/** A window of 64 KiB with something in these pages. */
function windowWith(...pages: number[]): Buffer {
  const window = Buffer.alloc(64 * KIB);
  for (const page of pages) window[page * PAGE + 511] = 1;
  return window;
}

for (const [what, pages, want] of [
  ['nothing', [], []],
  ['one page', [3], [[3, 1]]],
  ['pages side by side', [3, 4, 5], [[3, 3]]],
  ['pages with 16 KiB of zeros between them', [0, 33], [[0, 34]]],
  [
    'pages with more than that',
    [0, 34],
    [
      [0, 1],
      [34, 1],
    ],
  ],
  [
    'the first and the last page',
    [0, 127],
    [
      [0, 1],
      [127, 1],
    ],
  ],
] as const) {
  test(`of a window with ${what} as little is stored as pays`, () => {
    const spans = writtenSpans(windowWith(...pages));
    assert.deepEqual(
      spans.map(({ offsetBytes, lengthBytes }) => [offsetBytes / PAGE, lengthBytes / PAGE]),
      want,
    );
  });
}
