/** The two sides of a simulation of blobs: the store under test and the model of what it should hold. */
import { createHash } from 'node:crypto';
import type { BlobType } from '../../src/rules/precedence.ts';
import type { CustomerKey } from '../../src/service/extents/customer-key.ts';
import type { AccountSettings } from '../../src/service/storage.ts';
import { StorageError } from '../../src/service/storage-error.ts';
import type { Random } from '../harness/random.ts';
import { blobRequest, type TestStore } from '../harness/store.ts';
import type { Keeping, ModelContainer, ModelName } from './blob-model.ts';

export const CONTAINERS = ['one', 'two'];
/** The last one is always written with the customer's key. */
export const BLOBS = ['block', 'block/append', 'page', 'ü'];
/** What is mostly done to what, so that few operations are refused. */
const USUAL_BLOBS: Readonly<Record<BlobType, string>> = {
  BlockBlob: 'block',
  AppendBlob: 'block/append',
  PageBlob: 'page',
};
export const TAG_NAME = 'colour';
export const TAG_VALUES = ['blue', 'red', 'white'];

const KEY_BYTES = Buffer.alloc(32, 'customer');
const KEY: CustomerKey = { key: KEY_BYTES, sha256: createHash('sha256').update(KEY_BYTES).digest('base64') };

export interface Target {
  readonly container: string;
  readonly blob: string;
}

export const isKeyedName = (blob: string): boolean => blob === 'ü';
export const keyFor = (blob: string): CustomerKey | null => (isKeyedName(blob) ? KEY : null);

export class World {
  readonly random: Random;
  readonly settings: { -readonly [Field in keyof AccountSettings]: AccountSettings[Field] };
  store: TestStore;
  /** By name. */
  readonly containers = new Map<string, ModelContainer>();
  /** Those that can be restored, by id. */
  readonly deletedContainers = new Map<string, ModelContainer>();
  retentionDays: number | null = null;

  constructor(random: Random, settings: AccountSettings, store: TestStore) {
    this.random = random;
    this.settings = { ...settings };
    this.store = store;
  }

  get nowMs(): number {
    return this.store.clock.nowMs();
  }

  get keeping(): Keeping {
    return { keepsVersions: this.settings.keepsVersions, retentionDays: this.retentionDays };
  }

  /** A few blobs are changed much more often than the others, so that their states pile up. */
  someTarget(type: BlobType | null): Target {
    const usual = USUAL_BLOBS[type ?? this.random.pick(['BlockBlob', 'AppendBlob', 'PageBlob'])];
    const container = this.random.chance(0.7) ? 'one' : this.random.pick(CONTAINERS);
    return { container, blob: this.random.chance(0.85) ? usual : this.random.pick(BLOBS) };
  }

  find({ container, blob }: Target): ModelName | null {
    return this.containers.get(container)?.names.get(blob) ?? null;
  }

  request({ container, blob }: Target) {
    return { ...blobRequest(container, blob), key: keyFor(blob) };
  }

  /** Every name, also those in containers that are deleted and can be restored. */
  *names(): Generator<ModelName> {
    for (const container of [...this.containers.values(), ...this.deletedContainers.values()]) {
      yield* container.names.values();
    }
  }
}

export type Outcome<T> = { readonly code: 'ok'; readonly result: T } | { readonly code: string };

export async function outcomeOf<T>(operation: Promise<T>): Promise<Outcome<T>> {
  try {
    return { code: 'ok', result: await operation };
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code };
    throw error;
  }
}
