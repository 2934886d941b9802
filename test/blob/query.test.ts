/** Query Blob Contents, as the official client asks it and as it can be asked wrongly. */
// engines: embedded
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import {
  type BlobQueryError,
  BlobSASPermissions,
  BlockBlobClient as BlockBlob,
  type BlockBlobClient,
  type BlockBlobQueryOptions,
} from '@azure/storage-blob';
import { blobService, freshContainer, NO_RETRIES, refusal } from '../harness/clients.ts';
import { type RawResponse, send } from '../harness/http.ts';
import { startInProcess } from '../harness/in-process.ts';

const server = await startInProcess();
const service = blobService(server);
const container = await freshContainer(service, 'query');

async function upload(content: string | Buffer): Promise<BlockBlobClient> {
  const client = container.getBlockBlobClient(randomUUID());
  await client.uploadData(Buffer.from(content as string));
  return client;
}

interface Answer {
  readonly text: string;
  readonly errors: readonly BlobQueryError[];
  readonly progress: readonly number[];
}

async function ask(client: BlockBlobClient, text: string, options: BlockBlobQueryOptions = {}): Promise<Answer> {
  const errors: BlobQueryError[] = [];
  const progress: number[] = [];
  const response = await client.query(text, {
    ...options,
    onError: (error) => errors.push(error),
    onProgress: ({ loadedBytes }) => progress.push(loadedBytes),
  });
  const pieces: Buffer[] = [];
  for await (const piece of response.readableStreamBody as AsyncIterable<Buffer>) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString(), errors, progress };
}

const HEADERS: BlockBlobQueryOptions['inputTextConfiguration'] = {
  kind: 'csv',
  recordSeparator: '\n',
  columnSeparator: ',',
  fieldQuote: '"',
  hasHeaders: true,
};
const JSON_LINES = { kind: 'json', recordSeparator: '\n' } as const;

const NUMBERS = '100,200,300,400\n150,250,350,450\n';
const SALES =
  'Month,Product,"Unit Price",Sold\nJanuary,Mouse,12.50,3\nJanuary,"Key, Board",40,1\nMay,Käse 🧀,7.25,12\nJune,Cable\n';

const target = await upload(NUMBERS);

describe('delimited text', () => {
  test('is given as it is by SELECT *', async () => {
    assert.equal((await ask(await upload(NUMBERS), 'select * from BlobStorage')).text, NUMBERS);
  });

  test('is filtered and cut down to columns', async () => {
    const client = await upload(NUMBERS);
    assert.equal((await ask(client, 'SELECT _2 from BlobStorage WHERE _1 > 100;')).text, '250\n');
    assert.equal((await ask(client, 'SELECT _2 from BlobStorage WHERE _1 > 200')).text, '');
  });

  test('with lines that end in CRLF comes back with line feeds', async () => {
    assert.equal((await ask(await upload('a,b\r\nc,d\r\n'), 'SELECT * from BlobStorage')).text, 'a,b\nc,d\n');
  });

  test('with headers is asked by the names in them', async () => {
    const { text } = await ask(
      await upload(SALES),
      `SELECT product, CAST("Unit Price" AS FLOAT) * sold AS total FROM BlobStorage
       WHERE Month IN ('January', 'May') AND Sold IS NOT MISSING`,
      { inputTextConfiguration: HEADERS, outputTextConfiguration: HEADERS },
    );
    assert.equal(text, 'product,total\nMouse,37.5\n"Key, Board",40\nKäse 🧀,87\n');
  });

  test('becomes JSON', async () => {
    const { text } = await ask(await upload(SALES), 'SELECT Product, Sold, _1 FROM BlobStorage LIMIT 1', {
      inputTextConfiguration: HEADERS,
      outputTextConfiguration: JSON_LINES,
    });
    assert.equal(text, '{"Product":"Mouse","Sold":"3","_3":"January"}\n');
    const plain = await ask(await upload(NUMBERS), 'SELECT * FROM BlobStorage LIMIT 1', {
      outputTextConfiguration: { kind: 'json', recordSeparator: ';' },
    });
    assert.equal(plain.text, '{"_1":"100","_2":"200","_3":"300","_4":"400"};');
  });

  test('has the separators that the request names, in and out', async () => {
    const client = await upload('100.200.300.400!150.250.350.450!180.280.380.480!');
    const { text } = await ask(client, 'select _1, _2 from BlobStorage', {
      inputTextConfiguration: { kind: 'csv', recordSeparator: '!', columnSeparator: '.', hasHeaders: true },
      outputTextConfiguration: { kind: 'csv', recordSeparator: '<&>', columnSeparator: '\t' },
    });
    assert.equal(text, '150\t250<&>180\t280<&>');
  });

  test('that was cut anywhere when it was uploaded is read as one', async () => {
    const client = container.getBlockBlobClient(randomUUID());
    const bytes = Buffer.from(SALES);
    const ids: string[] = [];
    for (let at = 0; at < bytes.length; at += 7) {
      const id = Buffer.from(String(at).padStart(6, '0')).toString('base64');
      await client.stageBlock(id, bytes.subarray(at, at + 7), Math.min(7, bytes.length - at));
      ids.push(id);
    }
    await client.commitBlockList(ids);
    assert.equal(
      (await ask(client, 'SELECT * FROM BlobStorage', { inputTextConfiguration: HEADERS })).text,
      SALES.slice(32),
    );
  });

  test('is counted, summed and averaged', async () => {
    const { text } = await ask(
      await upload(SALES),
      'SELECT COUNT(*), SUM(Sold), AVG("Unit Price"), MIN("Unit Price"), MAX(Month) FROM BlobStorage WHERE Sold IS NOT MISSING',
      { inputTextConfiguration: HEADERS },
    );
    assert.equal(text, '3,16,19.916666666666668,7.25,May\n');
  });
});

