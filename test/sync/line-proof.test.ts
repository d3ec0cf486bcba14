// The proof of lines against totals of the ERP: what differs is read again, what still differs fails the run,
// and an interrupted proof is resumed at its checkpoint. With responses that a real account doesn't give at a
// chosen moment.
import { describe, expect, it } from 'vitest';
import type { Connector } from '../../src/connectors/connector.ts';
import type { SourceLine } from '../../src/connectors/source-records.ts';
import { until } from '../setup/until.ts';
import {
  countCalls,
  datedFields,
  field,
  findCheck,
  lineModified,
  type SyncFixture,
  start,
  wait,
} from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 500, leaseMs: 600_000, renewMs: 300_000 });
const lineFields = [field('quantity', 'number'), field('memo'), field(lineModified, 'time')];
const fields = [...datedFields, { ...field('lines', 'lines', lineFields) }];
const at = '2026-05-01T07:00:00Z';
const createLines = (id: number, quantities = [`-${id}.10`, '2']): SourceLine[] =>
  quantities.map((quantity, index) => ({ quantity, memo: `line ${index + 1}`, [lineModified]: at }));

/** Records 1 to `count`, the first without lines. */
const makeFixture = (count = 20, of = fields): Promise<SyncFixture> =>
  site.dated(count, {}, of, (id) => [{}, { lines: id === 1 ? [] : createLines(id) }]);
const replace = ({ erp }: SyncFixture, connector: Partial<Connector>): void => {
  Object.assign(erp, { connector: { ...erp.connector, ...connector } });
};
/** Leaves the last line of these records out of every page. */
const dropFromPages = ({ erp }: SyncFixture, ids: readonly number[]): void =>
  erp.bendRecords((one) =>
    ids.includes(Number(one.id)) ? { ...one, lines: (one.lines ?? []).slice(0, -1) } : one,
  );
/** Lines as stored, by id, against those of the ERP. */
const differing = async (fixture: SyncFixture): Promise<string[]> => {
  const stored = new Map(
    (await fixture.rows()).map(({ id, f_lines: lines }) => [String(id), JSON.stringify(lines)]),
  );
  const inErp = [...fixture.erp.records.values()].map(({ id, lines }): [string, string] => [
    id,
    JSON.stringify((lines ?? []).map(({ quantity, ...line }) => ({ quantity: Number(quantity), ...line }))),
  ]);
  const canonical = (text: string | undefined) =>
    (JSON.parse(text ?? 'null') as Record<string, unknown>[] | null)
      ?.map((line) => JSON.stringify(Object.entries(line).sort()))
      .join();
  return inErp.filter(([id, lines]) => canonical(lines) !== canonical(stored.get(id))).map(([id]) => id);
};
/** Changes the lines of a record, and only their own time. */
const touchLines = ({ erp }: SyncFixture, id: number, quantities: string[]): void => {
  const now = (erp.at ?? start).toISOString().replace('.000', '');
  erp.setLines(
    id,
    createLines(id, quantities).map((line) => ({ ...line, [lineModified]: now })),
  );
};
const mismatch = { status: 'failed', error: { code: 'LINES_MISMATCH' } };

