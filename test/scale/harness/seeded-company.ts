// A company whose ERP changes as a seed decides, and its clients: two processes serve it, one that asks the
// database at each request and one that trusts what it knows for a second as in production. Every answer goes
// through one oracle.
import type { Express } from 'express';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createReadEngine } from '../../../src/public/index.ts';
import { claimRun } from '../../../src/sync/queue/runs.store.ts';
import type { Random } from '../../chaos/random.ts';
import { publicApp, publishVersion } from '../../public/fixture.ts';
import { makeKey } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { datedFields, memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { createOracle, type Oracle } from './answer-oracle.ts';
import { type ChangeClients, createChangeClients } from './change-clients.ts';

export type SeededCompany = {
  readonly random: Random;
  readonly ctx: Ctx;
  readonly fixture: SyncFixture;
  readonly oracle: Oracle;
  readonly clients: ChangeClients;
  /** Asks the database at each request. */
  readonly exact: Express;
  /** Trusts what it knows for a second. */
  readonly trusting: Express;
};

const filters = [{ field: 'name', operators: ['eq', 'contains'] }];
export const createEndpoint = (fields: readonly { name: string; source: string }[]) => ({
  name: 'things',
  recordType: 'thing',
  fields,
  ...(fields.some(({ name }) => name === 'name') && { filters, sorts: ['name'] }),
});
export const bothFields = [
  { name: 'name', source: 'name' },
  { name: 'total', source: 'total' },
];
export const list = '/v1/things?pageSize=100';
export const addresses: readonly string[] = [
  list,
  '/v1/things?pageSize=5&page=2',
  '/v1/things?name_contains=beech&pageSize=2',
  '/v1/things?sort=name&order=desc&pageSize=4&page=3',
  '/v1/things/3',
  '/v1/things/7',
  '/v1/things#csv',
  '/v1/things?name_contains=alder#lines',
];

/** A process without anything in its caches. */
export const freshApp = (ctx: Ctx): Express => publicApp(ctx, undefined, createReadEngine(ctx));

async function readList(oracle: Oracle, app: Express): Promise<Map<string, unknown>> {
  const { status, text } = await oracle.read(app, list);
  if (status !== 200) throw new Error(`the list answered ${status} ${text}`);
  return new Map((JSON.parse(text).data as { id: string }[]).map((record) => [record.id, record]));
}

type CompanyOptions = {
  /** The ctx whose connections the trusting process uses; by default the company's. */
  readonly other?: Ctx;
  /** For how long a run that lost its worker waits until another one takes it over. */
  readonly leaseMs?: number;
};

/** Makes the company and its version v1. */
export async function openCompany(
  { settings: given, ...parts }: Ctx,
  random: Random,
  { other, leaseMs = 1_500 }: CompanyOptions = {},
): Promise<SeededCompany> {
  const sync = { ...given.sync, pageSize: 10, leaseMs, renewMs: 100 };
  const settings = { ...given, cacheTtlMs: 0, sync };
  const ctx: Ctx = { ...parts, settings };
  const fixture = await syncFixture(ctx, memoryErp(datedFields));
  fixture.erp.deleted = new Map();
  for (let id = 1; id <= 20; id += 1) fixture.erp.put(id);
  await fixture.sync();
  await publishVersion(ctx, fixture.organizationId, { endpoints: [createEndpoint(bothFields)] });
  const { secret } = await makeKey(ctx, fixture.organizationId);
  const oracle = createOracle({ secret, organizationId: fixture.organizationId });
  return {
    random,
    ctx,
    fixture,
    oracle,
    clients: createChangeClients(oracle, (app) => readList(oracle, app)),
    exact: freshApp(ctx),
    trusting: freshApp({
      ...ctx,
      ...(other !== undefined && { db: other.db }),
      settings: { ...settings, cacheTtlMs: 1_000 },
    }),
  };
}

/** Changes, creates and deletes a few records in the ERP. */
export function edit({ random, fixture: { erp } }: SeededCompany): void {
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const id = random.between(1, 30);
    if (random.chance(0.3) && erp.records.has(String(id)) && erp.records.size > 5) erp.drop(id);
    else
      erp.put(id, {
        name: `${random.pick(['alder', 'beech', 'alder beech', 'cedar'])} ${random.between(1, 99)}`,
        total: `${random.between(1, 9)}.25`,
      });
  }
}

/**
 * Works until the run has ended; false when it was lost. The next claim takes over what a broken connection
 * interrupted. Rejects when the run failed.
 */
export async function finishRun({ ctx, fixture }: SeededCompany, id: string): Promise<boolean> {
  const ended = await until(async () => {
    const lease = await claimRun(ctx, 'test', ctx.settings.sync.leaseMs).catch(() => undefined);
    if (lease !== undefined) await fixture.work(lease, noSignal, ctx);
    const found = await fixture
      .row(id)
      .catch((error: Error) => (error.message === 'the run is gone' ? 'gone' : undefined));
    if (found === undefined || found === 'gone') return found;
    return ['succeeded', 'failed'].includes(found.status) ? found.status : undefined;
  }, 300_000);
  if (ended === 'failed') throw new Error(`a run failed: ${JSON.stringify((await fixture.row(id)).error)}`);
  return ended === 'succeeded';
}

/**
 * Queues a run over some edits. `happen` is called when the run calls the ERP for the nth time, which `waits` for
 * it or goes on.
 */
export async function runThrough(
  company: SeededCompany,
  happen: () => Promise<unknown>,
  waits: boolean,
): Promise<{ readonly hasEnded: boolean; readonly hasHappened: boolean }> {
  const { fixture, random } = company;
  edit(company);
  const id = await fixture.queue(random.chance(0.5) ? 'full' : 'incremental');
  let left = random.between(1, 6);
  let happening: Promise<unknown> | undefined;
  fixture.erp.onCall = async () => {
    left -= 1;
    if (left === 0) happening = happen();
    // The failure of what happens is reported at the end.
    const settled = happening?.catch(() => undefined);
    if (waits) await settled;
  };
  const hasEnded = await finishRun(company, id).finally(() => {
    fixture.erp.onCall = () => undefined;
  });
  await happening;
  return { hasEnded, hasHappened: happening !== undefined };
}

/** From pairs of a weight and an action: each as often as its weight says. */
export const weigh = <T>(actions: readonly (readonly [weight: number, act: T])[]): readonly T[] =>
  actions.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

/** Rejects unless readers see what the ERP has. */
export async function assertPublished({ fixture, oracle, exact }: SeededCompany): Promise<void> {
  const own = [...(await readList(oracle, exact)).values()] as { id: string; name: string; total: number }[];
  const shown = own.map(({ id, name, total }) => `${id} ${name} ${total}`).sort();
  const wanted = [...fixture.erp.records.values()]
    .map(({ id, values }) => `${id} ${values['name']} ${Number(values['total'])}`)
    .sort();
  if (JSON.stringify(shown) !== JSON.stringify(wanted))
    throw new Error(`readers see ${shown}\ninstead of ${wanted}`);
}

/**
 * Reads some of the addresses as clients with and without copies do, and compares with what a process without
 * caches answers.
 */
export async function readSome(
  { oracle, exact, trusting, ctx, random }: SeededCompany,
  of = addresses,
): Promise<void> {
  for (const address of random.sample(of, 4)) {
    await oracle.read(trusting, address);
    await oracle.readAgain(exact, freshApp(ctx), address, random.pick);
  }
}
