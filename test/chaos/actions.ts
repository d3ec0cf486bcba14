// Carries out a plan and records what each action hit. Changes of the account are reported to `onChange` before anything else continues.
import type { Knex } from 'knex';
import { openKnex } from '../../src/db/connect.ts';
import { tableOf } from './books.ts';
import { type Company, patiently, waitFor } from './company.ts';
import { mutate, spoil, touch } from './mutations.ts';
import type { Action, Plan, RecordTypeName, RequestFault, StateFault } from './plan.ts';
import { type Random, randomOf } from './random.ts';
import type { Report } from './report.ts';
import type { Staff } from './staff.ts';
import type { World } from './world.ts';

export type Stage = {
  readonly world: World;
  readonly plan: Plan;
  readonly company: Company;
  readonly staff: Staff;
  readonly report: Report;
  /** Records what the account holds now, for the runs in progress. */
  readonly onChange: () => Promise<void>;
};
type Held = { readonly fault: StateFault; readonly recordType: RecordTypeName; rounds: number; end(): Promise<void> };
export type Actions = {
  perform(action: Action): Promise<void>;
  /** Ends the faults that are due now, or all of them. */
  endHolds(all: boolean): Promise<void>;
  holding(fault: StateFault, recordType: RecordTypeName): boolean;
  /** Kills and stops that are still in progress. */
  settled(): Promise<void>;
};

const statuses: Readonly<Record<RequestFault, number>> = { '429': 429, '500': 500, cut: 502, slow: 504 };
/** Longer than the service waits for a response. */
const slowMs = 1_200;

function injectFault({ world }: Stage, fault: RequestFault, times: number): void {
  const refusal = {
    type: 'about:blank',
    title: 'Error',
    'o:errorDetails': [{ detail: 'An unexpected error occurred.', 'o:errorCode': 'UNEXPECTED_ERROR' }],
  };
  world.account.injectFault({
    path: /./,
    times,
    status: statuses[fault],
    ...(fault === 'cut' && { cut: true, body: '{"items":[{"id":"1"}', status: 502 }),
    ...(fault === 'slow' && { delayMs: slowMs }),
    ...(fault === '500' && { body: refusal }),
    ...(fault === '429' && {
      body: { ...refusal, 'o:errorDetails': [{ detail: 'Too many.', 'o:errorCode': 'CONCURRENCY_LIMIT_EXCEEDED' }] },
    }),
  });
}

/** How often the account has returned the injected response since then. */
export function countHits({ world, report }: Stage, since: Date): void {
  for (const { at, status, reason } of world.account.audit()) {
    if (reason !== 'injected fault' || at < since) continue;
    for (const fault of ['429', '500', 'cut', 'slow'] as const) if (statuses[fault] === status) report.coverage[fault].hit += 1;
  }
}

const columnsToHide: Readonly<Record<'customer' | 'item' | 'transaction', readonly string[]>> = {
  customer: ['phone', 'comments', 'companyname', 'datecreated'],
  item: ['displayname', 'salesdescription', 'createddate'],
  transaction: ['memo', 'otherrefnum', 'duedate', 'createddate'],
};

type Ending = () => Promise<void>;
type Begin = (stage: Stage, recordType: RecordTypeName, random: Random, hit: () => void) => Promise<Ending>;

async function hide({ world: { account, wire } }: Stage, table: string, hit: () => void): Promise<Ending> {
  const words = `Record '${table}' was not found`;
  account.setVisible(table, false);
  wire.onRefusal(words, hit);
  return async () => {
    account.setVisible(table, true);
    wire.onRefusal(words, null);
  };
}

async function hideColumn({ world: { account, wire } }: Stage, table: string, column: string, hit: () => void): Promise<Ending> {
  const words = `Unknown identifier '${column}'`;
  account.setColumnVisible(table, column, false);
  wire.onRefusal(words, hit);
  return async () => {
    account.setColumnVisible(table, column, true);
    wire.onRefusal(words, null);
  };
}

/** Changes the account now and back at the end, and reports both. */
async function changeAndBack({ onChange }: Stage, there: () => Promise<void>, back: () => Promise<void>): Promise<Ending> {
  await there();
  await onChange();
  return async () => {
    await back();
    await onChange();
  };
}

/** How a lasting fault starts; each returns how to end it. */
const begin: Readonly<Record<StateFault, Begin>> = {
  'hidden-table': (stage, recordType, _random, hit) => hide(stage, tableOf(recordType), hit),
  'hidden-deletions': (stage, _recordType, _random, hit) => hide(stage, 'deletedrecord', hit),
  'bad-column': (stage, recordType, random, hit) =>
    hideColumn(stage, tableOf(recordType), random.pick(columnsToHide[tableOf(recordType)]), hit),
  'locked-record': async ({ world: { books, wire }, onChange }, recordType, random, hit) => {
    const id = random.pick(await books.ids(recordType));
    wire.lock({ table: tableOf(recordType), id, onTaken: hit });
    if (random.chance(0.6)) {
      await touch(books, recordType, id); // it is locked because someone is editing it
      await onChange();
    }
    return async () => wire.lock(null);
  },
  'narrow-role': async (stage, recordType, random) => {
    const { books } = stage.world;
    const ids = random.sample(await books.ids(recordType), random.between(24, 40));
    return changeAndBack(stage, () => books.narrowRole(recordType, ids), books.widenRole);
  },
  'bad-value': async (stage, recordType, random) => {
    const { books } = stage.world;
    const id = random.pick(await books.ids(recordType));
    return changeAndBack(
      stage,
      () => spoil(books, recordType, id, false),
      () => spoil(books, recordType, id, true),
    );
  },
};

