/** Requests that no client should send: each is refused as documented, loses nothing, and the server serves the next one. */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { firstStatus, headOf, type RawRequest, sendBytes } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';
import { freshQueue } from '../harness/queue-clients.ts';
import { assertRefused, messageOf, messagesPath, type QueueResponse, sendQueue } from '../harness/queue-http.ts';

const server = await startInProcess();
const queue = await freshQueue(server);
const witness = await queue.sendMessage('still here');

const raw = (request: RawRequest): Promise<QueueResponse> => sendQueue(server.queueUrl, request);

afterEach(async () => {
  const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
  assert.deepEqual(
    peekedMessageItems.map(({ messageId, messageText, dequeueCount }) => [messageId, messageText, dequeueCount]),
    [[witness.messageId, 'still here', 0]],
    'the server still serves, and nothing has changed',
  );
});

type Words = Readonly<Record<string, string>>;
const pathOf = (words: Words, id = ''): string => messagesPath(queue.name, words, id);
const OPERATIONS = {
  Put: (words) => ({ method: 'POST', path: pathOf(words), body: messageOf('x') }),
  Get: (words) => ({ method: 'GET', path: pathOf(words) }),
  Peek: (words) => ({ method: 'GET', path: pathOf({ peekonly: 'true', ...words }) }),
  Update: (words) => ({ method: 'PUT', path: pathOf(words, witness.messageId) }),
  Delete: (words) => ({ method: 'DELETE', path: pathOf(words, witness.messageId) }),
} as const satisfies Readonly<Record<string, (words: Words) => RawRequest>>;
const RECEIPT = { popreceipt: witness.popReceipt };
const WEEK = '604800';

describe('a number', () => {
  for (const [operation, word, values, [minimum, maximum], others] of [
    ['Put', 'visibilitytimeout', ['-1', '604801', '2147483647'], ['0', WEEK], { messagettl: '-1' }],
    ['Get', 'visibilitytimeout', ['0', '-1', '604801'], ['1', WEEK], {}],
    ['Get', 'numofmessages', ['0', '33', '-1', '1000'], ['1', '32'], {}],
    ['Peek', 'numofmessages', ['0', '33', '-1'], ['1', '32'], {}],
    ['Update', 'visibilitytimeout', ['-1', '604801'], ['0', WEEK], RECEIPT],
  ] as const) {
    for (const value of values) {
      test(`out of range, ${word}=${value} of ${operation}, gets 400 with what is allowed`, async () => {
        const request = OPERATIONS[operation]({ ...others, [word]: value });
        assertRefused(await raw(request), '400 OutOfRangeQueryParameterValue', {
          QueryParameterName: word,
          QueryParameterValue: value,
          MinimumAllowed: minimum,
          MaximumAllowed: maximum,
        });
      });
    }
  }

  for (const [operation, word, others] of [
    ['Put', 'visibilitytimeout', {}],
    ['Put', 'messagettl', {}],
    ['Get', 'visibilitytimeout', {}],
    ['Get', 'numofmessages', {}],
    ['Peek', 'numofmessages', {}],
    ['Update', 'visibilitytimeout', RECEIPT],
  ] as const) {
    for (const value of ['x', '1.5', '', '0x10', '1e3', ' 1', '99999999999999999999', '\u{1faa8}']) {
      test(`that is none, ${word}=${value} of ${operation}, gets 400`, async () => {
        const request = OPERATIONS[operation]({ ...others, [word]: value });
        assertRefused(await raw(request), '400 InvalidQueryParameterValue', {
          QueryParameterName: word,
          QueryParameterValue: value,
        });
      });
    }
  }

  for (const value of ['0', '-2', '-604800']) {
    test(`that is no time to live, ${value}, gets 400`, async () => {
      assertRefused(await raw(OPERATIONS.Put({ messagettl: value })), '400 InvalidQueryParameterValue', {
        QueryParameterName: 'messagettl',
        QueryParameterValue: value,
      });
    });
  }
});

