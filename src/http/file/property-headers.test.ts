import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ARCHIVE, DIRECTORY, HIDDEN, READ_ONLY } from '../../rules/file-attributes.ts';
import { parseFileTime } from '../../rules/file-time.ts';
import { NO_CHANGES, type PropertyChanges } from '../../service/file/properties.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseChangedProperties, parseKeepsWriteTime, parseNewProperties } from './property-headers.ts';

const NEW = '2024-11-04';
const LAST_STRICT = '2021-04-10';
const BEFORE_PROPERTIES = '2018-11-09';
const TIME = '2023-06-07T22:52:38.5481207Z';
const AT = parseFileTime(TIME) as string;
const KEY = { 'x-ms-file-permission-key': '12*34' } as const;

type Headers = Readonly<Record<string, string>>;

const asked = (headers: Headers, version = NEW) => ({ version, header: (name: string) => headers[name] ?? null });

/** What was read, or the code of the refusal with the header that it names. */
function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return `${error.code} ${error.details.elements?.['HeaderName']}`;
  }
}

const named = (attributes: string): Headers => ({ 'x-ms-file-attributes': attributes });

describe('of a new file', () => {
  for (const [headers, want] of [
    [{}, {}],
    [{ 'x-ms-file-attributes': 'None' }, { attributes: ARCHIVE }],
    [{ 'x-ms-file-attributes': 'ReadOnly|Hidden' }, { attributes: READ_ONLY | HIDDEN | ARCHIVE }],
    [{ 'x-ms-file-attributes': ' readonly | HIDDEN ' }, { attributes: READ_ONLY | HIDDEN | ARCHIVE }],
    [{ 'x-ms-file-creation-time': TIME }, { createdAt: { at: AT } }],
    [
      { 'x-ms-file-creation-time': 'Now', 'x-ms-file-last-write-time': 'now' },
      { createdAt: 'now', writtenAt: 'now' },
    ],
    [{ 'x-ms-file-change-time': TIME }, { changedAt: AT }],
    [{ 'x-ms-file-change-time': 'NOW' }, {}],
    [KEY, { permission: { kind: 'key', key: '12*34' } }],
    [{ 'x-ms-file-permission': 'Inherit' }, { permission: { kind: 'inherit' } }],
  ] as const satisfies readonly (readonly [Headers, Partial<PropertyChanges>])[]) {
    test(`${JSON.stringify(headers)} is ${JSON.stringify(want)}`, () => {
      assert.deepEqual(parseNewProperties(asked(headers), 'file'), { ...NO_CHANGES, ...want });
    });
  }

  for (const [name, text] of [
    ['x-ms-file-attributes', 'Directory'],
    ['x-ms-file-attributes', 'None|Hidden'],
    ['x-ms-file-attributes', 'ReadOnly,Hidden'],
    ['x-ms-file-attributes', 'preserve'],
    ['x-ms-file-creation-time', 'preserve'],
    ['x-ms-file-creation-time', 'yesterday'],
    ['x-ms-file-last-write-time', '2023-02-30T00:00:00Z'],
    ['x-ms-file-last-write-time', 'preserve'],
    ['x-ms-file-change-time', 'preserve'],
    ['x-ms-file-property-semantics', 'Old'],
  ] as const) {
    test(`${name}: ${text} is refused`, () => {
      const parse = (): unknown => parseNewProperties(asked({ [name]: text }), 'file');
      assert.equal(outcome(parse), `InvalidHeaderValue ${name}`);
    });
  }

  test('the mark for the archive is left to whoever restores a file together with its permission', () => {
    const restored = { 'x-ms-file-attributes': 'Hidden', 'x-ms-file-property-semantics': 'Restore' };
    assert.equal(parseNewProperties(asked({ ...restored, ...KEY }), 'file').attributes, HIDDEN);
    assert.equal(parseNewProperties(asked(restored), 'file').attributes, HIDDEN | ARCHIVE);
  });

  test('a directory gets no mark for the archive, and is a directory whatever is said', () => {
    const seen = ['None', 'Directory', 'Hidden'].map((text) => parseNewProperties(asked(named(text)), 'directory'));
    assert.deepEqual(
      seen.map(({ attributes }) => attributes),
      [DIRECTORY, DIRECTORY, DIRECTORY | HIDDEN],
    );
  });
});

describe('of a change', () => {
  const KEPT = {
    'x-ms-file-attributes': 'preserve',
    'x-ms-file-creation-time': 'Preserve',
    'x-ms-file-last-write-time': 'PRESERVE',
    'x-ms-file-permission': 'preserve',
  };

  test('what is said to be preserved is what is not said', () => {
    assert.deepEqual(parseChangedProperties(asked(KEPT), 'file'), NO_CHANGES);
    assert.deepEqual(parseChangedProperties(asked({}), 'file'), NO_CHANGES);
  });

  test('attributes are set as they are given, none of them too', () => {
    const seen = ['None', 'Hidden'].map((text) => parseChangedProperties(asked(named(text)), 'file'));
    assert.deepEqual(
      seen.map(({ attributes }) => attributes),
      [0, HIDDEN],
    );
  });

  for (const name of ['x-ms-file-attributes', 'x-ms-file-creation-time', 'x-ms-file-last-write-time'] as const) {
    test(`${name} was needed before it was optional`, () => {
      const { [name]: _left, ...headers } = KEPT;
      const parse = (version: string) => (): unknown => parseChangedProperties(asked(headers, version), 'file');
      assert.equal(outcome(parse(LAST_STRICT)), `MissingRequiredHeader ${name}`);
      assert.equal(outcome(parse('2019-02-02')), `MissingRequiredHeader ${name}`);
      assert.deepEqual(outcome(parse('2021-06-08')), NO_CHANGES);
      assert.deepEqual(outcome(parse(BEFORE_PROPERTIES)), NO_CHANGES);
    });
  }

  test('a permission or its key was needed before both were optional', () => {
    const { 'x-ms-file-permission': _left, ...headers } = KEPT;
    assert.equal(
      outcome(() => parseChangedProperties(asked(headers, LAST_STRICT), 'file')),
      'MissingRequiredHeader x-ms-file-permission',
    );
    const { permission } = parseChangedProperties(asked({ ...headers, ...KEY }, LAST_STRICT), 'file');
    assert.deepEqual(permission, { kind: 'key', key: '12*34' });
  });

  test('the time of the change cannot be given to older versions, which do not know the header', () => {
    const headers = { ...KEPT, 'x-ms-file-change-time': TIME };
    assert.equal(parseChangedProperties(asked(headers, LAST_STRICT), 'file').changedAt, null);
    assert.equal(parseChangedProperties(asked(headers), 'file').changedAt, AT);
  });
});

describe('Put Range', () => {
  for (const [text, version, want] of [
    [null, NEW, false],
    ['now', NEW, false],
    ['Now', NEW, false],
    ['preserve', NEW, true],
    ['Preserve', NEW, true],
    ['preserve', LAST_STRICT, false],
    [TIME, NEW, 'InvalidHeaderValue x-ms-file-last-write-time'],
    [TIME, LAST_STRICT, false],
  ] as const) {
    test(`of ${version} with x-ms-file-last-write-time ${text} keeps the time: ${want}`, () => {
      const headers: Headers = text === null ? {} : { 'x-ms-file-last-write-time': text };
      assert.equal(
        outcome(() => parseKeepsWriteTime(asked(headers, version))),
        want,
      );
    });
  }
});
