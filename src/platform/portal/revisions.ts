// What an organization saves once for its portal, with a revision that rises each time.
import { invalid } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';

/** The new revision; undefined, storing nothing, when the current one isn't `expected`; 0: no row yet. */
export async function saveRevision(
  tx: Tx,
  table: 'portal_branding' | 'portal_sidebars',
  organizationId: string,
  columns: object,
  expected: number | undefined,
) {
  if (expected === undefined || expected === 0) {
    const [inserted] = await tx(table)
      .insert({ organization_id: organizationId, ...columns })
      .onConflict('organization_id')
      .ignore()
      .returning<{ revision: number }[]>('revision');
    if (inserted !== undefined) return inserted.revision;
  }
  const updating = tx(table).where('organization_id', organizationId);
  if (expected !== undefined) updating.where('revision', expected);
  const [updated] = await updating
    .update({ ...columns, revision: tx.raw('revision + 1'), updated_at: tx.fn.now() })
    .returning<{ revision: number }[]>('revision');
  return updated?.revision;
}

/** A 422 for the caller to throw. */
export const staleRevision = (title: string, message: string) =>
  invalid(title, [{ path: 'revision', code: 'stale_revision', message }]);
