// Refuses a database whose schema public was moved to another one, or to which a move isn't finished.
import { connectClient, type DatabaseAddress, poolConfig } from './connect.ts';
import { type AddressVariable, explainDatabaseError, UnusableDatabase } from './unusable-database.ts';

/** SQL for a column `moving`: whether the tables of schema public were or are being moved elsewhere. */
export const isMovingSql = "exists (select from control_moves where side = 'from') as moving";

type Move = { side: 'from' | 'to'; other: string; moved_at: Date | null };

/** Rejects with UnusableDatabase when the tables were moved away, or a move to it isn't finished. */
export async function assertNotMoved(address: DatabaseAddress, variable?: AddressVariable): Promise<void> {
  try {
    const client = await connectClient(poolConfig(address, null))();
    client.on('error', () => undefined);
    try {
      const { rows: there } = await client.query<{ there: boolean }>(
        "select to_regclass('public.control_moves') is not null as there",
      );
      if (there[0]?.there !== true) return;
      const { rows } = await client.query<Move>('select side, other, moved_at from public.control_moves');
      // Both: a database that something was moved to may later be moved from.
      for (const { side, other, moved_at: movedAt } of rows) {
        if (side === 'from' && movedAt !== null)
          throw new UnusableDatabase(
            `The service was moved from this database to ${other} at ${movedAt.toISOString()}. Set DATABASE_URL, MIGRATION_DATABASE_URL and ` +
              'WAREHOUSE_URL to that one, and WAREHOUSE_FROM_URL to this one until every organization is moved: docs/citus.md',
          );
        if (side === 'to' && movedAt === null)
          throw new UnusableDatabase(
            `The move of the service from ${other} to this database isn't finished. Run npm run admin -- move-to-citus again: docs/citus.md`,
          );
      }
    } finally {
      await client.end();
    }
  } catch (error) {
    throw explainDatabaseError(error, variable);
  }
}
