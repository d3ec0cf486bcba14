// The ERP's own clock and calendar day at the start of a run, and what follows when that clock was set back.
import { type Connector, ErpError } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import type { RecordState } from '../../warehouse/record-state.ts';
import { limitRollingReadToErpClock } from '../../warehouse/rolling-reads.ts';

/** `now` is RFC 3339 UTC; `today` is the calendar day in the account's time zone, YYYY-MM-DD. */
export type ErpClock = { readonly now: string; readonly today: string };

const isRefused = (error: unknown): boolean =>
  error instanceof ErpError && ['forbidden', 'query', 'answer'].includes(error.kind);

/** Where the ERP refuses to say its day, it is UTC's. Rejects with the connector's other errors. */
export async function readErpClock(
  { log }: Pick<TenantCtx, 'log'>,
  connector: Pick<Connector, 'now' | 'today'>,
  signal: AbortSignal,
): Promise<ErpClock> {
  const now = (await connector.now(signal)).toISOString();
  const today = await connector.today(signal).catch((error: unknown) => {
    if (!isRefused(error)) throw error;
    log.warn({ err: error }, "the ERP doesn't say its calendar day; using that of UTC");
    return now.slice(0, 10);
  });
  return { now, today };
}

/**
 * When the ERP's clock went back behind the high-water mark, lowers the mark with it and makes a scan due:
 * records that change now may get a modification time before the range that would be read. Written at once,
 * because the run that notices it may fail and the clock may move forward again. Reading more than needed
 * does no harm. Returns the mark.
 */
export async function lowerHighWaterToErpClock(
  ctx: TenantCtx,
  schema: string,
  { recordType, highWater }: Pick<RecordState, 'recordType' | 'highWater'>,
  erpNow: string,
): Promise<string | null> {
  await inDataTransaction(ctx.db.data, (client) =>
    limitRollingReadToErpClock(client, schema, recordType, erpNow),
  );
  if (highWater === null || Date.parse(erpNow) >= Date.parse(highWater)) return highWater;
  const lowered = new Date(Date.parse(erpNow) - ctx.settings.sync.settleMs).toISOString();
  await inDataTransaction(ctx.db.data, async (client) => {
    await client.query(
      `update ${schema}.record_state set high_water = least(high_water, $2::timestamptz), reconciled_at = null, scanned_on = null
       where record_type = $1`,
      [recordType, lowered],
    );
  });
  return lowered;
}
