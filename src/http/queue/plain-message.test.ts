/** The short cut is held to the XML parser: whatever it takes, the parser must read alike. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import { StorageError } from '../../service/storage-error.ts';
import { childNamed, escapeXml, parseXml } from '../xml.ts';
import { plainMessageText } from './plain-message.ts';

const around = (content: string, head = ''): string =>
  `${head}<QueueMessage><MessageText>${content}</MessageText></QueueMessage>`;

/** Null where it is refused, or holds no such message. */
function textByParser(body: string): string | null {
  try {
    const root = parseXml(body);
    return root.name === 'QueueMessage' ? (childNamed(root, 'MessageText')?.text ?? null) : null;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return null;
  }
}

const HEADS = [
  '',
  '<?xml version="1.0"?>',
  '<?xml version="1.0" encoding="utf-8"?>',
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
  '<?xml version="1.0" encoding="utf-8" ?>\r\n',
  "<?xml version='1.0' encoding='utf-8'?>\n",
];

describe('the short cut takes', () => {
  for (const [what, content, want] of [
    ['words', 'some words', 'some words'],
    ['nothing', '', ''],
    ['white space', ' \t\n ', ' \t\n '],
    ['Base64', 'eyJhIjoiYiJ9+/==', 'eyJhIjoiYiJ9+/=='],
    ['JSON', '{"a":[1,"b\'s"]}', '{"a":[1,"b\'s"]}'],
    ['a bare >', 'a > b', 'a > b'],
    ['the five entities', '&lt;a b=&quot;&apos;&quot;&gt;&amp;amp;', '<a b="\'">&amp;'],
    ['references by number', '&#65;&#x42;&#x0a;&#9;&#13;&#x1F600;', 'AB\n\t\r😀'],
    ['line ends, of which XML knows one', 'a\r\nb\rc\nd&#xD;\ne\r\r\n', 'a\nb\nc\nd\r\ne\n\n'],
    [
      'characters of all planes',
      'ä€😀\u{10fffd}\u0085\u007f\u2028\ufffd\ufeff',
      'ä€😀\u{10fffd}\u0085\u007f\u2028\ufffd\ufeff',
    ],
  ] as const) {
    for (const head of HEADS) {
      test(`${what}, behind ${JSON.stringify(head)}`, () => {
        assert.equal(plainMessageText(around(content, head)), want);
        assert.equal(textByParser(around(content, head)), want);
      });
    }
  }
});

describe('the short cut leaves to the parser', () => {
  for (const [what, body] of [
    ['nothing at all', ''],
    ['markup', around('a<b>c</b>d')],
    ['a comment', around('a<!-- b -->c')],
    ['a CDATA section', around('<![CDATA[a<b]]>')],
    ['the end of a CDATA section', around('a]]>b')],
    ['an entity of its own', around('&nbsp;')],
    ['a bare ampersand', around('a & b')],
    ['an ampersand at the end', around('a&')],
    ['an empty reference', around('&;')],
    ['an entity in capitals', around('&LT;')],
    ['a reference without a number', around('&#;')],
    ['a reference with a capital X', around('&#X41;')],
    ['a character that XML forbids', around('a\u0001b')],
    ['NUL', around('a\0b')],
    ['a noncharacter', around('a\uffffb')],
    ['a reference to NUL', around('&#0;')],
    ['a reference to a control character', around('&#x1f;')],
    ['a reference to half a character', around('&#xD800;')],
    ['a reference to a noncharacter', around('&#xFFFE;')],
    ['a reference beyond Unicode', around('&#x110000;')],
    ['a reference with many zeros', around('&#x0000000041;')],
    ['an empty element', '<QueueMessage><MessageText/></QueueMessage>'],
    ['space between the elements', '<QueueMessage> <MessageText>a</MessageText></QueueMessage>'],
    ['space behind the document', `${around('a')}\n`],
    ['an attribute', '<QueueMessage><MessageText xml:space="preserve">a</MessageText></QueueMessage>'],
    ['another root', '<Message><MessageText>a</MessageText></Message>'],
    ['a text that is not closed', '<QueueMessage><MessageText>a'],
    ['a tail alone', '</MessageText></QueueMessage>'],
    ['more than one text', around('a</MessageText><MessageText>b')],
    ['a byte order mark', `\ufeff${around('a')}`],
    ['a document type', around('a', '<!DOCTYPE QueueMessage>')],
    ['a declaration behind a space', around('a', ' <?xml version="1.0"?>')],
    ['a declaration with quotes that differ', around('a', `<?xml version="1.0'?>`)],
    ['a declaration of another encoding', around('a', '<?xml version="1.0" encoding="utf-16"?>')],
  ] as const) {
    test(what, () => assert.equal(plainMessageText(body), null));
  }
});

test('every text that XML can carry takes the short cut, and comes out as it went in', () => {
  const text = fc.string({ unit: 'binary' }).filter((candidate) => !FORBIDDEN.test(candidate));
  fc.assert(
    fc.property(text, fc.constantFrom(...HEADS), (written, head) => {
      assert.equal(plainMessageText(around(escapeXml(written), head)), written);
    }),
    { ...seeded, numRuns: 2000 },
  );
});

// oxlint-disable-next-line no-control-regex -- what XML cannot carry
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** What bodies are made of, with much that is just beside it. */
const PIECES = [
  ['<QueueMessage>', '<MessageText>', '</MessageText>', '</QueueMessage>', '<MessageText/>', '<b>', '</b>', '<', '>'],
  ['&', ';', '&lt;', '&amp;', '&#', '&#x', '&#13;', '&#xD;', '&#0;', '&#55296;', '&#x10FFFF;', '&#x110000;', '&lt'],
  [']', ']]', ']]>', '<![CDATA[', '<!--', '-->', '\r', '\n', '\r\n', '\t', '\0', '\x0b', '\x1f', '\x7f', '\ufffe'],
  ['a', 'x', ' ', '41', '"', "'", 'ä', '€', '😀', '\ufeff', '?>', '<?xml version="1.0"?>', '<?a b?>'],
].flat();

test('whatever the short cut takes, the parser reads alike', () => {
  const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 3 }));
  const content = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const body = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.tuple(content, fc.constantFrom(...HEADS)).map(([inside, head]) => around(inside, head)),
    },
    { weight: 1, arbitrary: fc.tuple(content, content).map(([inside, head]) => around(inside, head)) },
    { weight: 1, arbitrary: fc.tuple(content, content).map(([inside, behind]) => `${around(inside)}${behind}`) },
  );
  let takenCount = 0;
  fc.assert(
    fc.property(body, (written) => {
      const text = plainMessageText(written);
      if (text === null) return;
      takenCount++;
      assert.equal(textByParser(written), text);
    }),
    { ...seeded, numRuns: 10_000 },
  );
  assert.ok(takenCount > 1000, `only ${takenCount} were taken`);
});
