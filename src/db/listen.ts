// Hears NOTIFY on a connection of its own. Only a hint: whoever listens must also look by himself from time to time, because
// a broken connection is found late and a notification may be lost.
import type { Client, Notification } from 'pg';
import type { Ctx } from '../core/ctx.ts';

const reconnectMs = 2_000;

/**
 * Calls back at each notification on the channel, with its payload where it has one, and once without whenever the connection is
 * made. Returns how to stop.
 */
export function listen(ctx: Pick<Ctx, 'db' | 'log'>, channel: string, onNotice: (payload?: string) => void): () => Promise<void> {
  let stopped = false;
  let client: Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  const connect = async (): Promise<void> => {
    let made: Client | undefined;
    try {
      made = (await ctx.db.control.client.acquireRawConnection()) as Client;
      made.on('error', () => undefined);
      if (stopped) return await made.end();
      client = made;
      made.on('notification', ({ payload }: Notification) => (payload === undefined || payload === '' ? onNotice() : onNotice(payload)));
      made.on('end', again);
      await made.query(`listen ${channel}`);
      onNotice();
    } catch (error) {
      if (stopped) return;
      ctx.log.warn({ err: error }, 'notifications are not heard for the moment');
      again();
      await made?.end().catch(() => undefined);
    }
  };
  const again = (): void => {
    if (stopped || retry !== undefined) return;
    retry = setTimeout(() => {
      retry = undefined;
      connecting = connect();
    }, reconnectMs);
  };
  let connecting = connect();
  return async () => {
    stopped = true;
    clearTimeout(retry);
    await connecting;
    await client?.end().catch(() => undefined);
  };
}
