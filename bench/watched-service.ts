// The service in its own process, application and scheduler, whose event loop is watched: how long does a
// request wait for its turn that arrives at any moment? `monitorEventLoopDelay` counts a block of a second as
// one sample among hundreds; here it counts as every request that would have arrived during it. The CPU time
// of a turn tells the service's own part from that of other programs on the machine.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createApp } from '../src/app.ts';
import { netsuite } from '../src/connectors/netsuite/connector.ts';
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

/**
 * Of the time since `watch()`, and the peak memory of the process so far. `cpu…`: CPU time instead of time.
 */
export type LoopLag = Readonly<
  Record<'p50Ms' | 'p99Ms' | 'maxMs' | 'cpuP99Ms' | 'cpuMaxMs' | 'peakBytes', number>
>;
/** `erpUrl`: the NetSuite account that all organizations sync from; null starts no scheduler. */
type ServiceOptions = {
  readonly address: DatabaseAddress;
  readonly settings: Settings;
  readonly erpUrl: string | null;
};
export type WatchedService = {
  readonly url: string;
  readonly pid: number;
  /** Starts to watch the event loop. */
  watch(): Promise<void>;
  readLag(): Promise<LoopLag>;
  stop(): Promise<void>;
};

/** Rejects, as its methods do, when the process ends. */
export async function startWatchedService(options: ServiceOptions): Promise<WatchedService> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(options)], {
    stdio: 'inherit',
    execArgv: process.execArgv,
  });
  const exited = once(child, 'exit');
  const nextReply = async <T>(): Promise<T> => {
    const ended = exited.then(() => Promise.reject(new Error('The service process ended')));
    const [reply] = (await Promise.race([once(child, 'message'), ended])) as [T];
    return reply;
  };
  const request = async <T>(name: 'watch' | 'lag'): Promise<T> => {
    const reply = nextReply<T>();
    child.send(name);
    return reply;
  };
  const { url } = await nextReply<{ url: string }>();
  if (child.pid === undefined) throw new Error('The service did not start');
  return {
    url,
    pid: child.pid,
    watch: async () => void (await request('watch')),
    readLag: () => request('lag'),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

const sampleMs = 2;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Samples when a timer fires: what is late by n samples delayed n requests, each by less than the one before.
 */
function watchLoop() {
  const [lagUs, cpuUs] = [createHistogram(), createHistogram()];
  const recordLate = (histogram: typeof lagUs, ms: number): void => {
    for (let lateMs = Math.max(0.001, ms); lateMs > 0; lateMs -= sampleMs)
      histogram.record(Math.max(1, Math.round(lateMs * 1_000)));
  };
  let dueMs = performance.now() + sampleMs;
  let usedMs = cpuMs();
  const sample = (): void => {
    recordLate(lagUs, performance.now() - dueMs);
    recordLate(cpuUs, cpuMs() - usedMs);
    dueMs = performance.now() + sampleMs;
    usedMs = cpuMs();
    setTimeout(sample, sampleMs);
  };
  setTimeout(sample, sampleMs);
  return {
    reset: () => {
      lagUs.reset();
      cpuUs.reset();
    },
    read: (): LoopLag => ({
      p50Ms: lagUs.percentile(50) / 1_000,
      p99Ms: lagUs.percentile(99) / 1_000,
      maxMs: lagUs.max / 1_000,
      cpuP99Ms: cpuUs.percentile(99) / 1_000,
      cpuMaxMs: cpuUs.max / 1_000,
      peakBytes: process.resourceUsage().maxRSS * 1024,
    }),
  };
}

async function serve({ address, settings, erpUrl }: ServiceOptions): Promise<void> {
  const ctx: Ctx = {
    db: openDb(address, address, { control: 10, data: 10 }, settings.readTimeoutMs),
    settings,
    clock: systemClock,
    log: createLog('warn'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'bench', bytes: Buffer.alloc(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  };
  const server = createServer({ keepAliveTimeout: 65_000 }, createApp(ctx));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  if (erpUrl !== null) {
    const authentication = { method: 'tba', consumerKey: 'bench', tokenId: 'bench' } as const;
    const secrets = { consumerSecret: 'bench', tokenSecret: 'bench' };
    startScheduler(ctx, {
      createConnector: async (of) =>
        netsuite.create(of, { accountId: '1234567', baseUrl: erpUrl, authentication }, secrets),
    });
  }
  const loop = watchLoop();
  process.on('message', (name) => {
    if (name === 'lag') process.send?.(loop.read());
    else {
      loop.reset();
      process.send?.({});
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const [role, options] = process.argv.slice(2);
if (role === 'serve' && options !== undefined) await serve(JSON.parse(options) as ServiceOptions);
