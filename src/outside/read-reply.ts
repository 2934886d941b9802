/** From the answer of a source to what was asked of it: the whole or a range, in one known state, or a refusal. */
import type { IncomingMessage } from 'node:http';
import { type ByteRange, resolveRange } from '../rules/range-header.ts';
import {
  type OutsideBody,
  type OutsideReply,
  type OutsideRequest,
  SourceRefused,
  SourceUnreachable,
} from '../service/copy/outside.ts';
import { type BodyTerms, gather, HeldBody, PartBody, WholeBody } from './body.ts';
import { refuseOtherState } from './demands.ts';
import { contentLengthOf, contentRangeOf, describeSource } from './reply-head.ts';
import { readRefusal } from './source-error.ts';

export interface ReplyTerms extends BodyTerms {
  readonly unannouncedBytesMax: number;
}

/** Where it throws, the connection is still the caller's to end. */
export async function readReply(
  response: IncomingMessage,
  request: OutsideRequest,
  terms: ReplyTerms,
): Promise<OutsideReply> {
  const status = response.statusCode as number;
  if (status === 304 || status >= 400) throw await readRefusal(response, terms);
  if (status !== 200 && status !== 206) throw unusable(terms, `answered ${status}`);
  const source = describeSource(response, terms.shown);
  refuseOtherState(source, request);
  const { range } = request;
  if (status === 206) return { ...source, ...readPart(response, range, terms) };
  const whole = await readWhole(response, terms);
  if (range !== null) return { ...source, ...cutPart(whole, range, terms) };
  return { ...source, status, ...whole, totalBytes: whole.lengthBytes };
}

const unusable = ({ shown }: ReplyTerms, what: string): SourceUnreachable =>
  new SourceUnreachable('answer', `${shown} ${what}.`);

interface Whole {
  readonly lengthBytes: number;
  readonly body: OutsideBody;
}

async function readWhole(response: IncomingMessage, terms: ReplyTerms): Promise<Whole> {
  const body = new WholeBody(response, terms);
  const lengthBytes = contentLengthOf(response);
  if (lengthBytes !== null) return { lengthBytes, body: new PartBody(body, { lengthBytes, shown: terms.shown }) };
  // Of an answer that ends when the connection does, nobody can tell whether that was its end.
  const isChunked = response.headers['transfer-encoding'] !== undefined;
  const bytes = isChunked ? await gather(body, { bytesMax: terms.unannouncedBytesMax }) : null;
  if (bytes === null) throw unusable(terms, 'does not say how long its content is');
  return { lengthBytes: bytes.length, body: new HeldBody(bytes) };
}

type Part = Pick<OutsideReply, 'status' | 'lengthBytes' | 'totalBytes' | 'body'>;

/** The source gave a range: it must be the one that was asked for, as far as the source reaches. */
function readPart(response: IncomingMessage, range: ByteRange | null, terms: ReplyTerms): Part {
  const given = contentRangeOf(response);
  if (range === null || given === null) throw unusable(terms, 'returned a range although none was requested');
  const { offsetBytes, lengthBytes, totalBytes } = given;
  const endBytes = offsetBytes + lengthBytes;
  const askedEndBytes = range.lastOffsetBytes === null ? Number.POSITIVE_INFINITY : range.lastOffsetBytes + 1;
  const isAsked = offsetBytes === range.firstOffsetBytes && endBytes <= askedEndBytes;
  const isAll = endBytes === askedEndBytes || totalBytes === null || endBytes === totalBytes;
  if (!isAsked || !isAll) throw unusable(terms, 'did not return the requested range');
  const body = new PartBody(new WholeBody(response, terms), { lengthBytes, shown: terms.shown });
  return { status: 206, lengthBytes, totalBytes, body };
}

/** The source knows no ranges and gave everything. */
function cutPart(whole: Whole, range: ByteRange, { shown }: ReplyTerms): Part {
  const { lengthBytes: totalBytes, body } = whole;
  const slice = resolveRange(range, totalBytes);
  if (slice === 'unsatisfiable') throw new SourceRefused({ status: 416, code: 'InvalidRange' });
  const { offsetBytes: skipBytes, lengthBytes } = slice;
  return { status: 206, lengthBytes, totalBytes, body: new PartBody(body, { skipBytes, lengthBytes, shown }) };
}
