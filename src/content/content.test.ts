/** The content contract over the adapters: in this process, in a folder, in a database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { freshDatabase, type TestDatabase } from '../../test/harness/postgres.ts';
import { missingTool } from '../../test/packages.ts';
import { Database } from '../postgres/database.ts';
import { prepareSchema } from '../postgres/schema.ts';
import { contentContract } from './contract.ts';
import { openFilesContent } from './files/files-content.ts';
import { openMemoryContent } from './memory/memory-content.ts';
import { PIECE_BYTES } from './postgres/placement.ts';
import { openPostgresContent } from './postgres/postgres-content.ts';

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

describe('content in a database', { skip: missingTool('postgres') }, () => {
  let fresh: TestDatabase;
  let database: Database;

  before(async () => {
    fresh = await freshDatabase();
    database = new Database({ url: fresh.url });
    await prepareSchema(database);
  });

  after(async () => {
    await database.close();
    await fresh.drop();
  });

  contentContract(
    'postgres',
    async () => ({
      open: () => openPostgresContent({ url: fresh.url }),
      dispose: async () => {
        await database.query({ text: 'TRUNCATE larimar_extents, larimar_extent_pieces' });
      },
    }),
    { boundariesBytes: [PIECE_BYTES, 4 * PIECE_BYTES] },
  );
});
