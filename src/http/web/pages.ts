/** The pages that the web door writes itself: for whoever looks at a site that is not there, or not to be had. */
import { formatIso7 } from '../../base/http-date.ts';
import type { StorageError } from '../../service/storage-error.ts';
import type { Reply } from '../exchange.ts';
import { FAULTS, type FaultContext, renderFault } from '../faults.ts';
import { escapeXml } from '../xml.ts';

export interface Page {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export const CONTENT_NOT_FOUND: Page = {
  status: 404,
  code: 'WebContentNotFound',
  message: 'The requested content does not exist.',
};

export const WEBSITE_NOT_ENABLED: Page = {
  status: 404,
  code: 'WebsiteNotEnabled',
  message: 'This account has no static website.',
};

type PageContext = Pick<FaultContext, 'requestId' | 'nowMs'>;

export const renderPage = (page: Page, context: PageContext): Reply => ({
  status: page.status,
  headers: ['x-ms-error-code', page.code, 'Content-Type', 'text/html; charset=utf-8'],
  body: renderHtml(page, context),
});

/** A refusal with the status and headers that it has everywhere, told to a person. */
export function renderFaultPage(error: StorageError, context: FaultContext): Reply {
  const { status, headers, body } = renderFault(error, context);
  if (body === undefined) return { status, headers };
  const { code, details } = error;
  const page = { status, code, message: details.message ?? FAULTS[code].message };
  const own = headers.filter((_, index) => (headers[index - (index % 2)] as string) !== 'Content-Type');
  return {
    status,
    headers: [...own, 'Content-Type', 'text/html; charset=utf-8'],
    body: renderHtml(page, context),
  };
}

function renderHtml({ status, code, message }: Page, { requestId, nowMs }: PageContext): string {
  return [
    '<!DOCTYPE html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeXml(code)}</title></head>`,
    `<body><h1>${escapeXml(message)}</h1>`,
    `<ul><li>HttpStatusCode: ${status}</li><li>ErrorCode: ${escapeXml(code)}</li>`,
    `<li>RequestId: ${requestId}</li><li>TimeStamp: ${formatIso7(nowMs)}</li></ul></body></html>`,
    '',
  ].join('\n');
}
