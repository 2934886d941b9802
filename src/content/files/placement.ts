/**
 * How this store writes down where it put an extent. Both forms carry the extent's length, so that no read can run
 * into a neighbour, and both are checked in full, so that nothing else ever becomes part of a path.
 */
import type { Id } from '../../base/ids.ts';
import type { Placement } from '../content.ts';

export interface SegmentPlace {
  readonly kind: 'segment';
  readonly segmentId: Id;
  /** The frame's place in the segment, in slots. */
  readonly slot: number;
  readonly lengthBytes: number;
}

export interface FilePlace {
  readonly kind: 'file';
  readonly id: Id;
  readonly lengthBytes: number;
}

const SEGMENT_FORM = /^s([0-9a-f]{24})\.([0-9a-f]{1,6})\.([0-9a-f]{1,13})$/;
const FILE_FORM = /^f([0-9a-f]{24})\.([0-9a-f]{1,13})$/;

export function renderPlacement(place: SegmentPlace | FilePlace): Placement {
  const length = place.lengthBytes.toString(16);
  return place.kind === 'segment'
    ? `s${place.segmentId}.${place.slot.toString(16)}.${length}`
    : `f${place.id}.${length}`;
}

/** Null for what this store never wrote. */
export function parsePlacement(placement: Placement): SegmentPlace | FilePlace | null {
  const [, segmentId, slot, segmentLength] = SEGMENT_FORM.exec(placement) ?? [];
  if (segmentId !== undefined && slot !== undefined && segmentLength !== undefined) {
    const lengthBytes = Number.parseInt(segmentLength, 16);
    return { kind: 'segment', segmentId, slot: Number.parseInt(slot, 16), lengthBytes };
  }
  const [, id, fileLength] = FILE_FORM.exec(placement) ?? [];
  if (id !== undefined && fileLength !== undefined) {
    return { kind: 'file', id, lengthBytes: Number.parseInt(fileLength, 16) };
  }
  return null;
}