describe('a full run', () => {
  it('reads records again whose pages lacked lines, with one request for the totals of a page', async () => {
    const fixture = await makeFixture(1_001);
    dropFromPages(fixture, [3, 1_001]);
    const run = await fixture.expectSuccess('full', { fetched: 1_001, inserted: 1_001 });
    // Three for the pages, two for those that were read again.
    expect([countCalls(fixture, 'lineTotals'), countCalls(fixture, 'readByIds')]).toEqual([5, 2]);
    expect(findCheck(run, 'lines')).toEqual({
      check: 'lines',
      passed: true,
      message:
        "The lines of 1001 records that were read were compared with the ERP's own totals: number of lines, sum of quantity, latest modification time of a line; 2 read again",
      facts: expect.objectContaining({ records: 1_001, reread: 2 }),
    });
    expect(await differing(fixture)).toEqual([]);
  });

  it('fails when a record whose lines differ cannot be read again, although the ERP still counts its lines', async () => {
    const fixture = await makeFixture();
    dropFromPages(fixture, [7]);
    const { readByIds } = fixture.erp.connector;
    replace(fixture, {
      readByIds: async (request) => {
        const page = await readByIds(request);
        return { ...page, records: page.records.filter(({ id }) => id !== '7') };
      },
    });
    expect(await fixture.sync()).toMatchObject({
      ...mismatch,
      error: { message: expect.stringContaining('record 7: 1 lines were read, and the ERP counts 2') },
    });
    expect(await fixture.rows()).toEqual([]);
  });

  it('compares records that it finds unchanged, too: their lines were stored wrong before', async () => {
    const fixture = await makeFixture();
    const { connector } = fixture.erp;
    const { lines: _, ...withoutTotals } = connector;
    Object.assign(fixture.erp, { connector: withoutTotals });
    dropFromPages(fixture, [5, 6]);
    await fixture.expectSuccess('full');
    expect(await differing(fixture)).toEqual(['5', '6']);
    Object.assign(fixture.erp, { connector });
    await fixture.expectSuccess('full', { fetched: 20, updated: 2, unchanged: 18 });
    expect(await differing(fixture)).toEqual([]);
  });

  it('accepts records that are edited or deleted while they are compared', async () => {
    const fixture = await makeFixture();
    fixture.erp.onCall = ({ operation }) => {
      if (operation !== 'lineTotals' || countCalls(fixture, 'lineTotals') > 2) return;
      fixture.erp.put(4, {}, { lines: createLines(4, ['9', '8', `${countCalls(fixture, 'lineTotals')}`]) });
      fixture.erp.records.delete('5');
    };
    await fixture.expectSuccess('full');
    expect(countCalls(fixture, 'lineTotals')).toBe(3);
    expect(await differing(fixture)).toEqual([]);
  });

  it('compares sums: a line that is repeated instead of another', async () => {
    const fixture = await makeFixture();
    const repeated = [...createLines(8).slice(1), ...createLines(8).slice(1)];
    fixture.erp.bendRecords((one) => (one.id === '8' ? { ...one, lines: repeated } : one));
    await fixture.expectSuccess('full');
    expect(countCalls(fixture, 'readByIds')).toBe(1);
    expect(await differing(fixture)).toEqual([]);
  });

  it('makes no request where no lines are read, and says nothing about them', async () => {
    const fixture = await makeFixture();
    await fixture.changeConfig({ fields: ['name', 'total', 'modified'] });
    const run = await fixture.expectSuccess('full');
    expect(findCheck(run, 'lines')).toBeUndefined();
    expect(countCalls(fixture, 'lineTotals')).toBe(0);
  });
});

describe('applications of a payment, which have no time of their own', () => {
  const ofPayments = [
    ...datedFields,
    field('lines', 'lines', [field('previousdoc'), field('foreignamount', 'number')]),
  ];
  const applied = (...amounts: string[]): SourceLine[] =>
    amounts.map((foreignamount) => ({ previousdoc: '77', foreignamount }));

  it('are compared by number and sum, also two that are equal', async () => {
    const fixture = await makeFixture(3, ofPayments);
    fixture.erp.fill(3, () => [{}, { lines: applied('10.50', '10.50'), modifiedAt: at }]);
    dropFromPages(fixture, [2]);
    const run = await fixture.expectSuccess('full');
    expect(findCheck(run, 'lines')?.message).toContain('number of lines, sum of foreignamount; 1 read again');
    expect((await fixture.rows()).map(({ f_lines: lines }) => lines)).toEqual(
      Array.from({ length: 3 }, () =>
        Array.from({ length: 2 }, () => ({ previousdoc: '77', foreignamount: 10.5 })),
      ),
    );
    fixture.erp.calls.length = 0;
    wait(fixture, 2);
    fixture.erp.put(3, {}, { lines: applied('20.00') });
    await fixture.expectSuccess('incremental', { updated: 1 });
    expect([countCalls(fixture, 'lineChanges'), countCalls(fixture, 'lineTotals')]).toEqual([0, 1]);
  });
});

