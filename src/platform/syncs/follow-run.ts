// A run as a stream: its log line by line, its state and progress as they change, and how it ended. The run's row is read before
// its log: a final state and the last event are written together, so whoever sees the one finds the other.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import type { EventChannel } from '../../http/route.ts';
import { isFinal } from '../../sync/index.ts';
import { getRunRow, runView } from './syncs.service.ts';
import { eventsAfter } from './syncs.store.ts';

const linesAtOnce = 200;

function firstUnseen({ lastEventId }: EventChannel): string {
  if (lastEventId === null) return '0';
  if (/^\d{1,18}$/.test(lastEventId)) return lastEventId;
  throw new AppError('BAD_REQUEST', 'The header Last-Event-ID is not valid', {
    details: [{ path: 'last-event-id', code: 'bad_event_id', message: 'Send the id of the last event, or no such header' }],
  });
}

export async function followRun(ctx: RequestCtx, runId: string, channel: EventChannel): Promise<void> {
  let seen = firstUnseen(channel);
  let shown = '';
  const following = channel.follow(`sync-run:${runId}`);
  try {
    for (;;) {
      const { run, lines } = await inTransaction(ctx, async (tx) => ({
        run: await getRunRow(tx, ctx, runId),
        lines: await eventsAfter(tx, ctx.organizationId, runId, seen, linesAtOnce),
      }));
      for (const { id, at, ...line } of lines) {
        await channel.send({ event: 'log', data: { ...line, at: instant(at) }, id });
        seen = id;
      }
      if (lines.length === linesAtOnce) continue;
      const view = runView(run);
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
