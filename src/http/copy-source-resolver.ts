/** How doors find the sources of copies: with what the server knows of itself, and the access policies of both services. */
import { systemClock } from '../base/clock.ts';
import { findContainer } from '../service/blob/load.ts';
import type { CopySource } from '../service/copy/copy-source.ts';
import { findShare } from '../service/file/load.ts';
import { snapshotReader } from '../service/records/record-reader.ts';
import type { Storage } from '../service/storage.ts';
import { type CopySourceContext, resolveCopySource, type SourceService } from './copy-source.ts';
import type { AuthorizedExchange } from './exchange.ts';

/** By which the sources of copies are found and authorized. */
export interface SourceOptions extends Pick<CopySourceContext, 'accounts' | 'bearer' | 'isOurs'> {
  /** Where a service listens, once it does. */
  readonly origin: (service: SourceService) => string;
}

/** What `x-ms-copy-source` names, if the caller may read it. */
export type ResolveSource = (exchange: AuthorizedExchange) => Promise<CopySource>;

export const sourceResolver =
  (storage: Storage, sources: SourceOptions): ResolveSource =>
  (exchange) =>
    resolveCopySource(exchange, {
      ...sources,
      nowMs: storage.clock.nowMs(),
      wallNowMs: systemClock.nowMs(),
      loadAcl: (account, [name], service) =>
        storage.readers.inSnapshot(async (snapshot) => {
          const reader = snapshotReader(snapshot);
          if (name === undefined) return null;
          if (service === 'b') return findContainer(reader, { account, container: name });
          const share = await findShare(reader, { account, share: name });
          return share === null ? null : { publicAccess: null, policies: share.policies };
        }),
    });
