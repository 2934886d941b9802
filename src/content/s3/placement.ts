/**
 * How this store writes down where it put an extent: the last part of its object's key. It begins with the id, so that
 * a listing comes in the order of ids; it has a random part, so that no two writes share a key; it ends in the length,
 * so that a range is judged without asking. Checked in full, so that nothing else ever becomes part of a URL.
 */
import { randomBytes } from 'node:crypto';
import type { Id } from '../../base/ids.ts';
import type { Placement } from '../content.ts';

export interface Place {
  readonly id: Id;
  readonly lengthBytes: number;
}

const FORM = /^([0-9a-f]{24})-[0-9a-f]{8}-([1-9][0-9]{0,14})$/;

export const newPlacement = ({ id, lengthBytes }: Place): Placement =>
  `${id}-${randomBytes(4).toString('hex')}-${lengthBytes}`;

/** Null for what this store never wrote. */
export function parsePlacement(placement: Placement): Place | null {
  const [, id, length] = FORM.exec(placement) ?? [];
  return id === undefined ? null : { id, lengthBytes: Number(length) };
}
