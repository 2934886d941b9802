/**
 * Part of an object, streamed. A connection that breaks half-way is no end: the rest is asked for again, from where it
 * was, a few times.
 */
import { type ByteRange, ContentUnavailable, ExtentMissing } from '../content.ts';
import { type Answer, ConnectionLost } from './exchange.ts';
import { errorCodeIn, type S3Client, type S3Request } from './s3-client.ts';

const ERROR_BYTES_MAX = 64 * 1024;

export async function* readObject(
  client: S3Client,
  key: string,
  { offsetBytes, lengthBytes }: ByteRange,
): AsyncGenerator<Uint8Array> {
  const endBytes = offsetBytes + lengthBytes;
  let atBytes = offsetBytes;
  for (let breakCount = 0; ; breakCount++) {
    const answer = await openRange(client, key, { offsetBytes: atBytes, lengthBytes: endBytes - atBytes });
    let broken: ConnectionLost;
    try {
      for await (const piece of answer.pieces()) {
        if (piece.length > endBytes - atBytes) throw new Error(`the S3 server sent more of ${key} than it announced`);
        atBytes += piece.length;
        yield piece;
      }
      if (atBytes === endBytes) return;
      broken = new ConnectionLost('the body ended early');
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      broken = error;
    }
    if (broken.isStall || breakCount >= client.patience.repeatCountMax) {
      const { origin } = client.place.endpoint;
      throw new ContentUnavailable(`reading from the S3 server at ${origin} broke off: ${broken.message}`, {
        cause: broken,
      });
    }
    await client.pauseBefore(breakCount);
  }
}

/** The answer that carries exactly the range. */
async function openRange(client: S3Client, key: string, { offsetBytes, lengthBytes }: ByteRange): Promise<Answer> {
  const lastBytes = offsetBytes + lengthBytes - 1;
  const request: S3Request = { method: 'GET', key, headers: { range: `bytes=${offsetBytes}-${lastBytes}` } };
  const answer = await client.open(request);
  if (answer.status === 206) {
    if (answer.headers['content-range']?.startsWith(`bytes ${offsetBytes}-${lastBytes}/`)) return answer;
    answer.abandon();
    throw new Error(`the object ${key} no longer has the length that was written`);
  }
  const text = await answer.text({ bytesMax: ERROR_BYTES_MAX }).catch(() => '');
  if (answer.status === 404 && errorCodeIn(text) !== 'NoSuchBucket') throw new ExtentMissing(key);
  if (answer.status === 416) throw new Error(`the object ${key} no longer has the length that was written`);
  throw client.refusal(request, { status: answer.status, text });
}
