/** The content contract over the adapters that need nothing but this process and a folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentContract } from './contract.ts';
import { openFilesContent } from './files/files-content.ts';
import { openMemoryContent } from './memory/memory-content.ts';

const KIB = 1024;

contentContract(
  'memory',
  async () => {
    const store = openMemoryContent();
    return { open: async () => store, dispose: async () => {} };
  },
  { boundariesBytes: [256 * KIB, 512 * KIB] },
);

contentContract(
  'files',
  async () => {
    const path = await mkdtemp(join(tmpdir(), 'larimar-content-'));
    const open = () => openFilesContent({ path, segmentBytesMax: 1024 * KIB, segmentExtentBytesMax: 128 * KIB });
    return { open, dispose: () => rm(path, { recursive: true, force: true }) };
  },
  { boundariesBytes: [4096 - 32, 4096, 128 * KIB, 1024 * KIB, 2048 * KIB + 1000] },
);
