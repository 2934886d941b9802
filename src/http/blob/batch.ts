/**
 * Blob Batch: up to 256 deletes, or as many changes of tier, in one request. Nothing is atomic: each part has its own
 * credentials, conditions and outcome, and only what is wrong with the batch itself refuses the whole.
 * https://learn.microsoft.com/rest/api/storageservices/blob-batch
 */
import { blobNeeds } from '../../auth/needs.ts';
import { ROOT_CONTAINER } from '../../rules/names.ts';
import { StorageError } from '../../service/storage-error.ts';
import { readWhole, requireContentLength } from '../body.ts';
import type { OpenPart, Part } from '../door.ts';
import type { Exchange, Reply } from '../exchange.ts';
import {
  type AnswerPart,
  parseBoundary,
  parseRequestParts,
  type RequestPart,
  renderAnswerParts,
} from '../multipart.ts';
import { decodePercent } from '../request-target.ts';
import type { BlobResource, Operation } from './operation.ts';

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const PART_COUNT_MAX = 256;
/** So many parts of one batch are under way at a time: one client's batch is not to crowd out everybody else. */
const ABREAST = 16;

const handle: Operation['handle'] = async (_storage, exchange, resource, { openPart }) => {
  const boundary = parseBoundary(exchange.header('content-type'));
  requireContentLength(exchange);
  const body = await readWhole(exchange, { maxBytes: BODY_BYTES_MAX });
  const parts = openParts(parseRequestParts(body, { boundary, partCountMax: PART_COUNT_MAX }), resource, openPart);
  return renderBatch(exchange, await answerParts(parts));
};

export const batch: Operation = { name: 'Blob Batch', need: blobNeeds.batch, handle };

export const batchInContainer: Operation = { name: 'Blob Batch', need: blobNeeds.batchInContainer, handle };

interface OpenedPart extends Part {
  readonly contentId: string | null;
}

function openParts(requests: readonly RequestPart[], resource: BlobResource, openPart: OpenPart): OpenedPart[] {
  const parts = requests.map((request) => ({ ...openPart(request), contentId: request.contentId }));
  const kinds = new Set(parts.map(({ exchange }) => kindOf(exchange)));
  if (kinds.has(null)) throw invalidBatch('Each part must be a Delete Blob or a Set Blob Tier, without x-ms-version.');
  if (kinds.size > 1) throw invalidBatch('All parts must be of the same kind: Delete Blob or Set Blob Tier.');
  if (resource.kind === 'container' && parts.some(({ exchange }) => containerOf(exchange) !== resource.container)) {
    throw invalidBatch(`All parts must be in the container of the batch, ${resource.container}.`);
  }
  return parts;
}

const invalidBatch = (reason: string): StorageError =>
  new StorageError('InvalidInput', { elements: { Reason: reason } });

function kindOf(exchange: Exchange): 'Delete Blob' | 'Set Blob Tier' | null {
  const { query } = exchange.target;
  if (query.has('restype') || exchange.header('x-ms-version') !== null) return null;
  const comp = (query.get('comp') ?? '').toLowerCase();
  if (exchange.method === 'DELETE' && comp === '') return 'Delete Blob';
  return exchange.method === 'PUT' && comp === 'tier' ? 'Set Blob Tier' : null;
}

function containerOf({ target: { resourcePath } }: Exchange): string {
  const cut = resourcePath.indexOf('/');
  return cut < 0 ? ROOT_CONTAINER : decodePercent(resourcePath.slice(0, cut));
}

/** In the order of the parts, whichever of them ends first. */
async function answerParts(parts: readonly OpenedPart[]): Promise<AnswerPart[]> {
  const answers: AnswerPart[] = [];
  const waiting = parts.entries();
  const work = async (): Promise<void> => {
    for (const [index, part] of waiting) answers[index] = toAnswerPart(part, await part.answer());
  };
  await Promise.all(Array.from({ length: Math.min(ABREAST, parts.length) }, work));
  return answers;
}

function toAnswerPart({ contentId }: OpenedPart, { status, headers, body = '' }: Reply): AnswerPart {
  if (typeof body !== 'string') throw new TypeError('the answer of a part is text');
  return { contentId, status, headers, body };
}

function renderBatch({ requestId }: Exchange, answers: readonly AnswerPart[]): Reply {
  const boundary = `batchresponse_${requestId}`;
  const headers = ['Content-Type', `multipart/mixed; boundary=${boundary}`];
  return { status: 202, headers, body: renderAnswerParts(answers, boundary) };
}
