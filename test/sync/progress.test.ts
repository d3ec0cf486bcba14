// What a caller and the log see of a run that is in the middle: how much is done, of how much, and how long
// the rest takes.
import pino from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import type { Api } from '../setup/api.ts';
import { type TestClock, testClock } from '../setup/database.ts';
import {
  type Call,
  countCalls,
  datedFields,
  erpError,
  type MemoryErp,
  memoryErp,
  type SyncFixture,
  syncFixture,
  until,
  withSync,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ renewMs: 3_600_000 });
let clock: TestClock;
let ctx: Ctx;
let lines: string[];
beforeEach(() => {
  clock = testClock(new Date());
  lines = [];
  ctx = withPages(10);
});

function withPages(pageSize: number): Ctx {
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
  return { ...withSync(site.ctx, { pageSize }), clock, log };
}

async function fixtureWith(
  count: number,
  erp: MemoryErp = memoryErp(),
): Promise<{ fixture: SyncFixture; api: Api }> {
  const fixture = await syncFixture(ctx, erp);
  for (let id = 1; id <= count; id += 1) fixture.erp.put(id);
  return { fixture, api: await site.api(fixture) };
}

type Progress = { readonly phase?: string; readonly done?: number };
/**
 * Every call of this operation takes five seconds of the process's time; the nth is not answered before `finish`,
 * which returns the ended run. Resolves with the run once it is as far as this.
 */
async function holdAt(
  { fixture, api }: Awaited<ReturnType<typeof fixtureWith>>,
  operation: Call['operation'],
  nth: number,
  wanted: Progress,
  id?: string,
) {
  const gate = Promise.withResolvers<void>();
  let seen = 0;
  fixture.erp.before(operation, async () => {
    clock.advance(5_000);
    seen += 1;
    if (seen === nth) await gate.promise;
  });
  const runId = id ?? (await fixture.queue());
  const driven = fixture.drive(runId);
  const run = await until(async () => {
    const { body } = await api('get', `/sync-runs/${runId}`);
    const { progress } = body;
    const isThere = Object.entries(wanted).every(([name, value]) => progress?.[name] === value);
    return isThere ? body : undefined;
  }, 'this progress');
  const finish = () => {
    gate.resolve();
    return driven;
  };
  return { run, finish };
}
const progressLines = () => lines.map((line) => JSON.parse(line)).filter(({ step }) => step === 'progress');

describe('the progress of a full run', () => {
  it('has the total, the share and the time left at the pace so far', async () => {
    const { fixture, api } = await fixtureWith(100);
    const id = await fixture.queue();
    // The third page is requested while the second one is written: twenty records in fifteen seconds.
    const { run, finish } = await holdAt({ fixture, api }, 'readPage', 3, { done: 20 }, id);
    const progress = {
      phase: 'reading',
      fetched: 20,
      done: 20,
      expected: 100,
      pages: 2,
      percent: 20,
      estimatedSecondsLeft: 60,
    };
    expect(run).toMatchObject({ status: 'running', progress });
    expect((await api('get', '/sync-runs')).body.data).toMatchObject([{ id, progress }]);
    await finish();
    expect((await api('get', `/sync-runs/${id}`)).body).toMatchObject({
      status: 'succeeded',
      progress: { phase: 'publishing', done: 100, expected: 100, percent: 100, estimatedSecondsLeft: null },
    });
    expect(countCalls(fixture, 'count')).toBe(2);
  });

  it('has no time left before a page was read', async () => {
    const { fixture, api } = await fixtureWith(30);
    const { run, finish } = await holdAt({ fixture, api }, 'readPage', 1, { phase: 'reading' });
    expect(run.progress).toMatchObject({ done: 0, expected: 30, percent: 0, estimatedSecondsLeft: null });
    await finish();
  });

  it('has no time left while the run waits, and is estimated by the pace of the attempt that goes on', async () => {
    const { fixture, api } = await fixtureWith(100);
    const id = await fixture.queue();
    fixture.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage') clock.advance(60_000);
      if (operation === 'readPage' && afterId === '50') throw erpError('down', 'SERVER_ERROR');
    };
    await fixture.drive(id, 'waiting');
    expect((await api('get', `/sync-runs/${id}`)).body).toMatchObject({
      status: 'waiting',
      progress: { done: 50, expected: 100, percent: 50, estimatedSecondsLeft: null },
    });
    clock.advance(3_600_000);
    const { run, finish } = await holdAt({ fixture, api }, 'readPage', 3, { done: 70 }, id);
    // Twenty records in fifteen seconds again, and thirty to go: 22.5 seconds.
    expect(run.progress).toMatchObject({ done: 70, expected: 100, percent: 70, estimatedSecondsLeft: 23 });
    expect(await finish()).toMatchObject({ status: 'succeeded', counts: { inserted: 100 } });
  });

  it('is complete where an older version of this service stored less', async () => {
    const { fixture, api } = await fixtureWith(1);
    const { id } = await fixture.sync();
    const progress = { phase: 'reading', fetched: 5, expected: 10, pages: 1, percent: 50 };
    await fixture.changeRun(id, { progress: JSON.stringify(progress) });
    const { status, body } = await api('get', `/sync-runs/${id}`);
    expect([status, body.progress]).toEqual([200, { ...progress, done: 5, estimatedSecondsLeft: null }]);
  });

  it('never exceeds its total, whatever appears during the run', async () => {
    const { fixture, api } = await fixtureWith(40);
    fixture.erp.claimedCount = () => {
      fixture.erp.claimedCount = null;
      return 15;
    };
    const { run, finish } = await holdAt({ fixture, api }, 'readPage', 4, { done: 30 });
    expect(run.progress).toMatchObject({ done: 30, expected: 30, percent: 100, estimatedSecondsLeft: null });
    expect(await finish()).toMatchObject({ status: 'succeeded', counts: { inserted: 40 } });
  });

  it('counts the ids that are compared when the ERP counts other records than were read', async () => {
    ctx = withPages(1_000);
    const { fixture, api } = await fixtureWith(2_500);
    fixture.erp.claimedCount = () => (countCalls(fixture, 'readPage') === 0 ? 2_500 : 2_501);
    fixture.erp.records.delete('7');
    const wanted = { phase: 'proving', done: 1_000 };
    const { run, finish } = await holdAt({ fixture, api }, 'listIds', 2, wanted);
    expect(run.progress).toMatchObject({
      fetched: 2_499,
      done: 1_000,
      expected: 2_501,
      percent: 39,
      estimatedSecondsLeft: 8,
    });
    fixture.erp.claimedCount = null;
    await finish();
  });
});