/** One record, with integers of any length. */
const line = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `#${one}#` : one)).replaceAll(/"#|#"/g, '');

describe('JSON', () => {
  const CATALOG = [
    {
      id: 1,
      name: 'mouse',
      tags: ['wireless', 'accessory'],
      dimensions: { length: 3 },
      warehouses: [{ latitude: 41.8 }],
    },
    {
      id: 12345678901234567890n,
      name: 'key "board"',
      dimensions: { length: 40 },
      warehouses: [{ latitude: 1 }, { latitude: 2 }],
    },
    { id: 3, price: null },
  ];
  const LINES = CATALOG.map((value) => `${line(value)}\n`).join('');
  const both = { inputTextConfiguration: JSON_LINES, outputTextConfiguration: JSON_LINES };

  for (const [what, text, want] of [
    ['is given as it is by SELECT *', 'SELECT * FROM BlobStorage', LINES],
    [
      'is cut down to members',
      'SELECT id, name FROM BlobStorage',
      '{"id":1,"name":"mouse"}\n{"id":12345678901234567890,"name":"key \\"board\\""}\n{"id":3}\n',
    ],
    [
      'is filtered by members of members',
      'SELECT id FROM BlobStorage[*] WHERE dimensions.length > 3',
      '{"id":12345678901234567890}\n',
    ],
    [
      'has rows inside of records',
      'SELECT latitude FROM BlobStorage[*].warehouses[*]',
      '{"latitude":41.8}\n{"latitude":1}\n{"latitude":2}\n',
    ],
    [
      'tells what is missing from what is null',
      'SELECT id FROM BlobStorage WHERE price IS NULL AND price IS NOT MISSING',
      '{"id":3}\n',
    ],
    [
      'gives items of arrays',
      'SELECT tags[1], warehouses[0].latitude FROM BlobStorage LIMIT 1',
      '{"_1":"accessory","latitude":41.8}\n',
    ],
    ['is counted', 'SELECT COUNT(name) AS names FROM BlobStorage', '{"names":2}\n'],
  ] as const) {
    test(what, async () => assert.equal((await ask(await upload(LINES), text, both)).text, want));
  }

  test('of one array, on many lines, has its items as records', async () => {
    const client = await upload(JSON.stringify([{ a: 1 }, { a: 2 }], null, 2));
    assert.equal((await ask(client, 'SELECT a FROM BlobStorage WHERE a > 1', both)).text, '{"a":2}\n');
  });

  test('becomes delimited text', async () => {
    const { text } = await ask(await upload(LINES), 'SELECT id, name, tags FROM BlobStorage', {
      inputTextConfiguration: JSON_LINES,
    });
    assert.equal(text, '1,mouse,"[""wireless"",""accessory""]"\n12345678901234567890,"key ""board""",\n3,,\n');
  });
});

