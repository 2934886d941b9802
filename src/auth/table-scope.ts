/**
 * What of a table a SAS opens: the range between its start (spk, srk) and its end (epk, erk), both included, or all of it.
 * https://learn.microsoft.com/rest/api/storageservices/create-service-sas#specify-table-access-ranges
 */
import { KEY_UNITS_MAX } from '../rules/entity.ts';
import type { EntityScope } from '../rules/entity-scope.ts';
import { authenticationFailed } from './refusals.ts';
import type { SasFields } from './sas-token.ts';

/** As they stand in the string to sign, one line each. */
export const RANGE_FIELDS = ['spk', 'srk', 'epk', 'erk'] as const;

/** An empty key is as good as none: SDKs leave it out of the query, and the signature is the same either way. */
export function tableScope(field: SasFields): EntityScope {
  refuseLoneRow(field, { row: 'srk', partition: 'spk' });
  refuseLoneRow(field, { row: 'erk', partition: 'epk' });
  for (const name of RANGE_FIELDS) {
    if (!canBound(field(name)))
      throw authenticationFailed(`${name} is longer than a key can be, or contains a NUL character.`);
  }
  const [startPartition, endPartition] = [field('spk'), field('epk')];
  return {
    table: field('tn').toLowerCase(),
    from: startPartition === '' ? null : { partitionKey: startPartition, rowKey: field('srk') },
    to: endPartition === '' ? null : { partitionKey: endPartition, rowKey: field('erk') || null },
  };
}

/** A bound need be no key itself: `a/` ends what begins with `a.`, and no key has a slash. */
const canBound = (text: string): boolean => text.length <= KEY_UNITS_MAX && !text.includes('\0');

function refuseLoneRow(field: SasFields, { row, partition }: { row: string; partition: string }): void {
  if (field(row) !== '' && field(partition) === '') {
    throw authenticationFailed(`${row} applies within a partition, but the token has no ${partition}.`);
  }
}
