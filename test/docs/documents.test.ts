/**
 * Checks every Markdown file of the repository: relative links resolve, lines have at most 100 columns, and the files that
 * ARCHITECTURE.md, the READMEs in src/ and the decisions name exist. Anchors are those that GitHub gives to headings.
 */
// engines: embedded
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listPages, parseFences } from './fences.ts';

const COLUMNS_MAX = 100;

/** Folders without documents of the project. Of those whose names begin with a dot, only `.github` has some. */
const SKIPPED = /^(?:dist|larimar-data|node_modules|\.(?!github$).*)$/;

/** The documents that explain the code. */
const EXPLAINS_CODE = /^(?:ARCHITECTURE\.md|src\/.*README\.md|docs\/decisions\/.*\.md)$/;

function findProjectRoot(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : findProjectRoot(dirname(from));
}

const root = findProjectRoot(dirname(fileURLToPath(import.meta.url)));

interface Document {
  /** From the project's root, with `/`. */
  readonly path: string;
  readonly lines: readonly Line[];
}

interface Line {
  readonly number: number;
  readonly text: string;
  /** Part of a code block, its two fences included. */
  readonly isCode: boolean;
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : filesUnder(join(folder, entry.name));
    return entry.isFile() ? [relative(root, join(folder, entry.name)).replaceAll('\\', '/')] : [];
  });
}

function parseDocument(path: string, text: string): Document {
  const code = new Set(
    parseFences(path, text).flatMap(({ line, code }) => {
      const lineCount = code.split('\n').length + 1;
      return Array.from({ length: lineCount }, (_, index) => line + index);
    }),
  );
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, text: line, isCode: code.has(index + 1) }));
  return { path, lines };
}

const files = filesUnder(root);
/** By path. */
const documents = new Map(
  listPages().map((path) => [path, parseDocument(path, readFileSync(join(root, path), 'utf8'))]),
);

// ---- links

interface Link {
  readonly line: number;
  readonly target: string;
}

