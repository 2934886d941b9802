/** The one way a service or a front end refuses a request. Each front end owns the table from code to answer. */
import type { ErrorCode } from '../rules/error-code.ts';

export interface ErrorDetails {
  /** In place of the code's usual status. */
  readonly status?: number;
  /** A conditional read that failed: 304 in place of 412. */
  readonly notModified?: boolean;
  /** Extra elements of the error body, e.g. { HeaderName: 'x-ms-version', HeaderValue: 'x' }. */
  readonly elements?: Readonly<Record<string, string>>;
  /** Extra headers of the answer, e.g. { 'Content-Range': 'bytes x/100' }. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the code's usual sentence. */
  readonly message?: string;
}

export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? code);
    this.code = code;
    this.details = details;
  }
}

export const invalidHeader = (name: string, value: string): StorageError =>
  new StorageError('InvalidHeaderValue', { elements: { HeaderName: name, HeaderValue: value } });

export const missingHeader = (name: string): StorageError =>
  new StorageError('MissingRequiredHeader', { elements: { HeaderName: name } });

export const invalidQuery = (name: string, value: string, reason?: string): StorageError =>
  new StorageError('InvalidQueryParameterValue', {
    elements: {
      QueryParameterName: name,
      QueryParameterValue: value,
      ...(reason === undefined ? {} : { Reason: reason }),
    },
  });

export const outOfRangeQuery = (
  name: string,
  value: string,
  allowed: { readonly min: number; readonly max: number },
): StorageError =>
  new StorageError('OutOfRangeQueryParameterValue', {
    elements: {
      QueryParameterName: name,
      QueryParameterValue: value,
      MinimumAllowed: String(allowed.min),
      MaximumAllowed: String(allowed.max),
    },
  });

/** A document that is XML, and yet not what is asked for. */
export const invalidXml = (reason: string): StorageError =>
  new StorageError('InvalidXmlDocument', { elements: { Reason: reason } });

export const invalidXmlNode = (name: string, value: string, reason?: string): StorageError =>
  new StorageError('InvalidXmlNodeValue', {
    elements: { XmlNodeName: name, XmlNodeValue: value, ...(reason === undefined ? {} : { Reason: reason }) },
  });

/** Something of the protocol that is still to come: refused, rather than taken and not done. */
export const notYet = (feature: string): StorageError =>
  new StorageError('NotImplemented', { message: `This server does not offer this yet: ${feature}.` });
