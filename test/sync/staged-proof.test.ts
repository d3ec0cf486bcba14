// What a run staged must be what it read and what it publishes: a row that is lost in between fails the run,
// and readers keep the old rows.
import { describe, expect, it } from 'vitest';
import type { SyncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

/** 25 stored records, of which 20 changed since. */
async function changedFixture(): Promise<SyncFixture> {
  const fixture = await site.withRecords(25);
  await fixture.sync();
  fixture.erp.fill(20, (id) => [{ name: `changed ${id}` }]);
  return fixture;
}
/** The next run fails with this code, publishes nothing, and the one after it succeeds. */
async function expectFailure(fixture: SyncFixture, code: string, repair: () => unknown): Promise<void> {
  const before = await fixture.rows();
  await fixture.expectFailure('full', code, {
    counts: null,
    error: { message: expect.stringMatching(/\d/), fix: expect.stringContaining('Run the sync again') },
  });
  expect([await fixture.rows(), await fixture.staged()]).toEqual([before, 0]);
  await repair();
  await fixture.expectSuccess('full', { updated: 20, unchanged: 5 });
}

describe('a row that is lost', () => {
  it('between being read and being proved fails the run', async () => {
    const fixture = await changedFixture();
    fixture.erp.before(
      'readPage',
      () => fixture.query(`delete from ${fixture.schema}.staging_thing where id = 3`),
      '20',
    );
    await expectFailure(fixture, 'STAGED_MISMATCH', () => {
      fixture.erp.onCall = () => undefined;
    });
  });

  it('between the proof and the publication rolls the publication back', async () => {
    const fixture = await changedFixture();
    await site.admin.raw(`create function public.lose_row() returns trigger language plpgsql security definer as
          $$ begin delete from ${fixture.schema}.staging_thing where id = 3; return new; end $$;
        create trigger lose_row after update on public.sync_runs for each row when (new.status = 'publishing') execute function public.lose_row()`);
    const stop = () =>
      site.admin.raw(
        'drop trigger if exists lose_row on public.sync_runs; drop function if exists public.lose_row()',
      );
    try {
      await expectFailure(fixture, 'PUBLISHED_MISMATCH', stop);
    } finally {
      await stop();
    }
  });
});
