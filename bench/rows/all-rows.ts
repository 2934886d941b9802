/** Every row in the order in which it is run: what a row leaves behind matters to the memory and start-up rows. */

import { blobTypeRows } from './blob-types.ts';
import { conditionRows } from './conditions.ts';
import { fileRows } from './files.ts';
import { footprintRows } from './footprint.ts';
import { listRows } from './list.ts';
import { queueRows } from './queues.ts';
import type { Row, Scale } from './row.ts';
import { smallBlobRows } from './small-blobs.ts';
import { smbRows } from './smb.ts';
import { tableRows } from './tables.ts';
import { tagRows } from './tags.ts';
import { transferRows } from './transfer.ts';

export function allRows(scale: Scale): Row[] {
  const footprint = footprintRows(scale);
  return [
    ...footprint.empty,
    ...smallBlobRows(scale),
    ...conditionRows(scale),
    ...blobTypeRows(scale),
    ...transferRows(scale),
    ...tableRows(scale),
    ...queueRows(scale),
    ...fileRows(scale),
    ...smbRows(scale),
    ...footprint.filled,
    ...listRows(scale),
    ...tagRows(scale),
    ...footprint.restarted,
  ];
}