describe('errors in the data', () => {
  test('are told beside the results, and the query goes on', async () => {
    const { text, errors } = await ask(
      await upload('100,hello,300\n150,250,350\n'),
      'select _2 from BlobStorage where _2 > 100',
    );
    assert.equal(text, '250\n');
    assert.deepEqual(errors, [
      { name: 'InvalidTypeConversion', isFatal: false, description: 'Invalid type conversion.', position: 0 },
    ]);
  });

  test('end the query where the data cannot be understood any more', async () => {
    const { text, errors, progress } = await ask(await upload(NUMBERS), 'select * from BlobStorage', {
      inputTextConfiguration: JSON_LINES,
    });
    assert.equal(text, '\n');
    assert.deepEqual(errors, [
      {
        name: 'ParseError',
        isFatal: true,
        description: "Unexpected token ',' at [byte: 3]. Expecting tokens '{', or '['.",
        position: 0,
      },
    ]);
    assert.equal(progress.at(-1), NUMBERS.length, 'the answer is complete');
  });

  test('name a row that is too short', async () => {
    const { errors } = await ask(await upload(SALES), 'SELECT Sold FROM BlobStorage', {
      inputTextConfiguration: HEADERS,
    });
    assert.deepEqual(
      errors.map(({ name, isFatal }) => [name, isFatal]),
      [['InvalidColumnOrdinal', false]],
    );
  });
});

describe('the answer', () => {
  test('has the headers of the blob, but those that tell of its bytes', async () => {
    const client = container.getBlockBlobClient(randomUUID());
    await client.upload(NUMBERS, NUMBERS.length, {
      blobHTTPHeaders: { blobContentType: 'text/csv', blobContentEncoding: 'gzip', blobCacheControl: 'no-cache' },
      metadata: { colour: 'blue' },
    });
    const { etag } = await client.getProperties();
    const response = await client.query('SELECT * FROM BlobStorage');
    response.readableStreamBody?.resume();
    assert.equal(response.contentType, 'avro/binary');
    assert.equal(response.contentEncoding, undefined);
    assert.equal(response.contentLength, undefined);
    assert.equal(response.cacheControl, 'no-cache');
    assert.equal(response.etag, etag);
    assert.equal(response.blobType, 'BlockBlob');
    assert.equal(response.leaseState, 'available');
    assert.deepEqual(response.metadata, { colour: 'blue' });
    assert.ok(response.lastModified instanceof Date);
  });

  test('of an empty blob is empty', async () => {
    const { text, progress } = await ask(await upload(''), 'SELECT * FROM BlobStorage');
    assert.deepEqual([text, progress], ['', [0, 0]]);
  });

  test('uses the time of the server', async () => {
    const { text } = await ask(await upload('x\n'), 'SELECT TO_STRING(UTCNOW()) FROM BlobStorage');
    assert.equal(text, `${new Date(server.clock.nowMs()).toISOString()}\n`);
  });

  test('is of the snapshot that was asked for', async () => {
    const client = await upload(NUMBERS);
    const { snapshot } = await client.createSnapshot();
    await client.upload('new\n', 4);
    const old = client.withSnapshot(snapshot as string);
    assert.equal((await ask(old, 'SELECT _1 FROM BlobStorage')).text, '100\n150\n');
    assert.equal((await ask(client, 'SELECT _1 FROM BlobStorage')).text, 'new\n');
  });

  test('needs a signature that may read', async () => {
    const client = await upload(NUMBERS);
    const expiresOn = new Date(server.clock.nowMs() + 3_600_000);
    const asked = async (permissions: string): Promise<string> => {
      const url = await client.generateSasUrl({ permissions: BlobSASPermissions.parse(permissions), expiresOn });
      return (await ask(new BlockBlob(url, undefined, NO_RETRIES), 'SELECT COUNT(*) FROM BlobStorage')).text;
    };
    assert.equal(await asked('r'), '2\n');
    assert.equal(await refusal(asked('w')), '403 AuthorizationPermissionMismatch');
  });
});

