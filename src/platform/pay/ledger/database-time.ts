import type { Tx } from '../../../db/transaction.ts';

/** The database's time, which also sets those of payments, documents and events: compare only these. */
export const databaseTime = async (tx: Tx): Promise<Date> => {
  const { rows } = await tx.raw<{ rows: { at: Date }[] }>('select clock_timestamp() as at');
  return rows[0]?.at ?? new Date(0);
};