describe('a number of old versions', () => {
  const OUT_OF_RANGE = '400 OutOfRangeQueryParameterValue';
  const INVALID = '400 InvalidQueryParameterValue';
  for (const [operation, word, value, version, want, elements] of [
    ['Put', 'messagettl', '604801', '2017-04-17', OUT_OF_RANGE, { MinimumAllowed: '1', MaximumAllowed: WEEK }],
    ['Put', 'messagettl', '-1', '2017-04-17', INVALID, {}],
    ['Put', 'messagettl', '0', '2017-04-17', INVALID, {}],
    ['Get', 'visibilitytimeout', '7201', '2009-09-19', OUT_OF_RANGE, { MinimumAllowed: '1', MaximumAllowed: '7200' }],
  ] as const) {
    test(`${word}=${value} of ${operation} in ${version} gets ${want}`, async () => {
      const request = OPERATIONS[operation]({ [word]: value });
      const answer = await raw({ ...request, headers: { 'x-ms-version': version } });
      assertRefused(answer, want, { QueryParameterName: word, QueryParameterValue: value, ...elements });
    });
  }
});

describe('a receipt', () => {
  for (const [operation, words, missing] of [
    ['Update', { visibilitytimeout: '1' }, 'popreceipt'],
    ['Update', RECEIPT, 'visibilitytimeout'],
    ['Delete', {}, 'popreceipt'],
  ] as const) {
    test(`or timeout that ${operation} needs and has not got, ${missing}, gets 400`, async () => {
      const answer = await raw(OPERATIONS[operation](words));
      assertRefused(answer, '400 MissingRequiredQueryParameter', { QueryParameterName: missing });
    });
  }

  for (const [operation, others] of [
    ['Update', { visibilitytimeout: '1' }],
    ['Delete', {}],
  ] as const) {
    for (const [what, popreceipt] of [
      ['nothing', ''],
      ['a letter', 'x'],
      ['a NUL', '\0'],
      ['a receipt of another service', 'AgAAAAMAAAAAAAAA5yIYwr8h1wE='],
      ['a receipt and more', `${witness.popReceipt}x`],
      ['a receipt without its end', witness.popReceipt.slice(0, -1)],
      ['something long', 'x'.repeat(2_000)],
      ['a stone', '\u{1faa8}'],
    ] as const) {
      test(`that is none, but ${what}, gets 400 from ${operation}`, async () => {
        const answer = await raw(OPERATIONS[operation]({ ...others, popreceipt }));
        assertRefused(answer, '400 InvalidQueryParameterValue', { QueryParameterName: 'popreceipt' });
      });
    }

    for (const id of ['not-a-guid', '%F0%9F%AA%A8', '00000000-0000-0000-0000-000000000000', `${witness.messageId}0`]) {
      test(`with the id of no message, ${decodeURIComponent(id)}, finds none for ${operation}`, async () => {
        const { method } = OPERATIONS[operation]({});
        const answer = await raw({ method, path: pathOf({ ...others, ...RECEIPT }, id) });
        assertRefused(answer, '404 MessageNotFound');
      });
    }
  }
});

describe('peekonly', () => {
  test('that is neither true nor false takes no message', async () => {
    for (const word of ['x', '1', '']) {
      const { outcome } = await raw({ method: 'GET', path: `/${queue.name}/messages?peekonly=${word}` });
      assert.equal(outcome, '400 InvalidQueryParameterValue', word);
    }
  });
});

const wrapped = (inside: string): string => `<QueueMessage><MessageText>${inside}</MessageText></QueueMessage>`;

