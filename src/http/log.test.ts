import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AccessEntry, type LogMode, openLog, redactUrl } from './log.ts';

const entry: AccessEntry = {
  atMs: Date.UTC(2024, 0, 2, 3, 4, 5, 67),
  remote: '127.0.0.1',
  method: 'GET',
  url: '/acme/c/b?sv=2024-11-04&sig=c2VjcmV0&sp=r',
  status: 404,
  errorCode: 'BlobNotFound',
  operation: 'Get Blob',
  receivedBytes: 0,
  sentBytes: 215,
  durationMs: 1.2345,
  requestId: 'id-1',
};

function open(mode: LogMode): { log: ReturnType<typeof openLog>; lines: () => string[]; writes: string[] } {
  const writes: string[] = [];
  const log = openLog({ mode, sink: { write: (text: string) => writes.push(text) }, now: () => entry.atMs });
  const lines = (): string[] => {
    log.flush();
    return writes.join('').split('\n').slice(0, -1);
  };
  return { log, lines, writes };
}

test('a request is one line of text', () => {
  const { log, lines } = open('text');
  log.access(entry);
  assert.deepEqual(lines(), [
    '2024-01-02T03:04:05.067Z 127.0.0.1 GET /acme/c/b?sv=2024-11-04&sig=REDACTED&sp=r 404 BlobNotFound "Get Blob" ' +
      'in=0 out=215 1.2ms id-1',
  ]);
});

test('a request is one line of JSON', () => {
  const { log, lines } = open('json');
  log.access({ ...entry, errorCode: null });
  const line = JSON.parse(lines()[0] ?? '');
  assert.equal(line.url, '/acme/c/b?sv=2024-11-04&sig=REDACTED&sp=r');
  assert.deepEqual([line.status, line.errorCode, line.operation, line.durationMs], [404, null, 'Get Blob', 1.2]);
  assert.equal(line.time, '2024-01-02T03:04:05.067Z');
});

test('silence writes nothing', () => {
  const { log, lines } = open('silent');
  log.access(entry);
  log.info('started');
  log.error('broken', new Error('x'));
  assert.deepEqual(lines(), []);
});

test('many lines are one write, in order', () => {
  const { log, lines, writes } = open('text');
  for (let index = 0; index < 100; index++) log.info(`line ${index}`);
  assert.equal(writes.length, 0);
  assert.equal(lines().length, 100);
  assert.equal(writes.length, 1);
  assert.match(writes[0]?.split('\n')[99] ?? '', /info line 99$/);
});

test('what is gathered is written before it grows large', () => {
  const { log, writes } = open('text');
  for (let index = 0; index < 100; index++) log.info('x'.repeat(1000));
  assert.equal(writes.length, 1);
});

test('an error brings its stack and its cause', () => {
  const { log, lines } = open('json');
  log.error('Put Blob failed', new Error('cannot write', { cause: new Error('disk full') }));
  const { level, message } = JSON.parse(lines()[0] ?? '');
  assert.equal(level, 'error');
  assert.match(message, /^Put Blob failed: Error: cannot write\n +at [^]+caused by Error: disk full\n/);
});

test('secrets that an error quotes are struck out', () => {
  const { log, lines } = open('text');
  log.error(
    'https://h/c?sig=abc%3D&sp=r AccountName=a;AccountKey=c2VjcmV0Cg==;X=y Authorization: SharedKey a:c2VjcmV0',
  );
  const line = lines()[0] ?? '';
  assert.doesNotMatch(line, /abc|c2VjcmV0/);
  assert.match(line, /sig=REDACTED&sp=r AccountName=a;AccountKey=REDACTED;X=y Authorization: SharedKey REDACTED$/);
});

for (const [url, want] of [
  ['/a/b', '/a/b'],
  ['/a/b?', '/a/b?'],
  ['/a?sig=x', '/a?sig=REDACTED'],
  ['/a?SIG=x&b', '/a?SIG=REDACTED&b'],
  ['/a?%73ig=x', '/a?%73ig=REDACTED'],
  ['/a?x=1&sig=a%2Bb=&y=sig', '/a?x=1&sig=REDACTED&y=sig'],
  ['/a?%zz=1&sig=x', '/a?%zz=1&sig=REDACTED'],
] as const) {
  test(`${url} is logged as ${want}`, () => {
    assert.equal(redactUrl(url), want);
  });
}

test('a client cannot break a line of the log', () => {
  const { log, lines } = open('text');
  log.access({ ...entry, url: '/a\n2024 forged \u00e9', method: 'G\rT' });
  assert.equal(lines().length, 1);
  assert.match(lines()[0] ?? '', / G%0dT \/a%0a2024%20forged%20%e9 404 /);
});
