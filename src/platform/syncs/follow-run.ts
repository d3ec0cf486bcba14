// Streams a run: its log events, its state and progress as they change, and its final state. The run's row is
// read before its log: the final state and the last event are written in one transaction, so a final state
// implies that all events are visible.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import type { EventChannel } from '../../http/route/route.ts';
import { isFinal } from '../../sync/index.ts';
import { runView } from './run-view.ts';
import { getRunRow } from './runs.service.ts';
import { listEventsAfter } from './syncs.store.ts';

const eventsPerRead = 200;

function parseLastEventId({ lastEventId }: EventChannel): string {
  if (lastEventId === null) return '0';
  if (/^\d{1,18}$/.test(lastEventId)) return lastEventId;
  const message = 'Send the id of the last event received, or omit the header';
  throw new AppError('BAD_REQUEST', 'The Last-Event-ID header is not valid', {
    details: [{ path: 'last-event-id', code: 'bad_event_id', message }],
  });
}

/** Resolves when the run has ended or the stream is closed. Throws 404, 400 for an invalid Last-Event-ID. */
export async function followRun(ctx: RequestCtx, runId: string, channel: EventChannel): Promise<void> {
  let seen = parseLastEventId(channel);
  let shown = '';
  const following = channel.subscribe(`sync-run:${runId}`);
  try {
    for (;;) {
      const { run, lines } = await inTransaction(ctx, async (tx) => ({
        run: await getRunRow(tx, ctx, runId),
        lines: await listEventsAfter(tx, ctx.organizationId, runId, seen, eventsPerRead),
      }));
      for (const { id, at, ...line } of lines) {
        await channel.send({ event: 'log', data: { ...line, at: instant(at) }, id });
        seen = id;
      }
      if (lines.length === eventsPerRead) continue;
      const view = runView(ctx, run);
      if (isFinal(run.status)) return await channel.send({ event: 'end', data: view });
      const state = JSON.stringify(view);
      if (state !== shown) await channel.send({ event: 'run', data: view });
      shown = state;
      await following.next();
    }
  } finally {
    following.end();
  }
}