const postBody = (body: string): Promise<RawResponse> =>
  send(server.url, { method: 'POST', path: `/${container.containerName}/${target.name}?comp=query`, body });

const post = (inside: string, { type = 'SQL' } = {}): Promise<RawResponse> =>
  postBody(`<?xml version="1.0"?><QueryRequest><QueryType>${type}</QueryType>${inside}</QueryRequest>`);

describe('a query is refused', () => {
  const SQL = 'SELECT * FROM BlobStorage';

  test('for a blob that is not there, or is none of blocks', async () => {
    assert.equal(await refusal(container.getBlockBlobClient('nobody').query(SQL)), '404 BlobNotFound');
    const name = randomUUID();
    await container.getAppendBlobClient(name).create();
    assert.equal(await refusal(container.getBlockBlobClient(name).query(SQL)), '409 InvalidBlobType');
  });

  test('by conditions and leases as any other read', async () => {
    const client = await upload(NUMBERS);
    const { etag = '' } = await client.getProperties();
    const query = (conditions: BlockBlobQueryOptions['conditions']) =>
      client.query(SQL, { conditions: conditions ?? {} });
    assert.equal(await refusal(query({ ifMatch: '"other"' })), '412 ConditionNotMet');
    assert.equal(await refusal(query({ ifNoneMatch: etag })), '304 ConditionNotMet');
    const lease = client.getBlobLeaseClient();
    await lease.acquireLease(60);
    assert.equal(await refusal(query({ leaseId: randomUUID() })), '412 LeaseIdMismatchWithBlobOperation');
    assert.equal((await ask(client, SQL, { conditions: { leaseId: lease.leaseId, ifMatch: etag } })).text, NUMBERS);
    assert.equal((await ask(client, SQL)).text, NUMBERS);
  });

  for (const [text, message] of [
    ['SELECT * FROM', /Expected BlobStorage, found the end \(at position 14\)/],
    ['SELECT * FROM BlobStorage WHERE _1 >', /found the end \(at position 37\)/],
    ['SELECT Month FROM BlobStorage', /Without headers, the columns are named _1, _2 and so on \(at position 8\)/],
    ['DROP TABLE BlobStorage', /Expected SELECT, found .*DROP.* \(at position 1\)/],
    [`SELECT ${'('.repeat(10_000)}`, /nested too deeply/],
    ['', /Expected SELECT/],
  ] as const) {
    test(`that is ${JSON.stringify(text.slice(0, 40))}`, async () => {
      const { outcome, body } = await post(`<Expression>${text.replaceAll('>', '&gt;')}</Expression>`);
      assert.equal(outcome, '400 ErrorProcessingQueryExpression');
      assert.match(body.toString(), message);
    });
  }

  test('for a column that the header does not have', async () => {
    const query = (await upload(SALES)).query('SELECT Year FROM BlobStorage', { inputTextConfiguration: HEADERS });
    await assert.rejects(query, /There is no column "Year" \(at position 8\)/);
  });

  const select = `<Expression>${SQL}</Expression>`;
  const format = (inside: string, where = 'Input'): string =>
    `${select}<${where}Serialization><Format>${inside}</Format></${where}Serialization>`;
  const delimited = (inside: string): string =>
    format(`<Type>delimited</Type><DelimitedTextConfiguration>${inside}</DelimitedTextConfiguration>`);

  for (const [what, request, want] of [
    ['without a body', () => postBody(''), '400 InvalidXmlDocument'],
    ['that is no XML', () => postBody('SELECT 1'), '400 InvalidXmlDocument'],
    ['with another root', () => postBody('<Query/>'), '400 InvalidXmlDocument'],
    ['without a type', () => postBody(`<QueryRequest>${select}</QueryRequest>`), '400 MissingRequiredXmlNode'],
    ['of another type', () => post(select, { type: 'KQL' }), '400 InvalidXmlNodeValue'],
    ['without an expression', () => post(''), '400 MissingRequiredXmlNode'],
    [
      'with too long an expression',
      () => post(`<Expression>${SQL}${' '.repeat(256 * 1024)}</Expression>`),
      '400 InvalidXmlNodeValue',
    ],
    [
      'with too long a body',
      () => post(`<Expression>${SQL}${' '.repeat(600 * 1024)}</Expression>`),
      '413 RequestBodyTooLarge',
    ],
    ['of data without a type', () => post(format('')), '400 MissingRequiredXmlNode'],
    ['of data of an unknown type', () => post(format('<Type>xlsx</Type>')), '400 InvalidXmlNodeValue'],
    ['of Parquet', () => post(format('<Type>parquet</Type>')), '400 InvalidXmlNodeValue'],
    ['for Arrow', () => post(format('<Type>arrow</Type>', 'Output')), '400 InvalidXmlNodeValue'],
    ['with a quote of two characters', () => post(delimited('<FieldQuote>ab</FieldQuote>')), '400 InvalidXmlNodeValue'],
    [
      'with one separator for all',
      () => post(delimited('<ColumnSeparator>\n</ColumnSeparator>')),
      '400 InvalidXmlNodeValue',
    ],
    ['with headers perhaps', () => post(delimited('<HasHeaders>perhaps</HasHeaders>')), '400 InvalidXmlNodeValue'],
  ] as const) {
    test(`${what}: ${want}`, async () => assert.equal((await request()).outcome, want));
  }

  test('of a format that is not known with the names of those that are', async () => {
    assert.match((await post(format('<Type>parquet</Type>'))).body.toString(), /the formats delimited and json/);
  });

  test('but not for elements that are left out or empty', async () => {
    for (const inside of [
      select,
      format('<Type>csv</Type>'),
      delimited(''),
      delimited('<RecordSeparator/><FieldQuote/><EscapeChar/>'),
    ]) {
      const { status, body, headers } = await post(inside);
      assert.equal(status, 200);
      assert.equal(headers['content-type'], 'avro/binary');
      assert.ok(body.includes(NUMBERS));
    }
  });
});

