// The figures of settings of the portal, in their row of portal_access.
import type { Tx } from '../../db/transaction.ts';
import type { Figures } from './figures.schemas.ts';

export type FiguresRow = { readonly figures: Figures | null; readonly is_due: boolean };

const ofRevision = (tx: Tx, organizationId: string, revision: number) =>
  tx('portal_access').where({ organization_id: organizationId, revision });

const isDue = 'coalesce(figures_due_at <= clock_timestamp(), true)';

export const findFigures = async (tx: Tx, organizationId: string, revision: number) =>
  ofRevision(tx, organizationId, revision).first<FiguresRow | undefined>(
    'figures',
    tx.raw(`${isDue} as is_due`),
  );

/** True for one process, and not again for an hour. */
export const claimFigures = async (tx: Tx, organizationId: string, revision: number): Promise<boolean> => {
  const claimed = await ofRevision(tx, organizationId, revision)
    .whereRaw(isDue)
    .update({ figures_due_at: tx.raw("clock_timestamp() + interval '1 hour'") });
  return claimed === 1;
};

/** After a failure, they are due again in a minute. */
export const releaseFigures = (tx: Tx, organizationId: string, revision: number): Promise<number> =>
  ofRevision(tx, organizationId, revision).update({
    figures_due_at: tx.raw("clock_timestamp() + interval '1 minute'"),
  });

export const saveFigures = async (tx: Tx, organizationId: string, revision: number, figures: Figures) =>
  ofRevision(tx, organizationId, revision).update({ figures: JSON.stringify(figures) });