/** As the superuser, which can see what other backends wait for. */
async function asAdmin<T>({ world }: Stage, work: (admin: Knex) => Promise<T>): Promise<T> {
  const admin = openKnex(world.address, null, 1);
  try {
    return await work(admin);
  } finally {
    await admin.destroy();
  }
}

const publishWithinMs = 1_200;

/** Waits until a publish of that record type is just before its first change, and acts there; returns whether one came. */
async function strikePublish(stage: Stage, recordType: RecordTypeName, strike: () => Promise<void>): Promise<boolean> {
  const { world, company } = stage;
  const holder = await world.ctx.db.data.connect();
  holder.on('error', () => undefined);
  let lost: Error | undefined;
  try {
    await holder.query(`begin; select from ${company.schema}.record_state where record_type = '${recordType}' for update`);
    const look = (admin: Knex) => async () => {
      const { rows } = await admin.raw<{ rows: unknown[] }>(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like ?`,
        [`%${company.schema}.record_state%for update%`],
      );
      return rows.length === 0 ? undefined : true;
    };
    const isMet = await asAdmin(stage, (admin) => waitFor('a publish', look(admin), publishWithinMs).catch(() => false));
    await strike();
    return isMet;
  } finally {
    await holder.query('rollback').catch((error: Error) => {
      lost = error;
    });
    holder.release(lost);
  }
}

/** The processes that work on runs of this company. */
const busyWorkers = (stage: Stage): Promise<number[]> =>
  asAdmin(stage, async (admin) => {
    const rows = await admin('sync_runs')
      .where({ organization_id: stage.company.organizationId })
      .whereIn('status', ['running', 'publishing'])
      .whereNotNull('lease_owner')
      .select<{ lease_owner: string }[]>('lease_owner');
    return rows.map(({ lease_owner: owner }) => Number(owner.split('/').at(-2)));
  });

async function disaster(stage: Stage, action: Extract<Action, { do: 'kill' | 'stop' }>): Promise<void> {
  const { world, staff, report } = stage;
  const coverage = report.coverage[action.do === 'kill' ? 'kill -9' : 'immediate stop'];
  const strike = async (): Promise<void> => {
    if (action.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, action.delayMs));
    const busy = await patiently(() => busyWorkers(stage));
    coverage.injected += 1;
    if (busy.length > 0) coverage.hit += 1;
    if (action.do === 'stop') return world.cluster.crash();
    const pid = staff.pids().find((known) => busy.includes(known)) ?? staff.pids()[0];
    if (pid !== undefined) await staff.replace(pid);
  };
  const isSetUp = await patiently(async () => {
    const { rows } = await world.ctx.db.data.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
      `${stage.company.schema}.record_state`,
    ]);
    return rows[0]?.there === true;
  });
  if (action.when === 'reading' || !isSetUp) return strike();
  const met = await strikePublish(stage, action.recordType, strike);
  report.note(`${action.do} while publishing ${action.recordType}: ${met ? 'met' : 'no publish came'}`);
}

export function openActions(stage: Stage): Actions {
  const { world, plan, report, onChange } = stage;
  const holds: Held[] = [];
  const disasters = new Set<Promise<void>>();

  const hold = async (action: Extract<Action, { do: 'hold' }>): Promise<void> => {
    const { fault, recordType, rounds } = action;
    report.coverage[fault].injected += 1;
    const end = await begin[fault](stage, recordType, randomOf(action.seed), () => {
      report.coverage[fault].hit += 1;
    });
    holds.push({ fault, recordType, rounds, end });
  };

  /** Runs in parallel to the request that triggers it: the affected work must continue meanwhile. */
  const strike = (action: Parameters<typeof disaster>[1]): void => {
    const striking = disaster(stage, action).finally(() => disasters.delete(striking));
    disasters.add(striking);
    striking.catch(() => undefined);
  };

  return {
    async perform(action) {
      report.note(JSON.stringify(action));
      switch (action.do) {
        case 'mutate': {
          const done = await mutate(world.books, action.kind, action.seed, plan.paymentTouchesInvoice);
          report.mutations.set(done, (report.mutations.get(done) ?? 0) + 1);
          return onChange();
        }
        case 'step-clock':
          await world.books.stepClock(action.minutes);
          report.coverage['clock-step'].injected += 1;
          report.coverage['clock-step'].hit += 1;
          return onChange();
        case 'fault':
          report.coverage[action.fault].injected += action.times;
          return injectFault(stage, action.fault, action.times);
        case 'hold':
          return hold(action);
        default:
          return strike(action);
      }
    },
    async endHolds(all) {
      for (const held of holds) held.rounds -= 1;
      for (const held of holds.filter(({ rounds }) => all || rounds <= 0)) {
        holds.splice(holds.indexOf(held), 1);
        await held.end();
      }
    },
    holding: (fault, recordType) => holds.some((held) => held.fault === fault && held.recordType === recordType),
    settled: async () => {
      await Promise.all(disasters);
    },
  };
}
