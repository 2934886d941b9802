/**
 * Where a listing of blobs goes on: with a name (or a prefix), or in the middle of a name with one of its past states. As
 * text, what follows the name stands behind a NUL, which no name has.
 */
import { type Moment, parseMoment } from '../../rules/moment.ts';
import { type BlobAddress, blobKeys, blobNameStart, type PastKind, pastKey } from '../records/keys.ts';

export interface ListPlace {
  readonly name: string;
  /** Null: everything of the name is still to come. */
  readonly at: { readonly kind: PastKind; readonly moment: Moment } | { readonly kind: 'versionsOnly' | 'blob' } | null;
}

export function formatPlace({ name, at }: ListPlace): string {
  if (at === null) return name;
  return 'moment' in at ? [name, at.kind, at.moment].join('\0') : [name, at.kind].join('\0');
}

/** Whatever text it is: what cannot be read behind the name is left aside. */
export function parsePlace(text: string): ListPlace {
  const [name = '', kind, moment] = text.split('\0');
  return { name, at: parseAt(kind, moment) };
}

function parseAt(kind: string | undefined, moment: string | undefined): ListPlace['at'] {
  switch (kind) {
    case 'versionsOnly':
    case 'blob':
      return { kind };
    case 'snapshot':
    case 'version':
    case 'deleted':
      return moment === undefined || parseMoment(moment) === null ? null : { kind, moment };
    default:
      return null;
  }
}

/** The first key that is of interest from this place on. */
export function placeKey(address: BlobAddress, at: ListPlace['at']): Uint8Array {
  if (at === null) return blobNameStart(address.account, address.containerId, address.name);
  return 'moment' in at ? pastKey(address, at.kind, at.moment) : blobKeys(address).blob;
}
