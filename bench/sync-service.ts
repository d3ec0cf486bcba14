// The service in a process of its own, as `npm start` runs it, but for where its records come from: they are made page by page, so
// that the process's memory is the service's. It can be asked for its memory, told which records the ERP has, and killed.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createApp } from '../src/app.ts';
import { systemClock } from '../src/core/clock.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { openGuardedFetch } from '../src/core/guarded-fetch.ts';
import { openKeyring } from '../src/core/keyring.ts';
import { openLog } from '../src/core/log.ts';
import type { Settings } from '../src/core/settings.ts';
import { type Address, openDb } from '../src/db/connect.ts';
import { startScheduler } from '../src/sync/scheduler.ts';
import { connectorOf, lazyRows } from './sync-rows.ts';

/** Of `count` records every `changesEvery`th is at `version`; 0 for none. */
export type Account = { readonly count: number; readonly changesEvery: number; readonly version: number };
type Order = { readonly address: Address; readonly settings: Settings; readonly account: Account };
type Told = { readonly url: string } | { readonly account: Account } | { readonly peakBytes: number; readonly nowBytes: number };

export type ServiceProcess = {
  readonly url: string;
  readonly pid: number;
  setAccount(account: Account): Promise<void>;
  memory(): Promise<{ peakBytes: number; nowBytes: number }>;
  kill(): Promise<void>;
};

export async function startServiceProcess(order: Order): Promise<ServiceProcess> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(order)], {
    stdio: 'inherit',
    execArgv: process.execArgv,
  });
  const gone = once(child, 'exit');
  const answer = async (): Promise<Told> => {
    const [told] = (await Promise.race([once(child, 'message'), gone.then(() => Promise.reject(new Error('the service ended')))])) as [
      Told,
    ];
    return told;
  };
  const ask = async (question: object): Promise<Told> => {
    const answered = answer();
    child.send(question);
    return answered;
  };
  const started = await answer();
  if (!('url' in started) || child.pid === undefined) throw new Error('the service did not start');
  return {
    url: started.url,
    pid: child.pid,
    setAccount: async (account) => {
      await ask({ account });
    },
    memory: async () => {
      const told = await ask({ memory: true });
      if (!('peakBytes' in told)) throw new Error('no answer about memory');
      return told;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function serve({ address, settings, account: first }: Order): Promise<void> {
  let account = first;
  const ctx: Ctx = {
    db: openDb(address, address, { control: 10, data: 10 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: openLog('warn'),
    fetch: openGuardedFetch({ allowPrivateHosts: false }),
    keyring: openKeyring([{ id: 'bench', bytes: Buffer.alloc(32) }]),
  };
  const rows = () => {
    const { count, changesEvery, version } = account;
    return lazyRows(count, (n) => (changesEvery > 0 && n % changesEvery === 0 ? version : 0));
  };
  const connector = connectorOf(rows);
  const server = createServer({ keepAliveTimeout: 65_000 }, createApp(ctx));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  startScheduler(ctx, { openConnector: async () => connector });
  process.on('message', (question: { account?: Account }) => {
    if (question.account === undefined) {
      process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1024, nowBytes: process.memoryUsage.rss() });
      return;
    }
    account = question.account;
    process.send?.({ account });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const [role, order] = process.argv.slice(2);
if (role === 'serve' && order !== undefined) await serve(JSON.parse(order) as Order);
