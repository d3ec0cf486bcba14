// The service in its own process, as `npm start` runs it, except that its records are created page by page,
// so that the memory of the process is the service's. The parent can query its memory, set which records the
// ERP has, and kill it.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createApp } from '../src/app.ts';
import { systemClock } from '../src/core/clock.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { createLog } from '../src/core/log.ts';
import { createGuardedFetch } from '../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../src/core/secrets/keyring.ts';
import type { Settings } from '../src/core/settings.ts';
import { createAccountLimits } from '../src/core/work/account-limits.ts';
import { createTrackedWork } from '../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../src/db/connect.ts';
import { startScheduler } from '../src/sync/run/scheduler.ts';
import { createBenchConnector, createLazySource } from './sync-records.ts';

/** Of `count` records every `changesEvery`th is at `version`; `changesEvery` 0 changes none. */
export type ErpState = { readonly count: number; readonly changesEvery: number; readonly version: number };
type ServiceOptions = {
  readonly address: DatabaseAddress;
  readonly settings: Settings;
  readonly erp: ErpState;
};
type Reply =
  | { readonly url: string }
  | { readonly erp: ErpState }
  | { readonly peakBytes: number; readonly nowBytes: number };

export type ServiceProcess = {
  readonly url: string;
  readonly pid: number;
  setErpState(erp: ErpState): Promise<void>;
  memory(): Promise<{ peakBytes: number; nowBytes: number }>;
  kill(): Promise<void>;
};

export async function startServiceProcess(options: ServiceOptions): Promise<ServiceProcess> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(options)], {
    stdio: 'inherit',
    execArgv: process.execArgv,
  });
  const exited = once(child, 'exit');
  const nextReply = async (): Promise<Reply> => {
    const [reply] = (await Promise.race([
      once(child, 'message'),
      exited.then(() => Promise.reject(new Error('The service process ended'))),
    ])) as [Reply];
    return reply;
  };
  const request = async (message: object): Promise<Reply> => {
    const reply = nextReply();
    child.send(message);
    return reply;
  };
  const started = await nextReply();
  if (!('url' in started) || child.pid === undefined) throw new Error('The service did not start');
  return {
    url: started.url,
    pid: child.pid,
    setErpState: async (erp) => {
      await request({ erp });
    },
    memory: async () => {
      const reply = await request({ memory: true });
      if (!('peakBytes' in reply)) throw new Error('The service did not report its memory');
      return reply;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function serve({ address, settings, erp: first }: ServiceOptions): Promise<void> {
  let erp = first;
  const ctx: Ctx = {
    db: openDb(address, address, { control: 10, data: 10 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: createLog('warn'),
    fetch: createGuardedFetch({ allowPrivateHosts: false }),
    keyring: createKeyring([{ id: 'bench', bytes: Buffer.alloc(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  };
  const rows = () => {
    const { count, changesEvery, version } = erp;
    return createLazySource(count, (n) => (changesEvery > 0 && n % changesEvery === 0 ? version : 0));
  };
  const connector = createBenchConnector(rows);
  const server = createServer({ keepAliveTimeout: 65_000 }, createApp(ctx));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  startScheduler(ctx, { createConnector: async () => connector });
  process.on('message', (message: { erp?: ErpState }) => {
    if (message.erp === undefined) {
      process.send?.({
        peakBytes: process.resourceUsage().maxRSS * 1024,
        nowBytes: process.memoryUsage.rss(),
      });
      return;
    }
    erp = message.erp;
    process.send?.({ erp });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const [role, options] = process.argv.slice(2);
if (role === 'serve' && options !== undefined) await serve(JSON.parse(options) as ServiceOptions);
