// A second connection of the organization, to an OData service: the same workers sync its records, those with a time of
// modification and those whose changes the service tracks. They are edited and disturbed in the middle of runs, and must be
// right once it is quiet. What is drawn for them changes nothing in the plan of a seed.
import { startODataSimulator } from 'odata-simulator';
import { type Fault, type FaultyProxy, startFaultyProxy } from '../erp/faulty-proxy.ts';
import type { Company } from './company.ts';
import type { Fixture } from './fixture.ts';
import type { Plan } from './plan.ts';
import { createRandom, type Random } from './random.ts';
import type { Report } from './report.ts';

/** `field`: the text that edits change. `changedField`: null where the service tracks changes instead. */
const tables = {
  Orders: { field: 'Number', changedField: null },
  Things: { field: 'AString', changedField: 'ADateTimeOffset' },
} as const;
type Table = keyof typeof tables;
const names = Object.keys(tables) as Table[];
const faults: readonly Fault[] = [500, 503, 429, 'html', 'cut', 'lost'];
const maxRuns = 6;

export type OtherErp = {
  readonly service: Awaited<ReturnType<typeof startODataSimulator>>;
  readonly proxy: FaultyProxy;
  readonly host: string;
  stop(): Promise<void>;
};

export async function startOtherErp(): Promise<OtherErp> {
  const service = await startODataSimulator({ profile: 'generic', maxPageSize: 20 });
  const proxy = await startFaultyProxy(new URL(service.serviceRoot).origin);
  const stop = async () => {
    await proxy.stop();
    await service.stop();
  };
  return { service, proxy, host: new URL(proxy.url).host, stop };
}

type Records = OtherErp['service']['records'];
const list = (records: Records, table: Table): Map<string, unknown> =>
  new Map(
    records
      .list({ table }, { limit: 1_000 })
      .records.map(({ id, fields }) => [id, fields[tables[table].field]]),
  );

/** Creates a record, removes two, or renames some. */
function edit(records: Records, table: Table, random: Random): void {
  const { field } = tables[table];
  const [ids, name] = [[...list(records, table).keys()], String(random.between(1, 1_000_000))];
  const kind = random.between(1, 10);
  if (kind <= 2) records.create({ table }, { fields: { [field]: name } });
  else if (kind <= 4 && ids.length > 20)
    for (const id of random.sample(ids, 2)) records.remove({ table, id }, true);
  else
    for (const id of random.sample(ids, random.between(1, 12)))
      records.patch({ table, id }, { fields: { [field]: name }, touch: new Date().toISOString() });
}

async function connect({ service, proxy }: OtherErp, { api, ask }: Company): Promise<void> {
  const { credentials, serviceRoot } = service;
  if (credentials.kind !== 'header') throw new Error('the profile signs in by a header');
  const entitySets = Object.fromEntries(
    names.map((table) => [table, { changedField: tables[table].changedField }]),
  );
  await ask(201, () =>
    api('post', '/connections', {
      ...{ name: 'other', kind: 'odata', secrets: { headerValue: credentials.value } },
      settings: {
        serviceRoot: proxy.url + new URL(serviceRoot).pathname,
        signIn: { method: 'header', name: credentials.name },
        entitySets,
      },
    }),
  );
  await ask(200, () => api('post', '/connections/other/metadata/refresh'));
}

/** What is served of a table: the texts by the ids of the records. */
async function readServed(
  { ctx }: Fixture,
  { schema }: Company,
  table: Table,
): Promise<Map<string, unknown>> {
  const state = await ctx.db.data.query<{ active_table: string }>(
    `select active_table from ${schema}.record_state where record_type = $1`,
    [`other:${table}`],
  );
  const column = `f_${tables[table].field.toLowerCase()}`;
  const { rows } = await ctx.db.data.query<{ id: string; name: unknown }>(
    `select id::text as id, ${column} as name from ${schema}."${state.rows[0]?.active_table}"`,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export type OtherSyncs = {
  /** Edits, faults, and a run of each record type; all of it at the same time. Resolves when the runs have ended. */
  playRound(full: boolean): Promise<void>;
  /** Without faults: every record type becomes right. Reports a violation where one doesn't. */
  finish(): Promise<void>;
};

export async function openOtherSyncs(
  fixture: Fixture,
  company: Company,
  plan: Plan,
  report: Report,
): Promise<OtherSyncs> {
  const { other } = fixture;
  const { records } = other.service;
  const random = createRandom(plan.seed + 0x5eed);
  for (const table of names) {
    for (const id of list(records, table).keys()) records.remove({ table, id }, true);
    for (let n = 0; n < 45; n += 1) records.create({ table }, { fields: { [tables[table].field]: `${n}` } });
  }
  await connect(other, company);
  const configs = new Map<Table, string>();
  for (const table of names) {
    const body = { name: table, recordType: `other:${table}`, deletions: plan.deletions, maxDeleteShare: 1 };
    configs.set(table, (await company.ask(201, () => company.api('post', '/sync-configs', body))).id);
  }
  const run = async (table: Table, mode: 'incremental' | 'full') => {
    const ended = await company.syncConfig(configs.get(table) ?? '', mode);
    report.note(
      `other:${table}: ${ended.mode} ${ended.status} ${ended.error?.code ?? ''} attempt ${ended.attempt}`,
    );
    return ended;
  };
  const compare = async (table: Table, how: string): Promise<void> => {
    const [served, held] = [await readServed(fixture, company, table), list(records, table)];
    const ids = new Set([...served.keys(), ...held.keys()]);
    const differing = [...ids].filter((id) => served.get(id) !== held.get(id));
    if (differing.length === 0) return;
    const message = `other:${table}: ${differing.length} records differ after ${how}, such as ${differing.slice(0, 5).join()}`;
    report.violations.push({ kind: 'final', message });
  };
  return {
    async playRound(full) {
      const first = other.proxy.count() + 1;
      const events = Array.from({ length: random.between(1, 6) }, () => ({
        at: first + random.between(0, 30),
        table: random.pick(names),
        fault: random.chance(0.5) ? random.pick(faults) : null,
      }));
      for (const table of names) edit(records, table, random);
      other.proxy.onRequest = (count) => {
        for (const { table, fault } of events.filter(({ at }) => at === count))
          if (fault === null) edit(records, table, random);
          else other.proxy.faults.push(fault);
        return undefined;
      };
      await Promise.all(names.map((table) => run(table, full ? 'full' : 'incremental')));
      other.proxy.onRequest = () => undefined;
      other.proxy.faults.length = 0;
    },
    async finish() {
      for (const table of names) {
        edit(records, table, random);
        for (let runs = 1; (await run(table, 'incremental')).status !== 'succeeded'; runs += 1)
          if (runs === maxRuns) {
            report.violations.push({
              kind: 'stuck',
              message: `other:${table}: not green after ${runs} runs`,
            });
            return;
          }
        await compare(table, 'an incremental run');
        await run(table, 'full');
        await compare(table, 'a full run');
      }
    },
  };
}