describe('the progress of an incremental run', () => {
  const due = async (count: number) => {
    const { fixture, api } = await fixtureWith(count, memoryErp(datedFields));
    await fixture.expectSuccess('full', {}, { mode: 'full' });
    lines = [];
    return { fixture, api };
  };

  it('has a total where more than one page has changed: the ERP counts the changes', async () => {
    const { fixture, api } = await due(40);
    const since: Date[] = [];
    Object.assign(fixture.erp.connector, {
      countChanged: async (request: { since: Date }) => {
        since.push(request.since);
        return { records: 40, withChangedLines: null };
      },
    });
    const id = await fixture.queue('incremental');
    const { run, finish } = await holdAt({ fixture, api }, 'readPage', 3, { done: 20 }, id);
    expect(run).toMatchObject({
      mode: 'incremental',
      progress: { done: 20, expected: 40, percent: 50, estimatedSecondsLeft: 15 },
    });
    expect(await finish()).toMatchObject({ status: 'succeeded' });
    // The second one is the proof, which counts from an hour earlier.
    expect(since).toHaveLength(2);
  });

  it('has none where one page holds all changes, and asks for none', async () => {
    const { fixture } = await due(8);
    let counted = 0;
    Object.assign(fixture.erp.connector, {
      countChanged: async () => {
        counted += 1;
        return { records: 8, withChangedLines: null };
      },
    });
    await fixture.expectSuccess('incremental', { fetched: 8 });
    expect(counted).toBe(1);
  });

  it('counts the records that a scan compares', async () => {
    ctx = withPages(1_000);
    const { fixture, api } = await due(2_500);
    fixture.erp.today = '2000-01-01';
    const id = await fixture.queue('incremental');
    const wanted = { phase: 'proving', done: 1_000 };
    const { run, finish } = await holdAt({ fixture, api }, 'scan', 2, wanted, id);
    expect(run.progress).toMatchObject({ done: 1_000, expected: 2_500, percent: 40 });
    expect(await finish()).toMatchObject({ status: 'succeeded' });
  });
});

describe('the log of a run', () => {
  it('has a line in words at most every ten seconds', async () => {
    const { fixture } = await fixtureWith(100);
    fixture.erp.before('readPage', () => clock.advance(4_000));
    await fixture.expectSuccess('full');
    // Ten pages in forty seconds. The next page is requested before one is counted.
    expect(progressLines().map(({ msg }) => msg)).toEqual([
      'thing: 20 of 100 records read (20 %), about 48 seconds left',
      'thing: 50 of 100 records read (50 %), about 24 seconds left',
      'thing: 80 of 100 records read (80 %), about 9 seconds left',
    ]);
    expect(progressLines()[0]).toMatchObject({
      phase: 'reading',
      done: 20,
      expected: 100,
      percent: 20,
      estimatedSecondsLeft: 48,
    });
  });

  it('has none of a run that takes less', async () => {
    const { fixture } = await fixtureWith(30);
    await fixture.sync();
    expect(progressLines()).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
  });

  it('counts without a total where the ERP counts nothing', async () => {
    const { fixture } = await fixtureWith(0, memoryErp(datedFields));
    await fixture.sync();
    for (let id = 1; id <= 30; id += 1) fixture.erp.put(id);
    lines = [];
    fixture.erp.before('readPage', () => clock.advance(70_000));
    await fixture.expectSuccess('incremental', {}, { mode: 'incremental' });
    expect(progressLines().map(({ msg }) => msg)[0]).toBe('thing: 10 records read');
  });
});
