/**
 * Holds the direction of imports: each folder of src with what it may import. Reads the import lines of every source
 * file, and for rules/ the words that would make it impure.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** A folder (with what is below it) or file of src, and what it may import: `/` at the end means all that is below. */
const MAY_IMPORT: readonly (readonly [part: string, imports: readonly string[]])[] = [
  ['base/', ['base/']],
  ['rules/', ['rules/', 'base/']],
  ['postgres/', ['postgres/', 'base/']],
  [
    'engine/postgres/',
    [
      'engine/postgres/',
      'engine/engine.ts',
      'engine/malformed.ts',
      'engine/stretches.ts',
      'engine/lay-over.ts',
      'engine/scan-by-range.ts',
      'postgres/',
      'base/',
    ],
  ],
  [
    'engine/lmdb/',
    [
      'engine/lmdb/',
      'engine/engine.ts',
      'engine/claims.ts',
      'engine/malformed.ts',
      'engine/scan-by-range.ts',
      'engine/stretches.ts',
      'base/',
    ],
  ],
  [
    'engine/memory/',
    [
      'engine/memory/',
      'engine/engine.ts',
      'engine/claims.ts',
      'engine/malformed.ts',
      'engine/scan-by-range.ts',
      'base/',
    ],
  ],
  ['engine/', ['engine/engine.ts', 'engine/transact.ts', 'engine/lay-over.ts', 'base/']],
  ['content/files/', ['content/files/', 'content/content.ts', 'content/malformed.ts', 'base/']],
  ['content/memory/', ['content/memory/', 'content/content.ts', 'content/malformed.ts', 'base/']],
  ['content/postgres/', ['content/postgres/', 'content/content.ts', 'content/malformed.ts', 'postgres/', 'base/']],
  ['content/s3/', ['content/s3/', 'content/content.ts', 'content/malformed.ts', 'base/']],
  ['content/', ['content/content.ts', 'base/']],
  ['signals/local/', ['signals/local/', 'signals/signals.ts', 'signals/listeners.ts', 'base/']],
  ['signals/postgres/', ['signals/postgres/', 'signals/signals.ts', 'signals/listeners.ts', 'postgres/', 'base/']],
  ['signals/', ['signals/signals.ts', 'base/']],
  [
    'service/',
    [
      'service/',
      'rules/',
      'base/',
      'engine/engine.ts',
      'engine/transact.ts',
      'content/content.ts',
      'signals/signals.ts',
    ],
  ],
  ['outside/', ['outside/', 'service/copy/outside.ts', 'rules/', 'base/']],
  ['auth/', ['auth/', 'rules/', 'base/', 'service/storage-error.ts']],
  ['query/', ['query/', 'rules/', 'base/']],
  ['http/', ['http/', 'auth/', 'query/', 'service/', 'rules/', 'base/', 'engine/engine.ts', 'content/content.ts']],
  [
    'smb/',
    [
      'smb/',
      'auth/identity.ts',
      'auth/client-address.ts',
      'service/',
      'rules/',
      'base/',
      'engine/engine.ts',
      'engine/transact.ts',
    ],
  ],
  ['config/', ['config/', 'base/', 'auth/identity.ts', 'rules/']],
  ['cli/', ['cli/', 'config/', 'main.ts', 'service/check.ts']],
  [
    'main.ts',
    [
      'base/',
      'auth/',
      'config/',
      'http/',
      'smb/',
      'service/',
      'engine/lmdb/',
      'engine/memory/',
      'content/files/',
      'content/memory/',
      'signals/local/',
      'outside/',
      'shared-store.ts',
    ],
  ],
  [
    'shared-store.ts',
    [
      'base/',
      'config/',
      'postgres/',
      'engine/engine.ts',
      'engine/postgres/',
      'content/content.ts',
      'content/postgres/',
      'content/s3/',
      'signals/signals.ts',
      'signals/postgres/',
    ],
  ],
];

