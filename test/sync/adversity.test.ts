// How an ERP can disturb a run: slow, unreachable, closed, changed, or inconsistent. Nothing may be lost,
// deleted or shown as green.
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { createTenantConnector } from '../../src/sync/account/connection.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { datedFields, erpError, field, noSignal, pagesRead, type SyncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10, retryBaseMs: 2, retryMaxMs: 4 });

describe('an ERP that is slow or unreachable', () => {
  it('the run waits and resumes from its checkpoint', async () => {
    const fixture = await site.withRecords(35);
    fixture.erp.failOnce('readPage', erpError('throttled', 'CONCURRENCY_LIMIT_EXCEEDED', 5), '20');
    const id = await fixture.queue();
    const waiting = await fixture.drive(id, 'waiting');
    expect(waiting).toMatchObject({
      error: { code: 'CONCURRENCY_LIMIT_EXCEEDED', fix: expect.any(String) },
      attempts_without_progress: 1,
      counts: null,
    });
    expect(waiting.wake_at).toBeInstanceOf(Date);
    const [held] = await fixture.query(
      `select target_table, page, checkpoint from ${fixture.schema}.run_state where run_id = $1`,
      [id],
    );
    expect(held).toMatchObject({ page: 2, checkpoint: '20' });
    await fixture.expectEnd(
      id,
      'succeeded',
      { inserted: 35 },
      { attempt: 2, attempts_without_progress: 0, error: null },
    );
    expect(pagesRead(fixture)).toEqual([null, '10', '20', '20', '30']);
    expect(await fixture.events(id)).toContain('reading resumed from its checkpoint');
  });

  it('a waiting run holds no worker', async () => {
    const fixture = await site.withRecords(5);
    fixture.erp.fail('readPage', erpError('throttled', 'LIMIT', 3_600_000));
    const id = await fixture.queue();
    await fixture.drive(id, 'waiting');
    const [row] = await inTransaction(fixture.tenant, (tx) =>
      tx('sync_runs')
        .where({ id })
        .select(
          'lease_owner',
          'wake_at',
          tx.raw(
            "(select lease_id from jobs where key = sync_config_id::text and kind = 'sync_runs') as lease_id",
          ),
        ),
    );
    expect([row.lease_id, row.lease_owner]).toEqual([null, null]);
    expect(row.wake_at.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
  });

  it('five attempts without progress fail the run with a fix and leave nothing staged', async () => {
    const fixture = await site.withRecords(35);
    await fixture.sync();
    const before = await fixture.rows();
    fixture.erp.fail('readPage', erpError('down', 'SERVER_ERROR'), '20');
    fixture.erp.put(1, { name: 'changed' });
    await fixture.expectFailure('full', 'SERVER_ERROR', {
      attempt: 5,
      generation: null,
      error: { fix: 'Do something about it.' },
    });
    expect(pagesRead(fixture).slice(4)).toEqual([null, '10', '20', '20', '20', '20', '20']);
    expect([await fixture.rows(), await fixture.staged()]).toEqual([before, 0]);
    expect(await fixture.pausedReason()).toBeNull();
    fixture.erp.onCall = () => undefined;
    await fixture.expectSuccess('full', { updated: 1 });
  });

  it('progress resets the count: a run that keeps advancing succeeds, however slowly', async () => {
    const fixture = await site.withRecords(35);
    const tries = new Map<string, number>();
    fixture.erp.onCall = ({ operation, afterId }) => {
      if (operation !== 'readPage') return;
      const key = String(afterId);
      tries.set(key, (tries.get(key) ?? 0) + 1);
      if ((tries.get(key) ?? 0) < 5) throw erpError('down', 'SERVER_ERROR');
    };
    await fixture.expectSuccess('full', { inserted: 35 }, { attempt: 17 });
  });
});

describe('an ERP that fails', () => {
  const fails =
    (...error: Parameters<typeof erpError>) =>
    ({ erp }: SyncFixture) => {
      erp.onCall = () => Promise.reject(erpError(...error));
    };
  const returnsEmptyPages = ({ erp }: SyncFixture) => {
    erp.bendPage = (page) => ({ ...page, records: [], lastId: null, hasMore: false });
  };
  const hasNoFields = ({ erp, tenant }: SyncFixture) => {
    erp.fields = erp.fields.map((held) => ({ ...held, syncable: false }));
    return inTransaction(tenant, (tx) => tx('erp_record_types').delete());
  };

  it.each<[string, (fixture: SyncFixture) => unknown, string, string, string?]>([
    ['no answer', fails('down', 'SERVER_ERROR'), 'failed', 'SERVER_ERROR'],
    ['a refused login', fails('credentials', 'INVALID_LOGIN'), 'failed', 'INVALID_LOGIN'],
    ['a hidden record type', fails('forbidden', 'RECORD_TYPE_HIDDEN'), 'failed', 'RECORD_TYPE_HIDDEN'],
    ['a record type without readable fields', hasNoFields, 'failed', 'RECORD_TYPE_UNAVAILABLE'],
    // A page without changes is not a failure when nothing changed.
    ['empty pages', returnsEmptyPages, 'failed', 'ZERO_ROWS', 'succeeded'],
    ['nothing, and a count of nothing', ({ erp }) => erp.records.clear(), 'partial', 'DELETIONS_HELD'],
  ])(
    'source failure empties the destination: %s leaves every record available',
    async (_name, fail, status, code, incremental = status) => {
      for (const mode of ['full', 'incremental'] as const) {
        const fixture = await site.withRecords(25, {}, datedFields);
        await fixture.sync();
        const before = await fixture.rows();
        await fail(fixture);
        const run = await fixture.sync(mode);
        expect(run.status).toBe(mode === 'full' ? status : incremental);
        expect(run.error?.code).toBe(run.status === 'succeeded' ? undefined : code);
        expect([await fixture.rows(), await fixture.staged()]).toEqual([before, 0]);
        expect(await fixture.query(`select from ${fixture.schema}.tombstones`)).toEqual([]);
      }
    },
  );
});

describe('an ERP that refuses', () => {
  it('a missing connection is reported as a credential failure, not as a database failure', async () => {
    const fixture = await site.withRecords(1);
    const id = await fixture.queue();
    await workOnRun(site.ctx, await fixture.claim(), noSignal, createTenantConnector);
    expect(await fixture.row(id)).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'NO_CONNECTION', fix: expect.stringContaining('Set up the connection') },
    });
    expect(await fixture.pausedReason()).toMatchObject({ code: 'NO_CONNECTION' });
  });

  it('one bad column killing the query or vanishing in silence: the metadata is read again, the run restarts, the old column keeps its values', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') fixture.erp.refusedFields.add('total');
      if (operation === 'metadata') fixture.erp.fields = [field('name')];
    };
    fixture.erp.put(2, { name: 'changed' });
    fixture.erp.put(26);
    const run = await fixture.expectSuccess('full', { fetched: 26, inserted: 1 });
    expect(pagesRead(fixture).slice(3)).toEqual([null, '10', null, '10', '20']);
    const rows = await fixture.rows();
    expect(rows[1]).toMatchObject({ f_name: 'changed', f_total: '2.50' });
    expect(rows[25]).toMatchObject({ f_name: 'name 26', f_total: null });
    expect(
      await fixture.query(`select column_name, state from ${fixture.schema}.record_columns order by 1`),
    ).toEqual([
      { column_name: 'f_name', state: 'live' },
      { column_name: 'f_total', state: 'vanished' },
    ]);
    expect(await fixture.events(run.id)).toContain('the fields of the record type changed in the ERP');
  });

  it('waits for an ERP that is unreachable while the metadata is read again', async () => {
    const fixture = await site.withRecords(5);
    await fixture.sync();
    fixture.erp.refusedFields.add('total');
    let tries = 0;
    fixture.erp.onCall = ({ operation }) => {
      if (operation !== 'metadata') return;
      tries += 1;
      if (tries < 3) throw erpError('throttled', 'LIMIT');
      fixture.erp.fields = [field('name')];
    };
    await fixture.expectSuccess('full');
    expect(tries).toBe(3);
  });

  it('an abandoned first load leaves no table behind', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') fixture.erp.refusedFields.add('total');
      if (operation === 'metadata' && fixture.erp.refusedFields.size > 0)
        fixture.erp.fields = [field('name')];
    };
    await fixture.expectSuccess('full');
    expect(await fixture.tables()).toEqual(['thing_2']);
    const failing = await site.withRecords(25);
    failing.erp.fail('readPage', erpError('query', 'QUERY_REFUSED'), '10');
    await failing.expectFailure('full', 'QUERY_REFUSED');
    expect(await failing.tables()).toEqual([]);
  });
});

