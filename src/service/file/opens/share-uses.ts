/** What is in use in a share, by file or directory: for those who look over all of it. */
import type { Id } from '../../../base/ids.ts';
import type { Entry } from '../../../engine/engine.ts';
import { parseUseKey, shareUsesRange, usesRange } from '../../records/file-keys.ts';
import type { NodeId } from '../../records/node-record.ts';
import { type RangeReader, scanSteps } from '../../records/scan.ts';
import { type NodeUses, usesOf } from './node-uses.ts';

const STEP_RECORDS = 1_000;

/** From the one at or after `from` on, in the order of their ids. */
export async function* shareUses(reader: RangeReader, shareId: Id, from: NodeId = ''): AsyncGenerator<NodeUses> {
  const all = shareUsesRange(shareId);
  const range = from === '' ? all : { from: usesRange(shareId, from).from, to: all.to };
  let nodeId: NodeId | null = null;
  let entries: Entry[] = [];
  for await (const step of scanSteps(reader, range, STEP_RECORDS)) {
    for (const entry of step) {
      const at = parseUseKey(entry.key);
      if (nodeId !== null && at.nodeId !== nodeId) {
        yield usesOf({ shareId, nodeId }, entries);
        entries = [];
      }
      nodeId = at.nodeId;
      entries.push(entry);
    }
  }
  if (nodeId !== null) yield usesOf({ shareId, nodeId }, entries);
}