describe('XML', () => {
  const documents: [string, string | Uint8Array, string][] = [
    ['text', 'not xml at all', '400 InvalidXmlDocument'],
    ['an open tag', '<QueueMessage><MessageText>', '400 InvalidXmlDocument'],
    ['tags that cross', '<QueueMessage><MessageText></QueueMessage></MessageText>', '400 InvalidXmlDocument'],
    ['a second root', `${messageOf('a')}${messageOf('b')}`, '400 InvalidXmlDocument'],
    ['another root', '<Surprise><MessageText>x</MessageText></Surprise>', '400 InvalidXmlDocument'],
    ['an unknown entity', wrapped('&nobody;'), '400 InvalidXmlDocument'],
    ['a bare ampersand', wrapped('a & b'), '400 InvalidXmlDocument'],
    ['the end of a section without its beginning', wrapped('a]]>b'), '400 InvalidXmlDocument'],
    [
      'an entity bomb',
      `<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&a;&a;&a;">]>${wrapped('&c;')}`,
      '400 InvalidXmlDocument',
    ],
    [
      'an external entity',
      `<!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]>${wrapped('&x;')}`,
      '400 InvalidXmlDocument',
    ],
    ['a NUL', wrapped('\0'), '400 InvalidXmlDocument'],
    ['a control character', wrapped('a\u0001b'), '400 InvalidXmlDocument'],
    ['a reference to a NUL', wrapped('&#0;'), '400 InvalidXmlDocument'],
    ['a reference to a control character', wrapped('&#x1F;'), '400 InvalidXmlDocument'],
    ['a reference to half a character', wrapped('&#xD800;'), '400 InvalidXmlDocument'],
    ['a reference beyond all characters', wrapped('&#x110000;'), '400 InvalidXmlDocument'],
    ['a character that is none', wrapped('\ufffe'), '400 InvalidXmlDocument'],
    ['bytes that are no UTF-8', Buffer.from(wrapped('\u00ff'), 'latin1'), '400 InvalidXmlDocument'],
    ['deep nesting', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`, '400 InvalidXmlDocument'],
    ['no text element', '<QueueMessage/>', '400 MissingRequiredXmlNode'],
    ['another element', '<QueueMessage><Text>x</Text></QueueMessage>', '400 MissingRequiredXmlNode'],
  ];
  for (const [operation, words] of [
    ['Put', {}],
    ['Update', { ...RECEIPT, visibilitytimeout: '0' }],
  ] as const) {
    for (const [what, body, want] of documents) {
      test(`with ${what} is refused by ${operation} Message`, async () => {
        const answer = await raw({ ...OPERATIONS[operation](words), body });
        assertRefused(answer, want);
        assert.doesNotMatch(answer.body.toString(), /root:/);
      });
    }
  }

  test('that is not there is refused by Put Message', async () => {
    const { method, path } = OPERATIONS.Put({});
    const answer = await raw({ method, path });
    assert.match(answer.outcome, /^400 /);
    assertRefused(answer, answer.outcome);
  });

  for (const [operation, path] of [
    ['Set Queue ACL', `/${queue.name}?comp=acl`],
    ['Set Service Properties', '/?restype=service&comp=properties'],
  ] as const) {
    for (const [what, body] of documents) {
      test(`with ${what} is refused by ${operation}`, async () => {
        const { status } = await raw({ method: 'PUT', path, body });
        assert.ok(status === 400 || (status === 413 && body.length > 10_000), String(status));
      });
    }
  }
});

describe('a body', () => {
  const path = `/${queue.name}/messages`;
  for (const [what, lengthBytes] of [
    ['a little too long', 65_537],
    ['much too long', 10 * 1024 * 1024],
  ] as const) {
    test(`that is ${what} gets 413 with a limit`, async () => {
      const answer = await raw({ method: 'POST', path, body: messageOf('x'.repeat(lengthBytes)) });
      assertRefused(answer, '413 RequestBodyTooLarge');
      assert.match(answer.body.toString(), /<MaxLimit>\d+<\/MaxLimit>/);
    });
  }

  test('that is said to be endless is refused before it comes', async () => {
    const headers = { 'content-length': String(10 ** 12), connection: 'close' };
    const received = await sendBytes(server.queueUrl, headOf(server.queueUrl, { method: 'POST', path, headers }));
    assert.equal(firstStatus(received), 413);
  });

  test('that ends too early puts no message', async () => {
    const body = messageOf('half');
    const headers = { 'content-length': String(body.length + 1_000) };
    const head = headOf(server.queueUrl, { method: 'POST', path, headers });
    await sendBytes(server.queueUrl, `${head}${body}`, { halfClose: true });
    assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
  });
});

describe('a path', () => {
  for (const path of [
    '/%',
    '/%zz',
    '/%ff',
    '//messages',
    `/${queue.name}//`,
    `/${queue.name}/messages//`,
    '/..',
    '/%2e%2e/messages',
  ]) {
    test(`such as ${path} gets 400`, async () => {
      const answer = await raw({ method: 'GET', path });
      assert.equal(answer.status, 400);
      assertRefused(answer, answer.outcome);
    });
  }
});