const IMPURE: readonly (readonly [what: string, form: RegExp])[] = [
  ['async', /\basync\b/],
  ['await', /\bawait\b/],
  ['a Promise', /\bPromise\b/],
  ['a module of Node', /['"]node:/],
  ['the time', /\bDate\b/],
  ['chance', /\bMath\.random\b|\brandom(?:UUID|Bytes)\b/],
  ['a timer', /\bset(?:Timeout|Interval|Immediate)\b/],
  ['the process', /\bprocess\./],
  ['a console', /\bconsole\./],
];

function findProjectRoot(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : findProjectRoot(dirname(from));
}

const root = findProjectRoot(dirname(fileURLToPath(import.meta.url)));

interface Source {
  /** From the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

const sourcesUnder = (folder: string): Source[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({
      path: `${folder}/${name.replaceAll('\\', '/')}`,
      text: readFileSync(join(root, folder, name), 'utf8'),
    }));

const IMPORT_FORMS: readonly RegExp[] = [
  /^(?:import|export)\s[^;'"=()]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm,
];

/** What a file imports: files of ours as paths from the root, all else as it is written. */
const importsOf = ({ path, text }: Source): string[] =>
  IMPORT_FORMS.flatMap((form) => [...text.matchAll(form)])
    .map((match) => match[1] as string)
    .map((name) => (name.startsWith('.') ? posix.join(posix.dirname(path), name) : name));

const isTest = ({ path }: Source): boolean => path.endsWith('.test.ts');
/** A port's contract is a test, though other tests import it. */
const isForTests = (source: Source): boolean => isTest(source) || source.path.endsWith('/contract.ts');
const isOurs = (name: string): boolean => /^(?:src|test|bench)\//.test(name);
const isWithin = (name: string, part: string): boolean => (part.endsWith('/') ? name.startsWith(part) : name === part);
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

const sources = sourcesUnder('src');
const production = sources.filter((source) => !isForTests(source));

/** The first row that fits: the rows of adapters stand before the rows of the folders around them. */
const rowOf = ({ path }: Source) => MAY_IMPORT.find(([part]) => isWithin(path, `src/${part}`));

test('the reading of import lines finds every form of them', () => {
  const text = [
    "import { a } from './a.ts';",
    "import type { B } from '../b.ts';",
    "import {\n  c,\n  type C,\n} from './deep/c.ts';",
    "export { d } from './d.ts';",
    "export * from './e.ts';",
    "import './f.ts';",
    "const g = await import('./g.ts');",
    "import * as h from 'node:path';",
    "export type No = 'no';",
    "const no = 'import x from';",
  ].join('\n');
  assert.deepEqual(importsOf({ path: 'src/x/y.ts', text }), [
    'src/x/a.ts',
    'src/b.ts',
    'src/x/deep/c.ts',
    'src/x/d.ts',
    'src/x/e.ts',
    'node:path',
    'src/x/f.ts',
    'src/x/g.ts',
  ]);
});

test('every source file belongs to a part that the table names', () => {
  assert.ok(production.length > 50, `${production.length} files found`);
  assert.deepEqual(
    production.filter((source) => rowOf(source) === undefined).map(({ path }) => path),
    [],
  );
});

for (const [part, allowed] of MAY_IMPORT) {
  test(`${part} imports nothing of ours but ${allowed.join(', ')}`, () => {
    const files = production.filter((source) => rowOf(source)?.[0] === part);
    assert.ok(files.length > 0, 'the part exists');
    const wrong = files.flatMap((source) =>
      importsOf(source)
        .filter(isOurs)
        .filter((name) => !allowed.some((one) => isWithin(name, `src/${one}`)))
        .map((name) => `${source.path} imports ${name}`),
    );
    assert.deepEqual(wrong, []);
  });
}

for (const [what, form] of IMPURE) {
  test(`rules/ is pure: it uses no ${what.replace(/^(?:an?|the) /, '')}`, () => {
    const wrong = production.filter(
      ({ path, text }) => path.startsWith('src/rules/') && form.test(withoutComments(text)),
    );
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    );
  });
}

test('rules/ imports no package', () => {
  const wrong = production
    .filter(({ path }) => path.startsWith('src/rules/'))
    .flatMap((source) => importsOf(source).filter((name) => !isOurs(name)));
  assert.deepEqual(wrong, []);
});

test('nothing in src but tests imports test/ or bench/', () => {
  const wrong = production.filter((source) => importsOf(source).some((name) => /^(?:test|bench)\//.test(name)));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('nobody imports a test, and nothing but tests imports a contract', () => {
  const everything = [...sources, ...sourcesUnder('test'), ...sourcesUnder('bench')];
  const wrong = everything.flatMap((source) =>
    importsOf(source)
      .filter((name) => name.endsWith('.test.ts') || (name.endsWith('/contract.ts') && !isTest(source)))
      .map((name) => `${source.path} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});
