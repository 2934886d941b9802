/**
 * How this store writes down where it put an extent: its id, eight random digits (an extent may be written anew under
 * its id), its length. Placements sort as their ids do. The size of a piece belongs to the form: another size needs
 * another form.
 */
import { randomBytes } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import type { Placement } from '../content.ts';

export const PIECE_BYTES = 256 * 1024;

export interface Place {
  readonly placement: Placement;
  readonly id: Id;
  readonly lengthBytes: number;
  readonly pieceCount: number;
}

const FORM = /^([0-9a-f]{24})-[0-9a-f]{8}-([1-9a-f][0-9a-f]{0,12})$/;

export function newPlace(id: Id, lengthBytes: number): Place {
  return placeOf(`${id}-${randomBytes(4).toString('hex')}-${lengthBytes.toString(16)}`, id, lengthBytes);
}

/** Null for what this store never wrote. */
export function parsePlacement(placement: Placement): Place | null {
  const [, id, length] = FORM.exec(placement) ?? [];
  return id === undefined || length === undefined ? null : placeOf(placement, id, Number.parseInt(length, 16));
}

function placeOf(placement: Placement, id: Id, lengthBytes: number): Place {
  return { placement, id, lengthBytes, pieceCount: Math.ceil(lengthBytes / PIECE_BYTES) };
}
