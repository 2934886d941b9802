import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { seeded } from '../../../test/harness/random.ts';
import type { Message } from '../../rules/message.ts';
import { NEVER_MS } from '../../rules/message.ts';
import type { GotMessage } from '../../service/queue/hand-out.ts';
import { StorageError } from '../../service/storage-error.ts';
import { parseXml } from '../xml.ts';
import { parseMessageText, renderGotMessages, renderPeekedMessages, renderPutMessage } from './message-xml.ts';
import { renderPopReceipt } from './pop-receipt.ts';

const NEW = '2024-11-04';
const parse = (body: string) => parseMessageText(Buffer.from(body));

describe('a message that is sent', () => {
  for (const [what, body, want] of [
    ['as clients send it', '<QueueMessage><MessageText>a &amp; b</MessageText></QueueMessage>', 'a & b'],
    [
      'laid out over lines',
      '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<QueueMessage>\n  <MessageText> a\r\n</MessageText>\n</QueueMessage>\n',
      ' a\n',
    ],
    ['with an empty element', '<QueueMessage><MessageText/></QueueMessage>', ''],
    [
      'with a CDATA section',
      '<QueueMessage><MessageText>a<![CDATA[<b>&amp;]]></MessageText></QueueMessage>',
      'a<b>&amp;',
    ],
    ['with markup, which is dropped', '<QueueMessage><MessageText>a<b>c</b>d<e/></MessageText></QueueMessage>', 'ad'],
    ['with a comment', '<QueueMessage><MessageText>a<!-- b -->c</MessageText></QueueMessage>', 'ac'],
    ['with other elements', '<QueueMessage><Other>x</Other><MessageText>a</MessageText></QueueMessage>', 'a'],
    ['with an attribute', '<QueueMessage xmlns="x"><MessageText>a</MessageText></QueueMessage>', 'a'],
  ] as const) {
    test(`${what} is ${JSON.stringify(want)}`, () => assert.equal(parse(body), want));
  }

  for (const [what, body, want] of [
    ['without a body', '', 'InvalidXmlDocument'],
    ['as plain text', 'hello', 'InvalidXmlDocument'],
    ['under another root', '<Message><MessageText>a</MessageText></Message>', 'InvalidXmlDocument'],
    ['in other letters', '<queuemessage><messagetext>a</messagetext></queuemessage>', 'InvalidXmlDocument'],
    ['without a text', '<QueueMessage></QueueMessage>', 'MissingRequiredXmlNode'],
    [
      'with the text a level too deep',
      '<QueueMessage><a><MessageText>x</MessageText></a></QueueMessage>',
      'MissingRequiredXmlNode',
    ],
    [
      'with a character that XML forbids',
      '<QueueMessage><MessageText>\u0001</MessageText></QueueMessage>',
      'InvalidXmlDocument',
    ],
    ['with one by reference', '<QueueMessage><MessageText>&#1;</MessageText></QueueMessage>', 'InvalidXmlDocument'],
    [
      'with one beside markup',
      '<QueueMessage><MessageText><b/>\uffff</MessageText></QueueMessage>',
      'InvalidXmlDocument',
    ],
    ['with a bare ampersand', '<QueueMessage><MessageText>a & b</MessageText></QueueMessage>', 'InvalidXmlDocument'],
    ['with an element left open', '<QueueMessage><MessageText>a</QueueMessage>', 'InvalidXmlDocument'],
    [
      'with a document type',
      '<!DOCTYPE a><QueueMessage><MessageText>a</MessageText></QueueMessage>',
      'InvalidXmlDocument',
    ],
  ] as const) {
    test(`${what} is refused as ${want}`, () => {
      assert.throws(
        () => parse(body),
        (error) => error instanceof StorageError && error.code === want,
      );
    });
  }

  test('in bytes that are no UTF-8 is refused', () => {
    const body = Buffer.from('<QueueMessage><MessageText>\xe9</MessageText></QueueMessage>', 'latin1');
    assert.throws(
      () => parseMessageText(body),
      (error) => error instanceof StorageError && error.code === 'InvalidXmlDocument',
    );
  });
});

