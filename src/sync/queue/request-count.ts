// Counts the HTTP requests of a run to the ERP, the one for a token included. Attempts of a run add up: each
// stores what it sent, with its progress and at its end.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';

export type RequestCount = { readonly total: number; readonly rolling: number };

export type RequestCounter = {
  /** `ctx` with a fetch that counts. */
  readonly ctx: TenantCtx;
  /** Requests of this attempt so far. */
  count(): number;
  /** Attributes requests to the rolling full read; they are part of `count` already. */
  addRolling(requests: number): void;
  /** What was not taken yet. */
  untaken(): RequestCount;
  take(): RequestCount;
  /** Returns what could not be stored. */
  giveBack(count: RequestCount): void;
};

/** Counts what is sent through the returned `ctx`, from zero. */
export function createRequestCounter(ctx: TenantCtx): RequestCounter {
  let total = 0;
  let rolling = 0;
  let taken: RequestCount = { total: 0, rolling: 0 };
  const untaken = (): RequestCount => ({ total: total - taken.total, rolling: rolling - taken.rolling });
  return {
    ctx: {
      ...ctx,
      fetch: (url, request) => {
        total += 1;
        return ctx.fetch(url, request);
      },
    },
    count: () => total,
    addRolling: (requests) => {
      rolling += requests;
    },
    untaken,
    take() {
      const sent = untaken();
      taken = { total, rolling };
      return sent;
    },
    giveBack: (count) => {
      taken = { total: taken.total - count.total, rolling: taken.rolling - count.rolling };
    },
  };
}

/** The columns of sync_runs with these requests added. */
export const addedRequests = (tx: Tx, { total, rolling }: RequestCount) => ({
  requests: tx.raw('coalesce(requests, 0) + ?', [total]),
  rolling_requests: tx.raw('coalesce(rolling_requests, 0) + ?', [rolling]),
});

/**
 * Adds what the counter has not stored yet to the run's numbers, even after its lease was lost: it was sent.
 * Rejects with database errors.
 */
export async function saveRequests(ctx: TenantCtx, runId: string, counter: RequestCounter): Promise<void> {
  const sent = counter.take();
  if (sent.total + sent.rolling === 0) return;
  try {
    await inTransaction(ctx, (tx) =>
      tx('sync_runs')
        .where({ organization_id: ctx.organizationId, id: runId })
        .update(addedRequests(tx, sent)),
    );
  } catch (error) {
    counter.giveBack(sent);
    throw error;
  }
}

/** Requests of the configuration's runs queued or started in the last 24 h, by the database's clock. */
export async function readRecentRequests(ctx: TenantCtx, configId: string): Promise<RequestCount> {
  const row = await inTransaction(ctx, (tx) =>
    tx('sync_runs')
      .where({ organization_id: ctx.organizationId, sync_config_id: configId })
      .whereRaw("coalesce(started_at, queued_at) > clock_timestamp() - interval '24 hours'")
      .sum<{ total: string | null; rolling: string | null }[]>({
        total: 'requests',
        rolling: 'rolling_requests',
      })
      .first(),
  );
  return { total: Number(row?.total ?? 0), rolling: Number(row?.rolling ?? 0) };
}
