// The row of portal_sidebars that an organization has once it has stored a sidebar.
import type { Tx } from '../../db/transaction.ts';
import { saveRevision } from './revisions.ts';

export type SidebarRow = { items: object[]; revision: number; updated_at: Date };

export const findSidebar = async (tx: Tx, organizationId: string): Promise<SidebarRow | undefined> =>
  tx('portal_sidebars')
    .where('organization_id', organizationId)
    .first<SidebarRow | undefined>('items', 'revision', 'updated_at');

/** As `saveRevision`. */
export const saveSidebar = (
  tx: Tx,
  organizationId: string,
  items: readonly object[],
  expected: number | undefined,
) => saveRevision(tx, 'portal_sidebars', organizationId, { items: JSON.stringify(items) }, expected);
