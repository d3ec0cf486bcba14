// The demo waits for its runs as long as they advance, and not longer.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitForRuns } from '../../demo/every-record-type.ts';
import { saveProgress } from '../../src/sync/queue/runs.store.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { endOpenRuns, memoryErp, type SyncFixture, syncFixture } from '../sync/fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const minuteMs = 60_000;

/** Waits for a run on a clock of its own. `polled` resolves once the waiting has seen what there is now. */
async function waiting(fixture: SyncFixture) {
  let nowMs = 0;
  let polls = 0;
  const runId = await fixture.queue();
  const lease = await fixture.claim();
  const ctx = { ...database.ctx, clock: { ...database.ctx.clock, monotonicMs: () => nowMs } };
  const progress = { startStep: () => undefined, end: () => undefined, showPart: () => void (polls += 1) };
  const ended = waitForRuns({ ctx, organizationId: fixture.organizationId, progress }, [runId]).then(
    () => 'done',
    (error: Error) => error.message,
  );
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const polled = async () => {
    const before = polls;
    // The poll after next began after this call.
    while (polls < before + 2 && !isOver) await new Promise((resolve) => setImmediate(resolve));
  };
  const advance = (done: number) =>
    saveProgress(
      fixture.ctx,
      lease,
      {
        phase: 'reading',
        fetched: done,
        done,
        expected: 100,
        pages: done,
        percent: done,
        estimatedSecondsLeft: null,
      },
      true,
    );
  const pass = async (minutes: number) => {
    await polled();
    nowMs += minutes * minuteMs;
  };
  return { ended, advance, pass, finish: () => fixture.work(lease) };
}

describe('the start of the demo', () => {
  it('waits for as long as a run advances', async () => {
    const { ended, advance, pass, finish } = await waiting(await syncFixture(database.ctx, memoryErp()));
    for (let done = 1; done <= 4; done += 1) {
      await advance(done);
      await pass(9);
    }
    await finish();
    expect(await ended).toBe('done');
  });

  it('gives up when nothing has advanced for ten minutes', async () => {
    const { ended, advance, pass } = await waiting(await syncFixture(database.ctx, memoryErp()));
    await advance(1);
    await pass(11);
    expect(await ended).toBe(
      'The demo gave up waiting: nothing advanced for 10 minutes. Start it again to go on.',
    );
  });
});
