/** A listing of a container with everything that stands beside its blobs, as the verification needs it. */
import { type RawResponse, send } from '../harness/http.ts';
import type { ContainerEntry, PastState } from './journal.ts';

export interface ListedName {
  /** Whether there is a blob itself. */
  isThere: boolean;
  /** Of the blob itself. */
  colour: string | null;
  tier: string | null;
  readonly past: { readonly kind: PastState['kind']; readonly moment: string }[];
}

export type Listing = ReadonlyMap<string, ListedName>;

export async function listContainer(url: string, { account, name }: ContainerEntry): Promise<Listing | RawResponse> {
  const path = `/${name}?restype=container&comp=list&include=snapshots,versions,tags`;
  const response = await send(url, { method: 'GET', path, account });
  if (response.status !== 200) return response;
  const listing = new Map<string, ListedName>();
  for (const [, xml = ''] of response.body.toString().matchAll(/<Blob>(.*?)<\/Blob>/gs)) {
    const known = listing.get(leafOf(xml, 'Name') ?? '') ?? { isThere: false, colour: null, tier: null, past: [] };
    listing.set(leafOf(xml, 'Name') ?? '', known);
    const snapshot = leafOf(xml, 'Snapshot');
    const versionId = leafOf(xml, 'VersionId');
    if (snapshot !== null) known.past.push({ kind: 'snapshot', moment: snapshot });
    else if (versionId !== null && leafOf(xml, 'IsCurrentVersion') === null) {
      known.past.push({ kind: 'version', moment: versionId });
    } else {
      known.isThere = true;
      known.colour = leafOf(xml, 'Value');
      known.tier = leafOf(xml, 'AccessTier');
    }
  }
  return listing;
}

const leafOf = (xml: string, element: string): string | null =>
  new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1] ?? null;
