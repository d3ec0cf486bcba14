// Hears NOTIFY on a connection of its own. Only a hint: whoever listens must also look by himself from time to time, because
// a broken connection is found late and a notification may be lost.
import type { Client } from 'pg';
import type { Ctx } from '../core/ctx.ts';

const reconnectMs = 5_000;

/** Calls back at each notification on the channel, and once whenever the connection is made. Returns how to stop. */
export function listen(ctx: Pick<Ctx, 'db' | 'log'>, channel: string, onNotice: () => void): () => Promise<void> {
  let stopped = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  const connect = async (): Promise<void> => {
    if (stopped) return;
    try {
      const made = (await ctx.db.control.client.acquireRawConnection()) as Client;
      client = made;
      if (stopped) return void (await made.end());
      made.on('notification', onNotice);
      made.on('error', () => undefined);
      made.on('end', again);
      await made.query(`listen ${channel}`);
      onNotice();
    } catch (error) {
      ctx.log.warn({ err: error }, 'notifications are not heard for the moment');
      again();
    }
  };
  const again = (): void => {
    if (stopped || retry !== undefined) return;
    retry = setTimeout(() => {
      retry = undefined;
      void connect();
    }, reconnectMs);
  };
  const connecting = connect();
  return async () => {
    stopped = true;
    clearTimeout(retry);
    await connecting;
    await client?.end().catch(() => undefined);
  };
}
