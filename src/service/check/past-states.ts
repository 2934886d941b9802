/**
 * What stands under one name beside the blob: deleted states are marked as such, a version is known by its own id, and
 * is older than the current one, which will be kept beside it.
 */
import type { Moment } from '../../rules/moment.ts';
import type { BlobRecord } from '../records/blob-record.ts';
import type { ParsedBlobKey } from '../records/keys.ts';

export class PastStates {
  readonly #findings: string[];
  /** The name whose records come at the moment, and the newest of its versions. */
  #address = '';
  #newestVersion: Moment = '';

  constructor(findings: string[]) {
    this.#findings = findings;
  }

  /** Records come in the order of their keys: the blob is the last one of its name. */
  take({ account, containerId, name, kind, moment }: ParsedBlobKey, { deleted, versionId }: BlobRecord): void {
    this.#enter(`${account} ${containerId} ${name}`);
    if (kind === 'deleted' && deleted === undefined)
      this.#findings.push(`a deleted state of blob ${name} is not marked as deleted`);
    if (kind === 'blob' && deleted !== undefined)
      this.#findings.push(`blob ${name} is marked as deleted, but is stored as an existing blob`);
    if (kind === 'version') {
      this.#newestVersion = moment;
      if (versionId !== moment)
        this.#findings.push(`version ${moment} of blob ${name} has the version id ${versionId}`);
    }
    if (kind === 'blob' && versionId !== undefined && this.#newestVersion >= versionId) {
      this.#findings.push(
        `version ${this.#newestVersion} of blob ${name} is not older than the current one, ${versionId}`,
      );
    }
  }

  #enter(address: string): void {
    if (this.#address === address) return;
    this.#address = address;
    this.#newestVersion = '';
  }
}
