// One read-only snapshot per response, with business time and the date preference set for the views.
import type { Pool, PoolClient } from 'pg';
import type { DateFormat } from '../suiteql/render.ts';
import type { Switches } from '../switches.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';

export type QuerySettings = {
  pool: Pool;
  role: RoleVisibility;
  switches: Switches;
  /** The users' time zone; the control interface can change it. */
  timeZone: string;
  dateFormat: DateFormat;
  businessTime: () => Date;
};

/**
 * For node-postgres: every value as PostgreSQL's own text. Responses contain strings only, and no precision
 * is lost.
 */
export const textTypes = {
  getTypeParser:
    () =>
    (value: string): string =>
      value,
};

/**
 * Runs `work` in a repeatable-read, read-only transaction as the reader: of the present books, or of those in
 * an exported snapshot. Rejects with its error.
 */
export async function inSnapshot<T>(
  settings: QuerySettings,
  work: (client: PoolClient) => Promise<T>,
  snapshot?: string,
): Promise<T> {
  const client = await settings.pool.connect();
  let lost: Error | undefined;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    if (snapshot !== undefined) await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
    await client.query(
      `SELECT set_config('netsuite.now', $1, true), set_config('netsuite.date_mask', $2, true), set_config('netsuite.deleted_time', $3, true),
        set_config('TimeZone', $4, true), set_config('netsuite.repeated_hour', $5, true)`,
      [
        settings.businessTime().toISOString(),
        settings.dateFormat.mask,
        settings.switches.deletedDateHasTime ? 'on' : 'off',
        settings.timeZone,
        settings.switches.repeatedHour,
      ],
    );
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((reason: Error) => {
      lost = reason;
    });
    throw error;
  } finally {
    client.release(lost);
  }
}
