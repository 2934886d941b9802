/** What a caller may see and change of tables, where its token says less than a whole table. */
import type { Identity } from '../../auth/identity.ts';
import type { EntityKey } from '../../rules/edm.ts';
import { type EntityScope, isInScope } from '../../rules/entity-scope.ts';
import { StorageError } from '../../service/storage-error.ts';

/** Null: everything. */
export const scopeOf = (identity: Identity): EntityScope | null =>
  identity.kind === 'serviceSas' ? (identity.entities ?? null) : null;

/** A write outside of what the caller's token opens. Inside a batch the table is not the one that was signed for. */
export function refuseOutOfScope(identity: Identity, table: string, key: EntityKey): void {
  const scope = scopeOf(identity);
  if (scope === null || (scope.table === table.toLowerCase() && isInScope(scope, key))) return;
  throw new StorageError('AuthorizationPermissionMismatch');
}
