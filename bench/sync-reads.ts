// What readers notice of a publish: requests at a fixed rate, 30 % of saturation, timed from the moment they
// were due, so that a stall counts for each request it delays. Two of three are lists (a customer's records,
// and pages 1 to 20 of the newest), one is a record.
import { Agent, get } from 'node:http';
import { z } from 'zod';
import { createManagementClient } from '../demo/management-client.ts';
import type { DatabaseAddress } from '../src/db/connect.ts';
import { isFinal } from '../src/sync/queue/run-state.ts';
import { createSyncOrganization, type SyncOrganization } from './sync-organization.ts';
import { type ServiceProcess, startServiceProcess } from './sync-service.ts';
import type { Bench } from './sync-throughput.ts';

const readShare = 0.3;
const closedLoopMs = 5_000;
const idleMs = 10_000;
const afterwardsMs = 1_000;
const timeoutMs = 300_000;

type SendRequest = (n: number) => Promise<void>;
export type Quantiles = { readonly p50: number; readonly p99: number; readonly n: number };
export type ReadsResult = {
  readonly saturation: number;
  readonly idle: Quantiles;
  /** While the run reads, stages and publishes. */
  readonly run: Quantiles;
  /** While it publishes, and for one second after. */
  readonly publish: Quantiles;
};

export function computeQuantiles(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (q: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), n: sorted.length };
}

function createSendRequest(url: string, headers: Record<string, string>, records: number): SendRequest {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const buildPath = (n: number): string => {
    const base = '/api/public/v1/records';
    if (n % 3 === 2) return `${base}/${1 + ((n * 7_919) % records)}`;
    const page = 1 + (n % 20);
    return n % 3 === 0
      ? `${base}?customer=${1_000 + ((n * 7) % 4_000)}`
      : `${base}?sort=date&order=desc&page=${page}`;
  };
  return (n) =>
    new Promise((resolve, reject) => {
      const request = get(`${url}${buildPath(n)}`, { agent, headers }, (response) => {
        response.resume();
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${buildPath(n)} returned status ${response.statusCode}`));
        });
      });
      request.once('error', reject);
    });
}

async function saturate(send: SendRequest, connections: number): Promise<number> {
  const startMs = performance.now();
  let done = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() - startMs < closedLoopMs) {
      await send(done);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return done / ((performance.now() - startMs) / 1000);
}

type Timed = { readonly dueMs: number; readonly tookMs: number };

/**
 * Sends requests at a fixed rate until `stop`, which resolves with the durations and rejects if a request
 * failed.
 */
function sendAtFixedRate(send: SendRequest, perSecond: number): { stop(): Promise<Timed[]> } {
  const timed: Timed[] = [];
  const pending = new Set<Promise<void>>();
  const startMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) * perSecond) / 1000);
    for (; sent < due; sent += 1) {
      const dueMs = startMs + (sent * 1000) / perSecond;
      const settled: Promise<void> = send(sent).then(() => {
        timed.push({ dueMs, tookMs: performance.now() - dueMs });
        pending.delete(settled);
      });
      pending.add(settled);
      // A failure is reported by stop().
      settled.catch(() => undefined);
    }
  }, 1);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(pending);
      return timed;
    },
  };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const anything = z.unknown();
const Draft = z.object({ id: z.string(), revision: z.number() });
const Published = z.object({ status: z.string() });

async function publishVersion(url: string, key: string): Promise<void> {
  const call = createManagementClient(url, key);
  const field = (name: string, source: string) => ({ name, source, description: '' });
  const draft = await call('POST', '/api-schema', Draft, {
    endpoints: [
      {
        name: 'records',
        recordType: 'customer',
        fields: [
          field('customer', 'entity'),
          field('date', 'trandate'),
          ...['tranid', 'email', 'city', 'total', 'balance', 'paid', 'duedate', 'memo', 'seq'].map((name) =>
            field(name, name),
          ),
        ],
        filters: [{ field: 'customer', operators: ['eq'] }],
        sorts: ['date'],
      },
    ],
  });
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision });
  for (
    let waitedMs = 0;
    (await call('GET', `/api-schema/${draft.id}`, Published)).status !== 'published';
    waitedMs += 100
  ) {
    if (waitedMs > timeoutMs) throw new Error(`The version was not published within ${timeoutMs} ms`);
    await sleep(100);
  }
}

type Reading = {
  readonly organization: SyncOrganization;
  readonly service: ServiceProcess;
  readonly records: number;
  readonly send: SendRequest;
  readonly saturation: number;
};

/** Measures reads when idle, then while a run changes every second record. */
async function readWhilePublishing(
  { organization, service, records, send, saturation }: Reading,
  version: number,
): Promise<ReadsResult> {
  const quiet = sendAtFixedRate(send, saturation * readShare);
  await sleep(idleMs);
  const idle = computeQuantiles((await quiet.stop()).map(({ tookMs }) => tookMs));
  await service.setErpState({ count: records, changesEvery: 2, version });
  const busy = sendAtFixedRate(send, saturation * readShare);
  const runId = await organization.queueRun('incremental');
  let publishingMs = Number.NaN;
  for (
    let { status } = await organization.getRun(runId);
    !isFinal(status);
    { status } = await organization.getRun(runId)
  ) {
    if (status === 'publishing' && Number.isNaN(publishingMs)) publishingMs = performance.now();
    await sleep(10);
  }
  const { counts } = await organization.waitForSuccess(runId, timeoutMs);
  if (counts?.updated !== Math.floor(records / 2))
    throw new Error(`The run changed ${counts?.updated} records instead of ${Math.floor(records / 2)}`);
  await sleep(afterwardsMs);
  const timed = await busy.stop();
  const took = (from: number): number[] =>
    timed.flatMap(({ dueMs, tookMs }) => (dueMs >= from ? [tookMs] : []));
  return { saturation, idle, run: computeQuantiles(took(0)), publish: computeQuantiles(took(publishingMs)) };
}

/** Returns one result per round. */
export async function measureReads(
  bench: Bench,
  address: DatabaseAddress,
  rounds: number,
): Promise<ReadsResult[]> {
  const { ctx, admin, records } = bench;
  // No indexes here: publishing the version builds three.
  const organization = await createSyncOrganization(ctx, []);
  const service = await startServiceProcess({
    address,
    settings: ctx.settings,
    erp: { count: records, changesEvery: 0, version: 0 },
  });
  try {
    await organization.waitForSuccess(await organization.queueRun('full'), timeoutMs);
    await publishVersion(service.url, organization.key);
    await admin.query(`vacuum analyze ${await organization.activeTable()}`);
    const send = createSendRequest(
      service.url,
      { authorization: `Bearer ${organization.key}`, 'x-tenant-id': organization.organizationId },
      records,
    );
    await saturate(send, 16); // warms up
    const saturation = await saturate(send, 16);
    const results: ReadsResult[] = [];
    for (let version = 1; version <= rounds; version += 1)
      results.push(await readWhilePublishing({ organization, service, records, send, saturation }, version));
    return results;
  } finally {
    await service.kill();
    await admin.query(`drop schema ${organization.schema} cascade`);
  }
}
