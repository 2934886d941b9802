/** Small steps on an engine that tests of several nodes take again and again. */
import { bytes, text } from '../../src/engine/contract.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { transact } from '../../src/engine/transact.ts';

export const increment = (engine: Engine, key: Uint8Array): Promise<number> =>
  transact(engine, async (tx) => {
    const current = await tx.get(key);
    const next = Number(current === null ? 0 : text(current)) + 1;
    tx.put(key, bytes(String(next)));
    return next;
  });

export async function valueOf(engine: Engine, key: Uint8Array): Promise<string | null> {
  const view = engine.snapshot();
  try {
    const [entry] = await view.get([key]);
    return entry === null || entry === undefined ? null : text(entry.value);
  } finally {
    view.close();
  }
}

export const put = (engine: Engine, key: Uint8Array, value: string) =>
  engine.commit({ checks: [], puts: [{ key, value: bytes(value) }], deletes: [] });
