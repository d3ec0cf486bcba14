import type { Tx } from '../../../db/transaction.ts';

/**
 * The time of the database, which also sets the times of payments, documents and events: only they can be
 * compared with it.
 */
export const databaseTime = async (tx: Tx): Promise<Date> => {
  const { rows } = await tx.raw<{ rows: { at: Date }[] }>('select clock_timestamp() as at');
  return rows[0]?.at ?? new Date(0);
};