describe('an incremental run', () => {
  const synced = async (): Promise<SyncFixture> => {
    const fixture = await makeFixture();
    await fixture.sync();
    wait(fixture, 3);
    fixture.erp.calls.length = 0;
    return fixture;
  };
  it('that reads nothing makes one request about lines', async () => {
    const fixture = await synced();
    const run = await fixture.expectSuccess('incremental', { fetched: 0 });
    const asked = ['lineChanges', 'lineTotals', 'readByIds'] as const;
    expect(asked.map((operation) => countCalls(fixture, operation))).toEqual([1, 0, 0]);
    expect(findCheck(run, 'lines')?.message).toBe(
      'No record was read, so no lines were compared with totals of the ERP',
    );
  });

  it('reads a record of which only lines changed, once', async () => {
    const fixture = await synced();
    touchLines(fixture, 9, ['5', '6', '7']);
    const run = await fixture.expectSuccess('incremental', { fetched: 1, updated: 1 });
    expect(findCheck(run, 'lines')?.facts).toMatchObject({ changed: 1, changedRead: 1, records: 1 });
    expect(await differing(fixture)).toEqual([]);
    const next = await fixture.expectSuccess('incremental', { fetched: 0 });
    expect(findCheck(next, 'lines')?.facts).toMatchObject({ changed: 1, changedRead: 0 });
  });

  it('heals in its scan what an earlier run stored wrong', async () => {
    const fixture = await synced();
    fixture.erp.setLines(12, createLines(12, ['1']));
    await fixture.expectSuccess('incremental', { updated: 0 });
    wait(fixture, 25);
    const run = await fixture.expectSuccess('incremental', { updated: 1 });
    expect(findCheck(run, 'lines')?.facts).toMatchObject({ scanned: 20, scanRead: 1 });
    expect(await differing(fixture)).toEqual([]);
  });
});

describe('a worker that is lost while lines are compared', () => {
  it.each([0, 1, 2, 3, 4, 5])('a full run goes on at its checkpoint: lost at request %i', async (n) => {
    const fixture = await makeFixture(1_010);
    dropFromPages(fixture, [3, 1_005]);
    const id = await fixture.queue();
    // Of the first page: totals, read of record 3, its totals. Of the second: totals. Of the third: as of the
    // first.
    await fixture.loseWorker(id, n, ['lineTotals', 'readByIds']);
    fixture.erp.calls.length = 0;
    await fixture.expectEnd(id, 'succeeded', { fetched: 1_010 }, { attempt: 2 });
    const pages = countCalls(fixture, 'readPage');
    expect(pages).toBeLessThanOrEqual(n < 4 ? 3 : 2);
    expect(countCalls(fixture, 'lineTotals')).toBeGreaterThanOrEqual(pages);
    expect(await differing(fixture)).toEqual([]);
  });

  it('a run that a version began which did not compare each page starts from the first page', async () => {
    const fixture = await makeFixture(1_010);
    const id = await fixture.queue();
    await fixture.loseWorker(id, 2, ['lineTotals']);
    // The worker stops while it reads the third page, and stages the second meanwhile.
    const forget = `update ${fixture.schema}.run_state set plan = plan - 'provesPages' where run_id = $1 and page = 2`;
    await until(async () => ((await site.ctx.db.data.query(forget, [id])).rowCount === 1 ? true : undefined));
    fixture.erp.calls.length = 0;
    await fixture.expectEnd(id, 'succeeded', { fetched: 1_010 }, { attempt: 2 });
    expect([countCalls(fixture, 'readPage'), countCalls(fixture, 'lineTotals')]).toEqual([3, 3]);
    expect(await differing(fixture)).toEqual([]);
  });

  it.each([0, 1, 2, 3, 4])('an incremental run goes on at its checkpoint: lost at request %i', async (n) => {
    const fixture = await makeFixture();
    await fixture.sync();
    wait(fixture, 3);
    fixture.erp.put(4, {}, { lines: createLines(4, ['3', '3']) });
    dropFromPages(fixture, [4]);
    touchLines(fixture, 6, ['1']);
    const id = await fixture.queue('incremental');
    // Totals and read of record 4, and its totals again; the list of changed lines, totals and read of record
    // 6.
    await fixture.loseWorker(id, n, ['lineChanges', 'lineTotals', 'readByIds']);
    await fixture.expectEnd(id, 'succeeded', { updated: 2 }, { attempt: 2 });
    expect(await differing(fixture)).toEqual([]);
  });
});
