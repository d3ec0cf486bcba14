// D: a column that comes empty in the ERP's answers.
import { describe, expect, it } from 'vitest';
import { ascending, by, decimal, useGaps } from './gaps.ts';

const gaps = useGaps();

const fault = (table: string, column: string, times?: number) =>
  gaps.company.control('PUT', '/faults', [
    { on: { table, kind: 'rows' }, nullColumn: column, ...(times !== undefined && { times }) },
  ]);
const noFaults = () => gaps.company.control('PUT', '/faults', []);
const touch = async (ids: readonly string[]) => {
  for (const id of ids) await gaps.edit(id, { fields: { memo: `memo ${Math.random()}` } });
};
/** Invoices of which a line has a description. */
const described = async (): Promise<string[]> =>
  [...(await gaps.truth())]
    .flatMap(([id, { lines = [] }]) => (lines.some(({ fields }) => fields['memo'] !== undefined) ? [id] : []))
    .slice(0, 25);
async function expectTruth(): Promise<void> {
  const [served, truth] = [await gaps.served(), await gaps.truth()];
  expect(served.size).toBe(truth.size);
  for (const [id, { fields, lines = [] }] of truth) {
    expect([id, decimal(by(served, id).total)]).toEqual([id, decimal(fields['foreigntotal'])]);
    const descriptions = by(served, id).lines.map(
      ({ description }: { description: string | null }) => description,
    );
    expect([id, descriptions]).toEqual([id, lines.map(({ fields: line }) => line['memo'] ?? null)]);
  }
}

describe('a header column that comes empty in every answer', () => {
  it.each(['full', 'incremental'] as const)(
    '%s run: partial, the values stay, and heal in place',
    async (mode) => {
      const { company } = gaps;
      const before = await gaps.served();
      const [edited = '', silent = '', ...more] = [...before.keys()];
      await fault('transaction', 'foreigntotal');
      const token = await gaps.token();
      await gaps.edit(edited, { fields: { duedate: '2031-03-31' } });
      const created = await gaps.create(silent);
      const touched = more.slice(0, 25);
      await touch(touched);
      const run = await company.expectPartial('invoice', mode, 'FIELDS_EMPTY', {}, { mode });
      expect(run.error.message).toContain('foreigntotal');
      expect(run.error.fix).toContain('accept that the field is missing');
      expect(await gaps.warnings(run)).toContain('fields came empty; their stored values stay');
      expect((await company.proof(run))['fields']).toMatchObject({
        passed: false,
        facts: { stale: ['foreigntotal'] },
      });
      const { staleFields } = await gaps.sync();
      expect(staleFields).toMatchObject([{ field: 'foreigntotal', reason: 'empty' }]);
      const during = await gaps.served();
      for (const [id, { total }] of before) expect([id, by(during, id).total]).toEqual([id, total]);
      expect(by(during, edited).dueDate).toBe('2031-03-31');
      expect(by(during, created)).toMatchObject({ total: null, number: expect.any(String) });
      expect(await gaps.changes(token)).toEqual(ascending(edited, created, ...touched));

      // Also a run that reads a single record withholds the column.
      const [single = ''] = more;
      await gaps.edit(single, { fields: { duedate: '2031-04-30' } });
      await company.expectPartial('invoice', 'incremental', 'FIELDS_EMPTY', {}, { mode: 'incremental' });
      expect(by(await gaps.served(), single)).toMatchObject({
        total: by(before, single).total,
        dueDate: '2031-04-30',
      });
      expect((await gaps.sync()).staleFields).toEqual(staleFields);

      const later = await gaps.token();
      await gaps.edit(silent, { fields: { foreigntotal: '1234.5' }, touch: 'none' });
      await noFaults();
      const healed = await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
      await expectTruth();
      expect(await gaps.changes(later)).toEqual(ascending(silent, created));
      expect((await gaps.sync()).staleFields).toEqual([]);
      expect(await gaps.mails(2)).toEqual([
        "Sync invoice can't update some fields",
        'Sync invoice has recovered',
      ]);
      expect(await company.run('invoice', 'incremental')).toMatchObject({
        mode: 'incremental',
        generation: healed.generation,
      });
    },
  );
});

it('a header column that comes empty in some answers: the run fails, and nothing is published', async () => {
  const { company } = gaps;
  const token = await gaps.token();
  // Three answers concern fewer than half of the records.
  for (const [mode, times] of [
    ['full', 7],
    ['full', 3],
    ['incremental', 1],
  ] as const) {
    if (mode === 'incremental') await touch([...(await gaps.truth()).keys()].slice(0, 25));
    await fault('transaction', 'foreigntotal', times);
    const run = await company.expectFailure('invoice', mode, 'COLUMN_EMPTIED', { mode });
    expect(run.error.message).toContain('foreigntotal');
    expect(run.error.fix).toContain('Nothing was published');
    await expectTruth();
    expect(await gaps.changes(token)).toEqual([]);
    await noFaults();
    await company.expectSuccess('invoice', 'incremental');
  }
});

describe('a column of lines', () => {
  it.each(['full', 'incremental'] as const)(
    'empty in every answer of a %s run: partial, the lines stay, and heal in place',
    async (mode) => {
      const { company } = gaps;
      const before = await gaps.served();
      await fault('transactionline', 'memo');
      if (mode === 'incremental') await touch(await described());
      const run = await company.expectPartial('invoice', mode, 'FIELDS_EMPTY', {}, { mode });
      expect(run.error.message).toContain('lines.memo');
      expect((await gaps.sync()).staleFields).toMatchObject([{ field: 'lines', reason: 'empty' }]);
      const during = await gaps.served();
      for (const [id, { lines }] of before) expect([id, by(during, id).lines]).toEqual([id, lines]);
      const token = await gaps.token();
      await noFaults();
      await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
      await expectTruth();
      expect(await gaps.changes(token)).toEqual([]);
    },
  );

  it('empty in one answer: the run fails', async () => {
    await touch(await described());
    await fault('transactionline', 'memo', 1);
    const run = await gaps.company.expectFailure('invoice', 'incremental', 'COLUMN_EMPTIED');
    expect(run.error.message).toContain('lines.memo');
    await noFaults();
    await gaps.company.expectSuccess('invoice', 'incremental');
    await expectTruth();
  });
});

it('accepted: the next run publishes the empty values, and the acceptance ends when the column is filled', async () => {
  const { company } = gaps;
  await fault('transaction', 'foreigntotal');
  await company.expectPartial('invoice', 'full', 'FIELDS_EMPTY');
  const accepted = await gaps.accept('foreigntotal');
  expect(accepted.status).toBe(202);
  await company.expectSuccess('invoice', 'incremental');
  expect(await gaps.sync()).toMatchObject({
    staleFields: [],
    acceptedFields: [{ field: 'foreigntotal', reason: 'empty' }],
  });
  for (const { id, total } of (await gaps.served()).values()) expect([id, total]).toEqual([id, null]);
  await company.expectSuccess('invoice', 'incremental', {}, { mode: 'incremental' });
  await noFaults();
  await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
  await expectTruth();
  expect(await gaps.sync()).toMatchObject({ staleFields: [], acceptedFields: [] });
});