const PLACE = { visibleMs: Date.UTC(2025, 0, 1, 0, 0, 30), tick: '0190b3c4d5e6000700a1b2c3' };
const RECEIPT = renderPopReceipt(PLACE);
const MESSAGE: Message = {
  messageId: '5974b586-0df3-4e2d-ad0c-18e3892bfca2',
  insertedMs: Date.UTC(2025, 0, 1, 0, 0, 0, 999),
  expiresMs: NEVER_MS,
  dequeueCount: 2,
};
const got = (text: string, message: Message = MESSAGE): GotMessage => ({
  message,
  text,
  place: PLACE,
  nextVisibleMs: PLACE.visibleMs,
});

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';
const HEAD =
  '<MessageId>5974b586-0df3-4e2d-ad0c-18e3892bfca2</MessageId><InsertionTime>Wed, 01 Jan 2025 00:00:00 GMT</InsertionTime>' +
  '<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>';
const HELD = `<PopReceipt>${RECEIPT}</PopReceipt><TimeNextVisible>Wed, 01 Jan 2025 00:00:30 GMT</TimeNextVisible>`;

const listOf = (...messages: string[]): string =>
  `${DECLARATION}<QueueMessagesList>${messages.map((inside) => `<QueueMessage>${inside}</QueueMessage>`).join('')}</QueueMessagesList>`;

test('Put Message tells where the message stands, and not its text', () => {
  assert.equal(renderPutMessage(got('a')), listOf(`${HEAD}${HELD}`));
});

test('Get Messages tells everything', () => {
  assert.equal(
    renderGotMessages([got('a'), got('')], NEW),
    listOf(
      `${HEAD}${HELD}<DequeueCount>2</DequeueCount><MessageText>a</MessageText>`,
      `${HEAD}${HELD}<DequeueCount>2</DequeueCount><MessageText />`,
    ),
  );
});

test('Peek Messages tells no receipt and no time', () => {
  assert.equal(
    renderPeekedMessages([got('a')], NEW),
    listOf(`${HEAD}<DequeueCount>2</DequeueCount><MessageText>a</MessageText>`),
  );
});

test('before 2009-09-19 nobody was told how often a message was handed out', () => {
  assert.equal(renderGotMessages([got('a')], '2009-07-17'), listOf(`${HEAD}${HELD}<MessageText>a</MessageText>`));
  assert.equal(renderPeekedMessages([got('a')], '2009-07-17'), listOf(`${HEAD}<MessageText>a</MessageText>`));
  assert.match(renderPeekedMessages([got('a')], '2009-09-19'), /<DequeueCount>2</);
});

test('where there is no message the list is one empty element', () => {
  assert.equal(renderGotMessages([], NEW), `${DECLARATION}<QueueMessagesList />`);
  assert.equal(renderPeekedMessages([], NEW), `${DECLARATION}<QueueMessagesList />`);
});

test('each message has its own times', () => {
  const later: Message = { ...MESSAGE, insertedMs: MESSAGE.insertedMs + 1, expiresMs: Date.UTC(2025, 0, 8) };
  const rendered = renderPeekedMessages([got('a'), got('b', later), got('c')], NEW);
  const times = [...rendered.matchAll(/<(?:Insertion|Expiration)Time>([^<]+)</g)].map(([, time]) => time);
  assert.deepEqual(times, [
    'Wed, 01 Jan 2025 00:00:00 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Wed, 01 Jan 2025 00:00:01 GMT',
    'Wed, 08 Jan 2025 00:00:00 GMT',
    'Wed, 01 Jan 2025 00:00:00 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
  ]);
});

const textsIn = (list: string): string[] =>
  parseXml(list).children.map(({ children }) => children.find(({ name }) => name === 'MessageText')?.text as string);

describe('a text comes out of a list as it went in:', () => {
  for (const text of [
    ' \t leading and trailing \n ',
    '<a b="c">&amp;</a>',
    ']]>',
    'a\rb\r\nc\n',
    '\ud83d\ude00 \u0085\u2028\ufeff\ufffd',
    '\u{1fffe}\u{10ffff}',
  ]) {
    test(JSON.stringify(text), () => {
      assert.deepEqual(textsIn(renderGotMessages([got(text)], NEW)), [text]);
      assert.deepEqual(textsIn(renderPeekedMessages([got(text)], NEW)), [text]);
    });
  }

  test('whatever it is', () => {
    // oxlint-disable-next-line no-control-regex -- what XML cannot carry
    const text = fc
      .string({ unit: 'binary' })
      .filter((candidate) => !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(candidate));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const list = renderGotMessages(
          texts.map((each) => got(each)),
          NEW,
        );
        assert.deepEqual(textsIn(list), texts);
      }),
      seeded,
    );
  });
});