describe('a blob of 30 MiB', () => {
  const ROWS = 30 * 1024 * 32;
  const LINE_BYTES = 32;
  const lineOf = (index: number): string =>
    `${String(index).padStart(10, '0')},${'x'.repeat(16)},${index % 100}`.padEnd(LINE_BYTES - 1, ' ');
  const bytes = Buffer.from(Array.from({ length: ROWS }, (_, index) => `${lineOf(index)}\n`).join(''));
  const client = container.getBlockBlobClient('big');

  test('is scanned to its end, and tells its progress', async () => {
    await client.uploadData(bytes, { blockSize: 4_000_000, maxSingleShotSize: 1 });
    const { text, progress } = await ask(client, 'SELECT COUNT(*), SUM(_1) FROM BlobStorage WHERE _3 = 7');
    const found = Array.from({ length: ROWS / 100 + 1 }, (_, index) => index * 100 + 7).filter((index) => index < ROWS);
    assert.equal(text, `${found.length},${found.reduce((sum, index) => sum + index, 0)}\n`);
    assert.ok(progress.length >= 8, `${progress.length} times`);
    assert.deepEqual(
      progress.toSorted((a, b) => a - b),
      progress,
    );
    assert.deepEqual(progress.slice(-2), [bytes.length, bytes.length]);
  });

  test('is given whole', async () => {
    assert.ok(Buffer.from((await ask(client, 'SELECT * FROM BlobStorage')).text).equals(bytes));
  });

  test('is left alone as soon as there are rows enough', async () => {
    const { text, progress } = await ask(client, 'SELECT _1 FROM BlobStorage WHERE _1 >= 1000 LIMIT 2');
    assert.equal(text, '0000001000\n0000001001\n');
    const [scannedBytes = 0] = progress;
    assert.ok(scannedBytes < bytes.length / 4, `${scannedBytes} bytes were read`);
    assert.equal(progress.at(-1), bytes.length);
  });

  test('is let go of by a client that leaves, and can be asked again', async () => {
    const leaving = new AbortController();
    const response = await client.query('SELECT * FROM BlobStorage', { abortSignal: leaving.signal });
    const body = response.readableStreamBody as Readable;
    await assert.rejects(async () => {
      for await (const piece of body) {
        assert.ok((piece as Buffer).length > 0);
        leaving.abort();
        // From Node 22 on, the client's stream does not notice by itself.
        body.destroy(new Error('left'));
      }
    });
    assert.equal((await ask(client, 'SELECT COUNT(*) FROM BlobStorage')).text, `${ROWS}\n`);
  });
});
