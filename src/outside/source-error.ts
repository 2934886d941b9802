/** What a source says of why it refuses: the code and sentence of an Azure or S3 error, where it sends one. */
import type { IncomingMessage } from 'node:http';
import { SourceRefused } from '../service/copy/outside.ts';
import { type BodyTerms, gather, WholeBody } from './body.ts';

const ERROR_BYTES_MAX = 64 * 1024;
/** What may stand in a header of ours. */
const CODE = /^[A-Za-z0-9._-]{1,64}$/;

export async function readRefusal(response: IncomingMessage, terms: BodyTerms): Promise<SourceRefused> {
  const status = response.statusCode as number;
  const text = await readText(response, terms);
  const code = response.headers['x-ms-error-code'] ?? /<Code>([^<]*)<\/Code>/.exec(text)?.[1];
  return new SourceRefused({
    status,
    code: typeof code === 'string' && CODE.test(code) ? code : null,
    sentence: sentenceIn(text),
  });
}

/** The status says enough: an error that cannot be read to its end is as good as one without words. */
async function readText(response: IncomingMessage, terms: BodyTerms): Promise<string> {
  try {
    const bytes = await gather(new WholeBody(response, terms), { bytesMax: ERROR_BYTES_MAX });
    return bytes === null ? '' : Buffer.from(bytes).toString('utf8');
  } catch {
    terms.signal.throwIfAborted();
    return '';
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
};

/** The first line: request id and time follow it. */
function sentenceIn(text: string): string | null {
  const message = /<Message>([^<\r\n]{1,1024})/.exec(text)?.[1];
  return message?.replaceAll(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity) ?? null;
}
