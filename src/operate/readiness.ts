// Whether this process should get requests. The database is asked on a connection of its own, so that a busy service is not taken
// for a broken one, and at most once a second, however many ask.
import type { Pool } from 'pg';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Readiness } from '../http/health.ts';

export type ReadinessParts = {
  /** Reserved for such questions; its connections and statements give up by themselves within seconds. */
  readonly control: Pick<Pool, 'query'>;
  /** Where the records are, if that is another address. */
  readonly warehouse: Pick<Pool, 'query'> | undefined;
  /** How a database with these migrations stands to this code. */
  readonly standing: (applied: readonly string[]) => 'behind' | 'level' | 'ahead';
  /** Milliseconds since the schedule was last looked at to the end. */
  readonly sinceTickMs: () => number;
  /** Aborted once the process is to end. */
  readonly stopping: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
};

const trustMs = 1_000;
/** The schedule is looked at each minute; a long look may take one more. */
const mostSinceTickMs = 180_000;
const ok = 'ok';
/** Each migration leaves what the version before it needs, so while a deployment goes on both serve. */
const ahead = 'ahead of this version';
const told = { behind: 'behind this version', level: ok, ahead };

export function openReadiness(parts: ReadinessParts): () => Promise<Readiness> {
  const { control, warehouse, clock, log } = parts;
  let asking: Promise<Record<string, string>> | undefined;
  let answer: { readonly atMs: number; readonly checks: Record<string, string> } | undefined;

  const reach = async (what: string, ask: () => Promise<string>): Promise<string> => {
    try {
      return await ask();
    } catch (error) {
      log.warn({ err: error }, `the ${what} can't be reached for the moment`);
      return "can't be reached";
    }
  };
  const migrationState = async (): Promise<string> => {
    const { rows } = await control.query<{ name: string }>('select name from public.knex_migrations');
    return told[parts.standing(rows.map(({ name }) => name))];
  };
  const askDatabase = async (): Promise<Record<string, string>> => {
    const [migrations, records] = await Promise.all([
      reach('database', migrationState),
      warehouse === undefined ? ok : reach('warehouse', () => warehouse.query('select 1').then(() => ok)),
    ]);
    const reached = migrations !== "can't be reached";
    return {
      database: reached ? ok : migrations,
      migrations: reached ? migrations : 'unknown',
      ...(warehouse !== undefined && { warehouse: records }),
    };
  };
  const databaseChecks = async (): Promise<Record<string, string>> => {
    if (answer !== undefined && clock.monotonicMs() - answer.atMs < trustMs) return answer.checks;
    asking ??= askDatabase().finally(() => {
      asking = undefined;
    });
    const checks = await asking;
    answer = { atMs: clock.monotonicMs(), checks };
    return checks;
  };
  return async () => {
    // Nobody waits for a database to hear that the process ends.
    if (parts.stopping.aborted) return { ready: false, checks: { process: 'stopping' } };
    const checks = {
      process: ok,
      ...(await databaseChecks()),
      scheduler: parts.sinceTickMs() <= mostSinceTickMs ? ok : 'does not tick',
    };
    return { ready: Object.values(checks).every((state) => state === ok || state === ahead), checks };
  };
}
