/** The shape of one Blob operation at the HTTP door: what it needs, and how it is answered. */
import type { Need } from '../../auth/identity.ts';
import type { BlobName, ContainerName } from '../../service/blob/load.ts';
import type { Storage } from '../../service/storage.ts';
import type { ResolveSource } from '../copy-source-resolver.ts';
import type { OpenPart } from '../door.ts';
import type { AuthorizedExchange, Exchange, Reply } from '../exchange.ts';

export interface Operation {
  /** As in Microsoft's documentation. */
  readonly name: string;
  /** Some operations need different things by what exactly is asked. */
  readonly need: Need | ((exchange: Exchange) => Need);
  /** Whether a snapshot or version may be addressed; all others are refused for one. */
  readonly takesPast?: true;
  handle(storage: Storage, exchange: AuthorizedExchange, resource: BlobResource, means: Means): Promise<Reply>;
}

/** What some operations need of the server around them. */
export interface Means {
  readonly openPart: OpenPart;
  readonly resolveSource: ResolveSource;
}

/** What the path names. */
export type BlobResource =
  | { readonly kind: 'service' }
  | { readonly kind: 'container'; readonly container: string }
  | { readonly kind: 'blob'; readonly container: string; readonly blob: string };

export const containerNameOf = (exchange: Exchange, resource: BlobResource): ContainerName => {
  if (resource.kind === 'service') throw new TypeError('the route is for a container, and none is named');
  return { account: exchange.target.account, container: resource.container };
};

export const blobNameOf = (exchange: Exchange, resource: BlobResource): BlobName => {
  if (resource.kind !== 'blob') throw new TypeError('the route is for a blob, and none is named');
  return { account: exchange.target.account, container: resource.container, blob: resource.blob };
};
