// What readers notice of a publish: requests at a fixed rate, 30 % of what the service can answer at most, timed from the moment
// they were due, so that a stall counts for each request it delays. Two of three are lists (a customer's records, and pages 1 to 20 of the newest), one
// is a record.
import { Agent, get } from 'node:http';
import { z } from 'zod';
import type { Address } from '../src/db/connect.ts';
import { managementClient } from '../src/demo/management-client.ts';
import { isFinal } from '../src/sync/run-state.ts';
import { type Company, openCompany } from './sync-company.ts';
import { type ServiceProcess, startServiceProcess } from './sync-service.ts';
import type { Bench } from './sync-throughput.ts';

const share = 0.3;
const closedLoopMs = 5_000;
const idleMs = 10_000;
const afterwardsMs = 1_000;
const patienceMs = 300_000;

type Ask = (n: number) => Promise<void>;
export type Quantiles = { readonly p50: number; readonly p99: number; readonly n: number };
export type ReadsResult = {
  readonly saturation: number;
  readonly idle: Quantiles;
  /** While the run reads, stages and publishes. */
  readonly run: Quantiles;
  /** While it publishes, and a second on. */
  readonly publish: Quantiles;
};

export function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), n: sorted.length };
}

function openAsk(url: string, headers: Record<string, string>, records: number): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const pathOf = (n: number): string => {
    const base = '/api/public/v1/records';
    if (n % 3 === 2) return `${base}/${1 + ((n * 7_919) % records)}`;
    const page = 1 + (n % 20);
    return n % 3 === 0 ? `${base}?customer=${1_000 + ((n * 7) % 4_000)}` : `${base}?sort=date&order=desc&page=${page}`;
  };
  return (n) =>
    new Promise((resolve, reject) => {
      const request = get(`${url}${pathOf(n)}`, { agent, headers }, (response) => {
        response.resume();
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${pathOf(n)} was answered ${response.statusCode}`));
        });
      });
      request.once('error', reject);
    });
}

async function saturate(ask: Ask, connections: number): Promise<number> {
  const startMs = performance.now();
  let done = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() - startMs < closedLoopMs) {
      await ask(done);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return done / ((performance.now() - startMs) / 1000);
}

type Timed = { readonly dueMs: number; readonly tookMs: number };

/** Asks at a fixed rate until told to stop. */
function askSteadily(ask: Ask, perSecond: number): { stop(): Promise<Timed[]> } {
  const timed: Timed[] = [];
  const open = new Set<Promise<void>>();
  const startMs = performance.now();
  let asked = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) * perSecond) / 1000);
    for (; asked < due; asked += 1) {
      const dueMs = startMs + (asked * 1000) / perSecond;
      const answered: Promise<void> = ask(asked).then(() => {
        timed.push({ dueMs, tookMs: performance.now() - dueMs });
        open.delete(answered);
      });
      open.add(answered);
      // stop() throws it.
      answered.catch(() => undefined);
    }
  }, 1);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(open);
      return timed;
    },
  };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const anything = z.unknown();
const Draft = z.object({ id: z.string(), revision: z.number() });
const Published = z.object({ status: z.string() });

async function publishVersion(url: string, key: string): Promise<void> {
  const call = managementClient(url, key);
  const field = (name: string, source: string) => ({ name, source, description: '' });
  const draft = await call('POST', '/api-schema', Draft, {
    endpoints: [
      {
        name: 'records',
        recordType: 'customer',
        fields: [
          field('customer', 'entity'),
          field('date', 'trandate'),
          ...['tranid', 'email', 'city', 'total', 'balance', 'paid', 'duedate', 'memo', 'seq'].map((name) => field(name, name)),
        ],
        filters: [{ field: 'customer', operators: ['eq'] }],
        sorts: ['date'],
      },
    ],
  });
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision });
  for (let waitedMs = 0; (await call('GET', `/api-schema/${draft.id}`, Published)).status !== 'published'; waitedMs += 100) {
    if (waitedMs > patienceMs) throw new Error('the version was not published');
    await wait(100);
  }
}

type Reading = {
  readonly company: Company;
  readonly service: ServiceProcess;
  readonly records: number;
  readonly ask: Ask;
  readonly saturation: number;
};

/** Idle first, then while a run changes every second record. */
async function readWhilePublishing({ company, service, records, ask, saturation }: Reading, version: number): Promise<ReadsResult> {
  const quiet = askSteadily(ask, saturation * share);
  await wait(idleMs);
  const idle = quantilesOf((await quiet.stop()).map(({ tookMs }) => tookMs));
  await service.setAccount({ count: records, changesEvery: 2, version });
  const busy = askSteadily(ask, saturation * share);
  const runId = await company.queue('incremental');
  let publishingMs = Number.NaN;
  for (let { status } = await company.row(runId); !isFinal(status); { status } = await company.row(runId)) {
    if (status === 'publishing' && Number.isNaN(publishingMs)) publishingMs = performance.now();
    await wait(10);
  }
  const { counts } = await company.ended(runId, patienceMs);
  if (counts?.updated !== Math.floor(records / 2)) throw new Error(`the run changed ${counts?.updated} records`);
  await wait(afterwardsMs);
  const timed = await busy.stop();
  const took = (from: number): number[] => timed.flatMap(({ dueMs, tookMs }) => (dueMs >= from ? [tookMs] : []));
  return { saturation, idle, run: quantilesOf(took(0)), publish: quantilesOf(took(publishingMs)) };
}

/** One round per entry. */
export async function measureReads(bench: Bench, address: Address, rounds: number): Promise<ReadsResult[]> {
  const { ctx, admin, records } = bench;
  // The version brings three of its own.
  const company = await openCompany(ctx, []);
  const service = await startServiceProcess({ address, settings: ctx.settings, account: { count: records, changesEvery: 0, version: 0 } });
  try {
    await company.ended(await company.queue('full'), patienceMs);
    await publishVersion(service.url, company.key);
    await admin.query(`vacuum analyze ${await company.table()}`);
    const ask = openAsk(service.url, { authorization: `Bearer ${company.key}`, 'x-tenant-id': company.organizationId }, records);
    await saturate(ask, 16); // warms up
    const saturation = await saturate(ask, 16);
    const results: ReadsResult[] = [];
    for (let version = 1; version <= rounds; version += 1)
      results.push(await readWhilePublishing({ company, service, records, ask, saturation }, version));
    return results;
  } finally {
    await service.kill();
    await admin.query(`drop schema ${company.schema} cascade`);
  }
}