describe('an ERP whose responses are inconsistent', () => {
  it('the 100,000 cap reached in silence: the last page comes too early, and the missing records are fetched by id', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.bendPage = (page) => ({ ...page, hasMore: false });
    const run = await fixture.expectSuccess('full', { fetched: 25, inserted: 25 });
    expect(run.proof[1]).toMatchObject({
      check: 'count',
      facts: { expected: 25, read: 10, missingCount: 15, vanishedCount: 0 },
    });
  });

  it('paging without a total order: a page that repeats a record of an earlier page fails the run', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    const before = await fixture.rows();
    fixture.erp.put(3, { name: 'changed' });
    // As with rows of equal rank that are ordered differently on each page: 4 comes again instead of 12,
    // which would never be returned.
    fixture.erp.bendRecords((record) => (record.id === '12' ? { ...record, id: '4' } : record));
    await fixture.expectFailure('full', 'PAGE_OUT_OF_ORDER', {
      attempt: 5,
      error: { message: expect.stringContaining('4') },
    });
    expect([await fixture.rows(), await fixture.staged()]).toEqual([before, 0]);
  });

  it('a record that is created behind the cursor during the run is fetched', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.records.delete('3');
    fixture.erp.before('readPage', () => fixture.erp.put(3, { name: 'late' }), '21');
    await fixture.expectSuccess('full', { fetched: 25 });
    expect((await fixture.rows())[2]).toMatchObject({ f_name: 'late' });
  });

  it('a record that is created after the last page is in this run or the next, and never deleted', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.onCall = ({ operation }) => {
      if (operation === 'count' && pagesRead(fixture).length === 6) fixture.erp.put(99);
    };
    await fixture.expectSuccess('full', { inserted: 1, deleted: 0 });
    expect(await fixture.rows()).toHaveLength(26);
  });

  it('a record that is deleted during the run is deleted by the next run', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.before('readPage', () => fixture.erp.records.delete('5'), '20');
    const run = await fixture.expectSuccess('full', { fetched: 25 });
    expect(run.proof[1]).toMatchObject({ facts: { vanished: ['5'], missingCount: 0 } });
    fixture.erp.onCall = () => undefined;
    await fixture.expectSuccess('full', { deleted: 1 });
  });

  it('a record that is listed but cannot be read fails the run and keeps its last version', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.locked.add('14');
    await fixture.expectFailure('full', 'COUNT_MISMATCH', {
      error: { message: expect.stringContaining('14') },
    });
    expect(await fixture.rows()).toHaveLength(25);
    expect(await fixture.staged()).toBe(0);
  });

  it('a locked record is detected although another record was deleted in the meantime', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.locked.add('14');
    fixture.erp.before('readByIds', () => fixture.erp.records.delete('5'));
    await fixture.expectFailure('full', 'COUNT_MISMATCH');
  });

  it('a record that is deleted between being listed and being read is not a mismatch', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.bendPage = (page) => ({ ...page, records: page.records.filter(({ id }) => id !== '14') });
    fixture.erp.before('readByIds', () => fixture.erp.records.delete('14'));
    await fixture.expectSuccess('full', { fetched: 24 });
  });

  it('a list of ids that is shorter than the count proves nothing', async () => {
    const fixture = await site.withRecords(25);
    await fixture.sync();
    fixture.erp.claimedCount = () => 1_000;
    await fixture.expectFailure('full', 'COUNT_MISMATCH', {
      error: { message: 'The ERP counts 1000 records but lists 25' },
    });
    expect(await fixture.rows()).toHaveLength(25);
  });

  it('pages that do not advance end the run', async () => {
    const fixture = await site.withRecords(25);
    fixture.erp.bendPage = (page, { afterId }) =>
      afterId === null ? page : { ...page, records: [], lastId: afterId, hasMore: true };
    await fixture.expectFailure('full', 'PAGE_WITHOUT_END', { attempt: 5 });
  });
});
