/** The shape of one File operation at the HTTP door: what it needs, and how it is answered. */
import type { Need } from '../../auth/identity.ts';
import { parseMoment } from '../../rules/moment.ts';
import type { FileName, Path, ShareName } from '../../service/file/load.ts';
import type { NodeRequest } from '../../service/file/request.ts';
import type { Storage } from '../../service/storage.ts';
import { invalidQuery } from '../../service/storage-error.ts';
import type { ResolveSource } from '../copy-source-resolver.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';

export interface Operation {
  /** As in Microsoft's documentation. */
  readonly name: string;
  readonly need: Need;
  /** It can be asked of a share's snapshot (`sharesnapshot`); absent: such a request is refused. */
  readonly takesSnapshot?: true;
  handle(storage: Storage, exchange: AuthorizedExchange, resource: FileResource, means: Means): Promise<Reply>;
}

/** What some operations need of the server around them. */
export interface Means {
  /** What `x-ms-copy-source` names, if the caller may read it. */
  readonly resolveSource: ResolveSource;
  /** The path that `x-ms-file-rename-source` names, if the caller may take it away from there. */
  readonly resolveRenameSource: (exchange: AuthorizedExchange, destination: FileResource) => Promise<Path>;
}

/** What path and `restype` name. */
export type FileResource =
  | { readonly kind: 'service' }
  | { readonly kind: 'share'; readonly share: string }
  | { readonly kind: 'directory'; readonly share: string; readonly path: Path }
  | { readonly kind: 'file'; readonly share: string; readonly path: Path };

/** The operations of one kind of resource, by method and `comp`. */
export type Operations = Readonly<Record<string, Operation>>;

export function shareNameOf(exchange: Exchange, resource: FileResource): ShareName {
  if (resource.kind === 'service') throw new TypeError('the route is for a share, and none is named');
  return { account: exchange.target.account, share: resource.share };
}

export function fileNameOf(exchange: Exchange, resource: FileResource): FileName {
  if (!('path' in resource)) throw new TypeError('the route is for a file or directory, and none is named');
  return { ...shareNameOf(exchange, resource), path: resource.path, snapshot: snapshotOf(exchange) };
}

/** `sharesnapshot`: the moment that Snapshot Share gave. */
export function snapshotOf({ target }: Exchange): string | null {
  const text = target.query.get('sharesnapshot');
  if (text !== null && parseMoment(text) === null) throw invalidQuery('sharesnapshot', text);
  return text;
}

const WAIT_MAX_SECONDS = 30;

/** Where, and how long to wait for SMB clients: the request's own `timeout` (refused before if it is no number), 30 s at most. */
export function nodeRequestOf(exchange: Exchange, resource: FileResource): NodeRequest {
  const seconds = Number(exchange.target.query.get('timeout') ?? WAIT_MAX_SECONDS);
  return {
    name: fileNameOf(exchange, resource),
    waitMs: Math.min(seconds || WAIT_MAX_SECONDS, WAIT_MAX_SECONDS) * 1000,
  };
}