const LINK_FORMS: readonly RegExp[] = [
  // [text](target) and ![text](target), with or without a title
  /\]\(\s*<?([^\s)>]+)>?(?:\s+["'][^)]*["'])?\s*\)/g,
  // [name]: target
  /^\s{0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?/g,
  /<(?:a|img|source)\b[^>]*?\s(?:href|src|srcset)="([^"\s]+)[^"]*"/g,
];

/** A link between backticks is no link. */
const withoutCode = (text: string): string => text.replaceAll(/(`+)(?!`).*?(?<!`)\1(?!`)/g, '');

const linksOf = ({ lines }: Document): Link[] =>
  lines
    .filter(({ isCode }) => !isCode)
    .flatMap(({ number, text }) =>
      LINK_FORMS.flatMap((form) => [...withoutCode(text).matchAll(form)]).map((match) => ({
        line: number,
        target: match[1] as string,
      })),
    );

/** The anchor that GitHub gives to a heading: `## Start, stop` has `#start-stop`. */
function anchorOf(heading: string): string {
  const shown = heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(?<!\w)_([^_]+)_(?!\w)/g, '$1')
    .replaceAll(/[`*]/g, '');
  return shown
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

/** The second heading with the same anchor gets the suffix `-1`, the third `-2`. */
function anchorsOf({ lines }: Document): Set<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  for (const { text, isCode } of lines) {
    if (isCode) continue;
    for (const [, id] of text.matchAll(/<[^>]*?\s(?:id|name)="([^"]+)"/g)) anchors.add(id as string);
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const anchor = anchorOf(heading);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

const isRelative = ({ target }: Link): boolean => !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target);

/** Why a link is broken; null if it is not. */
function brokenBecause(from: Document, target: string): string | null {
  const [path = '', anchor] = target.split('#', 2);
  if (path.startsWith('/')) return 'is not relative';
  const to = path === '' ? from.path : posix.join(posix.dirname(from.path), decodeURIComponent(path));
  if (to.startsWith('..') || !existsSync(join(root, to))) return 'is not there';
  if (anchor === undefined) return null;
  const document = documents.get(to);
  return document !== undefined && anchorsOf(document).has(anchor) ? null : 'has no such heading';
}

// ---- lines

/** Lines that cannot be wrapped: a table row with a link, the definition of a link, a single long word. */
const MAY_BE_LONG: readonly RegExp[] = [/^\s*\|.*\]\(/, /^\[[^\]]+\]:\s/, /^\s*(?:[-*]\s|\d+\.\s)?\s*\S+$/];

const columnsOf = (text: string): number => Array.from(text).length;

const longLinesOf = ({ lines }: Document): Line[] =>
  lines.filter(
    ({ text, isCode }) => !isCode && columnsOf(text) > COLUMNS_MAX && !MAY_BE_LONG.some((form) => form.test(text)),
  );

// ---- names of files

/** A file with a known extension, or a folder with a slash at its end: `src/engine/engine.ts`, `lmdb/`. */
const FILE_NAME = /^(?:[\w.-]+\/)*(?:[\w-]+(?:\.[\w-]+)*\.(?:ts|md|json|ya?ml|py|lua)|[\w.-]+\/)$/;

const fileNamesOf = ({ lines }: Document): { readonly line: number; readonly name: string }[] =>
  lines
    .filter(({ isCode }) => !isCode)
    .flatMap(({ number, text }) =>
      [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => ({ line: number, name: name as string })),
    )
    .filter(({ name }) => FILE_NAME.test(name));

/** A path is relative to the root or to the document's folder. A bare name matches any file below that folder. */
function exists(from: Document, name: string): boolean {
  const folder = posix.dirname(from.path);
  if ([name, posix.join(folder, name)].some((path) => existsSync(join(root, path)))) return true;
  const inFolder = folder === '.' ? files : files.filter((file) => file.startsWith(`${folder}/`));
  return !name.includes('/') && inFolder.some((file) => posix.basename(file) === name);
}

// ---- the tests

describe('documents', () => {
  test('links, anchors, long lines and file names are found, except in code blocks', () => {
    const text = [
      '# One `two` _three_, [four](x.md): five_six!',
      'See [a](b.md#c "title"), ![d](e.svg) and `[no](no.md)`.',
      '[f]: g.md',
      '<img alt="h" src="i.svg"> <a id="here"></a>',
      '```md',
      '[no](no.md)',
      `# ${'no '.repeat(50)}`,
      '```',
      '# Same',
      '# Same',
      `${'long '.repeat(20)}x`,
      `${'fits '.repeat(19)}fits!`,
      `| [table](x.md) | ${'may be long '.repeat(10)} |`,
      `- ${'w'.repeat(101)}`,
      'The file `x/y.test.ts`, the folder `x/`, and neither `a.b` nor `GET /x` nor `x/*.ts`.',
    ].join('\n');
    const document = parseDocument('x.md', text);
    assert.deepEqual(
      linksOf(document).map(({ line, target }) => `${line} ${target}`),
      ['1 x.md', '2 b.md#c', '2 e.svg', '3 g.md', '4 i.svg', '13 x.md'],
    );
    assert.deepEqual([...anchorsOf(document)], ['one-two-three-four-five_six', 'here', 'same', 'same-1']);
    assert.deepEqual(
      longLinesOf(document).map(({ number }) => number),
      [11],
    );
    assert.deepEqual(
      fileNamesOf(document).map(({ name }) => name),
      ['x/y.test.ts', 'x/'],
    );
  });

  const architecture = documents.get('ARCHITECTURE.md') as Document;

  for (const [target, want] of [
    ['src/main.ts', null],
    ['src/', null],
    ['#layers', null],
    ['./src/engine/README.md#tests', null],
    ['src/missing.ts', 'is not there'],
    ['../README.md', 'is not there'],
    ['/README.md', 'is not relative'],
    ['#missing', 'has no such heading'],
    ['src/main.ts#layers', 'has no such heading'],
  ] as const) {
    test(`a link from ARCHITECTURE.md to ${target} ${want ?? 'is right'}`, () => {
      assert.equal(brokenBecause(architecture, target), want);
    });
  }

  for (const [path, name, want] of [
    ['ARCHITECTURE.md', 'src/main.ts', true],
    ['ARCHITECTURE.md', 'main.ts', true],
    ['ARCHITECTURE.md', 'engine/engine.ts', false],
    ['src/engine/README.md', 'lmdb/group.ts', true],
    ['src/engine/README.md', 'src/main.ts', true],
    ['src/engine/README.md', 'group.ts', true],
    ['src/engine/README.md', 'main.ts', false],
    ['src/engine/README.md', 'missing/', false],
  ] as const) {
    test(`${path} ${want ? 'may' : 'may not'} name \`${name}\``, () => {
      assert.equal(exists(documents.get(path) as Document, name), want);
    });
  }

  test('every relative link leads to a file, and to a heading if it names one', () => {
    assert.ok(documents.size > 30, `${documents.size} documents found`);
    const broken = [...documents.values()].flatMap((document) =>
      linksOf(document)
        .filter(isRelative)
        .map((link) => ({ ...link, why: brokenBecause(document, link.target) }))
        .filter(({ why }) => why !== null)
        .map(({ line, target, why }) => `${document.path}:${line} ${target} ${why}`),
    );
    assert.deepEqual(broken, []);
  });

  test(`no line is longer than ${COLUMNS_MAX} columns`, () => {
    const long = [...documents.values()].flatMap((document) =>
      longLinesOf(document).map(({ number, text }) => `${document.path}:${number} has ${columnsOf(text)} columns`),
    );
    assert.deepEqual(long, []);
  });

  test('every file and folder named in ARCHITECTURE.md, a README in src/ or a decision exists', () => {
    const explaining = [...documents.values()].filter(({ path }) => EXPLAINS_CODE.test(path));
    const missing = explaining.flatMap((document) =>
      fileNamesOf(document)
        .filter(({ name }) => !exists(document, name))
        .map(({ line, name }) => `${document.path}:${line} ${name}`),
    );
    assert.deepEqual(missing, []);
  });
});
