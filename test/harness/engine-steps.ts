/** Small steps on an engine that tests of several nodes take again and again. */
import type { Engine } from '../../src/engine/engine.ts';
import { transact } from '../../src/engine/transact.ts';

const textOf = (value: Uint8Array): string => Buffer.from(value).toString();

export const increment = (engine: Engine, key: Uint8Array): Promise<number> =>
  transact(engine, async (tx) => {
    const current = await tx.get(key);
    const next = Number(current === null ? 0 : textOf(current)) + 1;
    tx.put(key, Buffer.from(String(next)));
    return next;
  });

export async function valueOf(engine: Engine, key: Uint8Array): Promise<string | null> {
  const view = engine.snapshot();
  try {
    const [entry] = await view.get([key]);
    return entry === null || entry === undefined ? null : textOf(entry.value);
  } finally {
    view.close();
  }
}

export const put = (engine: Engine, key: Uint8Array, value: string) =>
  engine.commit({ checks: [], puts: [{ key, value: Buffer.from(value) }], deletes: [] });
