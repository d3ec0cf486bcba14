// The row of portal_sidebars that an organization has once it has stored a sidebar.
import type { Tx } from '../../db/transaction.ts';

export type SidebarRow = { items: object[]; revision: number; updated_at: Date };

export const findSidebar = async (tx: Tx, organizationId: string): Promise<SidebarRow | undefined> =>
  tx('portal_sidebars')
    .where('organization_id', organizationId)
    .first<SidebarRow | undefined>('items', 'revision', 'updated_at');

/** As `saveRevision`. */
export async function saveSidebar(
  tx: Tx,
  organizationId: string,
  items: readonly object[],
  expected: number | undefined,
): Promise<number | undefined> {
  const row = { organization_id: organizationId, items: JSON.stringify(items) };
  const inserting = tx('portal_sidebars')
    .insert(row)
    .onConflict('organization_id')
    .ignore()
    .returning<{ revision: number }[]>('revision');
  if (expected === undefined || expected === 0) {
    const [inserted] = await inserting;
    if (inserted !== undefined) return inserted.revision;
  }
  const updating = tx('portal_sidebars').where('organization_id', organizationId);
  if (expected !== undefined) updating.where('revision', expected);
  const [updated] = await updating
    .update({ items: row.items, revision: tx.raw('revision + 1'), updated_at: tx.fn.now() })
    .returning<{ revision: number }[]>('revision');
  return updated?.revision;
}
