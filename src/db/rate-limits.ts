// Counts events in fixed windows by the database's clock, each started by its first event: in PostgreSQL, so
// that all processes agree.
import type { Ctx } from '../core/ctx.ts';

/** The window of the rate limits of requests. */
export const requestWindowSeconds = 60;

export type Hits = { readonly hits: number; readonly secondsLeft: number };

/**
 * Counts an event in the key's window. Resolves to the total and how long the
 * window still lasts. Rejects with the database's error while it is unavailable.
 */
export async function countHits(
  ctx: Pick<Ctx, 'db'>,
  key: string,
  { count = 1, windowSeconds = requestWindowSeconds }: { count?: number; windowSeconds?: number } = {},
): Promise<Hits> {
  const { rows } = await ctx.db.control.raw<{ rows: { hits: number; seconds_left: number }[] }>(
    `insert into rate_limits as existing (key, hits, resets_at) values (?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (key) do update set
       hits = case when existing.resets_at <= clock_timestamp() then excluded.hits else existing.hits + excluded.hits end,
       resets_at = case when existing.resets_at <= clock_timestamp() then excluded.resets_at else existing.resets_at end
     returning hits, extract(epoch from resets_at - clock_timestamp())::float8 as seconds_left`,
    [key, count, windowSeconds],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('the rate limit query returned no row');
  return { hits: row.hits, secondsLeft: row.seconds_left };
}
