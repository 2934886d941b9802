/**
 * What this process knows from earlier requests and asks for again and again. A container's id is a guess by which its
 * blobs' keys can be asked for together with the container itself, which then confirms it: one round trip, not two.
 * Service properties are taken as they were for a few seconds: Azure gives a change of CORS rules half a minute to take
 * effect. A change made by this process counts at once.
 */
import type { Id } from '../base/ids.ts';
import type { ServiceProperties } from './service-properties.ts';

const CONTAINER_COUNT_MAX = 10_000;
const PROPERTIES_AGE_MAX_MS = 5_000;

export class Known {
  readonly #containerIds = new Map<string, Id>();
  readonly #containerNames = new Map<string, string>();
  readonly #properties = new Map<string, { properties: ServiceProperties; sinceMs: number }>();
  readonly #monotonicMs: () => number;
  #changeCount = 0;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  containerId(account: string, container: string): Id | null {
    return this.#containerIds.get(`${account}/${container}`) ?? null;
  }

  containerName(account: string, id: Id): string | null {
    return this.#containerNames.get(`${account}/${id}`) ?? null;
  }

  noteContainerId(account: string, container: string, id: Id): void {
    if (this.#containerIds.size >= CONTAINER_COUNT_MAX) {
      this.#containerIds.clear();
      this.#containerNames.clear();
    }
    this.#containerIds.set(`${account}/${container}`, id);
    this.#containerNames.set(`${account}/${id}`, container);
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
