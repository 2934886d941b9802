/**
 * What this process knows from earlier requests and asks for again and again. A container's id is a guess by which its
 * blobs' keys can be asked for together with the container itself, which then confirms it: one round trip, not two.
 * Service properties are taken as they were for a few seconds: Azure gives a change of CORS rules half a minute to take
 * effect. A change made by this process counts at once.
 */
import type { Id } from '../base/ids.ts';
import type { ServiceProperties } from './service-properties.ts';

const ID_COUNT_MAX = 10_000;
const PROPERTIES_AGE_MAX_MS = 5_000;

/** The ids of what has a name in an account: containers, tables, shares, or what queues hold; or of directories in a share. */
class KnownIds {
  readonly #ids = new Map<string, Id>();
  readonly #names = new Map<string, string>();

  idOf(account: string, name: string): Id | null {
    return this.#ids.get(`${account}/${name}`) ?? null;
  }

  nameOf(account: string, id: Id): string | null {
    return this.#names.get(`${account}/${id}`) ?? null;
  }

  note(account: string, name: string, id: Id): void {
    if (this.#ids.size >= ID_COUNT_MAX) {
      this.#ids.clear();
      this.#names.clear();
    }
    this.#ids.set(`${account}/${name}`, id);
    this.#names.set(`${account}/${id}`, name);
  }
}

export class Known {
  readonly containers = new KnownIds();
  /** By their names in lower case. */
  readonly tables = new KnownIds();
  readonly queues = new KnownIds();
  readonly shares = new KnownIds();
  /** By the id of their share, and their place in its tree. */
  readonly directories = new KnownIds();
  readonly #properties = new Map<string, { properties: ServiceProperties; sinceMs: number }>();
  readonly #monotonicMs: () => number;
  #changeCount = 0;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** As known, or as `load` says. What was loaded while they were changed is not kept. */
  async properties(
    account: string,
    service: string,
    load: () => Promise<ServiceProperties>,
  ): Promise<ServiceProperties> {
    const name = `${account}/${service}`;
    const known = this.#properties.get(name);
    const nowMs = this.#monotonicMs();
    if (known !== undefined && nowMs - known.sinceMs < PROPERTIES_AGE_MAX_MS) return known.properties;
    const changeCount = this.#changeCount;
    const properties = await load();
    if (changeCount === this.#changeCount) this.#properties.set(name, { properties, sinceMs: nowMs });
    return properties;
  }

  /** Once a change of any properties is durable. */
  forgetProperties(): void {
    this.#changeCount++;
    this.#properties.clear();
  }
}
