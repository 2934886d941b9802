import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobNameNeedsEncoding } from '../rules/names.ts';
import { StorageError } from '../service/storage-error.ts';
import { childNamed, escapeXml, parseXml, XmlWriter } from './xml.ts';

test('a document becomes a tree of names, texts and children', () => {
  const root = parseXml(
    '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<!-- a list --><BlockList><Latest>QQ==</Latest>\n' +
      '<Committed><![CDATA[a<b]]>&amp;&#65;</Committed><Empty/></BlockList>',
  );
  assert.equal(root.name, 'BlockList');
  assert.deepEqual(
    root.children.map(({ name, text }) => [name, text]),
    [
      ['Latest', 'QQ=='],
      ['Committed', 'a<b&A'],
      ['Empty', ''],
    ],
  );
  assert.equal(childNamed(root, 'Latest')?.text, 'QQ==');
  assert.equal(childNamed(root, 'Uncommitted'), null);
});

test('bytes are read as UTF-8', () => {
  assert.equal(parseXml(Buffer.from('<a>€</a>')).text, '€');
});

const bomb = `<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>`;
for (const [name, source] of [
  ['no document', ''],
  ['plain text', 'hello'],
  ['an element left open', '<a><b></b>'],
  ['elements that cross', '<a><b></a></b>'],
  ['two roots', '<a/><b/>'],
  ['an unknown entity', '<a>&nbsp;</a>'],
  ['entities of its own', bomb],
  ['a document type, however harmless', '<!DOCTYPE a><a/>'],
  ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
  ['a character XML forbids', '<a>\u0001</a>'],
  ['a reference to a character XML forbids', '<a>&#0;</a>'],
  ['bytes that are no UTF-8', Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])],
  ['nothing but opening tags', '<a>'.repeat(200_000)],
  ['more levels than any body has', `${'<a>'.repeat(65)}${'</a>'.repeat(65)}`],
] as const) {
  test(`${name} is refused as InvalidXmlDocument`, () => {
    assert.throws(
      () => parseXml(source),
      (error) => error instanceof StorageError && error.code === 'InvalidXmlDocument',
    );
  });
}

test('the refusal says where and why', () => {
  try {
    parseXml('<a>\n  <b></c></a>');
    assert.fail('the document was taken');
  } catch (error) {
    assert.ok(error instanceof StorageError);
    assert.equal(error.details.elements?.['LineNumber'], '2');
    assert.match(error.details.elements?.['LinePosition'] ?? '', /^\d+$/);
    assert.ok((error.details.elements?.['Reason'] ?? '').length > 5);
  }
});

test('a document longer than allowed is refused unread', () => {
  assert.throws(() => parseXml('<a>1234567890</a>', { maxBytes: 16 }), StorageError);
  assert.equal(parseXml('<a>123456789</a>', { maxBytes: 16 }).text, '123456789');
});

test('a list of 50,000 blocks is read in one go', () => {
  const id = Buffer.alloc(48, 'x').toString('base64');
  const root = parseXml(`<BlockList>${`<Latest>${id}</Latest>`.repeat(50_000)}</BlockList>`);
  assert.equal(root.children.length, 50_000);
  assert.equal(root.children.at(-1)?.text, id);
});

test('texts and attributes are escaped, and can be read back', () => {
  const text = 'a & b < c > d " e \' f \r\n g \u{1f600}';
  const xml = new XmlWriter().open('Root', { Name: text }).leaf('Text', text).leafIf('Gone', null).toString();
  assert.equal(childNamed(parseXml(xml), 'Text')?.text, text);
  assert.ok(!xml.includes('Gone'));
  assert.ok(xml.startsWith('<?xml version="1.0" encoding="utf-8"?><Root Name="a &amp; b'));
});

test('an element without text is empty, and numbers and booleans are written as they are', () => {
  const xml = new XmlWriter().open('A').leaf('B').leaf('C', 0).leaf('D', false).close().toString();
  assert.equal(xml, '<?xml version="1.0" encoding="utf-8"?><A><B /><C>0</C><D>false</D></A>');
});

test('no character that XML forbids is ever written', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const escaped = escapeXml(`a${String.fromCharCode(code)}b`);
    assert.ok(!blobNameNeedsEncoding(escaped), `U+${code.toString(16)} was written`);
    assert.doesNotThrow(() => parseXml(`<a>${escaped}</a>`), `U+${code.toString(16)} cannot be read back`);
  }
});
