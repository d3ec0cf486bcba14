// E: fields that a published version shows and that the role can't read any more.
import { describe, expect, it } from 'vitest';
import { ascending, by, decimal, useGaps } from './gaps.ts';

const gaps = useGaps();

const headers = { transaction: ['duedate', 'foreignamountunpaid'] };

it.each(['incremental', 'full'] as const)(
  'columns of the header are hidden: the %s run is partial, values stay, and heal in place',
  async (mode) => {
    const { company } = gaps;
    const before = await gaps.served();
    const [edited = '', silent = '', like = ''] = [...before.keys()];
    await gaps.hide({ columns: headers });
    await gaps.edit(edited, { fields: { foreigntotal: '4321.5', duedate: '2031-01-31' } });
    const created = await gaps.create(like);
    const token = await gaps.token();

    const run = await company.expectPartial('invoice', mode, 'FIELDS_UNREADABLE', {}, { mode });
    for (const name of ['duedate', 'foreignamountunpaid']) expect(run.error.message).toContain(name);
    expect(run.error.fix).toContain('Give the integration role access');
    expect(run.error.fix).toContain('accept that the field is missing');
    expect(await gaps.warnings(run)).toContain('fields are not read; their stored values stay');
    expect((await company.proof(run))['fields']).toMatchObject({
      passed: false,
      facts: { stale: ['duedate', 'foreignamountunpaid'] },
    });
    const { staleFields } = await gaps.sync();
    expect(staleFields).toMatchObject([
      { field: 'duedate', reason: 'unreadable' },
      { field: 'foreignamountunpaid', reason: 'unreadable' },
    ]);

    const during = await gaps.served();
    for (const [id, record] of before)
      expect([id, by(during, id).dueDate, by(during, id).amountDue]).toEqual([
        id,
        record.dueDate,
        record.amountDue,
      ]);
    expect(by(during, edited).total).toBe(4321.5);
    expect(by(during, created)).toMatchObject({
      dueDate: null,
      amountDue: null,
      total: by(before, like).total,
    });
    expect(await gaps.changes(token)).toEqual(ascending(edited, created));

    await company.expectPartial('invoice', mode, 'FIELDS_UNREADABLE', {}, { generation: run.generation });
    expect((await gaps.sync()).staleFields).toEqual(staleFields);

    const later = await gaps.token();
    await gaps.edit(silent, { fields: { duedate: '2032-02-29' }, touch: 'none' });
    await gaps.hide();
    const healed = await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
    const [after, truth] = [await gaps.served(), await gaps.truth()];
    expect(after.size).toBe(truth.size);
    for (const [id, { fields }] of truth) {
      expect([id, by(after, id).dueDate]).toEqual([id, fields['duedate'] ?? null]);
      expect([id, decimal(by(after, id).amountDue)]).toEqual([id, decimal(fields['foreignamountunpaid'])]);
    }
    expect(await gaps.changes(later)).toEqual(ascending(edited, silent, created));
    expect((await gaps.sync()).staleFields).toEqual([]);
    expect(await gaps.mails(2)).toEqual([
      "Sync invoice can't update some fields",
      'Sync invoice has recovered',
    ]);
    await company.expectSuccess(
      'invoice',
      'incremental',
      {},
      { mode: 'incremental', generation: healed.generation },
    );
  },
);

describe('lines', () => {
  it.each([
    ['the table of lines', { tables: ['transactionline'] }, 'lines'],
    ['a column of lines', { columns: { transactionline: ['rate'] } }, 'lines.rate'],
  ])('%s is hidden: the last lines stay, and headers go on', async (_what, hidden, named) => {
    const { company } = gaps;
    const before = await gaps.served();
    const [edited = '', like = ''] = [...before.keys()];
    await gaps.hide(hidden);
    await gaps.edit(edited, {
      fields: { foreigntotal: '77' },
      lines: [{ line: 1, fields: { rate: '123.25' } }],
    });
    const created = await gaps.create(like);
    const run = await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
    expect(run.error.message).toContain(named);
    expect((await gaps.sync()).staleFields).toMatchObject([{ field: 'lines', reason: 'unreadable' }]);
    await company.expectPartial('invoice', 'full', 'FIELDS_UNREADABLE');
    const during = await gaps.served();
    for (const [id, { lines }] of before) expect([id, by(during, id).lines]).toEqual([id, lines]);
    expect(by(during, edited).total).toBe(77);
    expect(by(during, created).lines).toBeNull();

    const token = await gaps.token();
    await gaps.hide();
    await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
    const [after, truth] = [await gaps.served(), await gaps.truth()];
    for (const [id, { lines = [] }] of truth) {
      const served = by(after, id).lines.map(({ line, rate, itemId }: Record<string, string>) => [
        String(line),
        decimal(rate),
        itemId ?? null,
      ]);
      expect([id, served]).toEqual([
        id,
        lines.map(({ line, fields }) => [String(line), decimal(fields['rate']), fields['item'] ?? null]),
      ]);
    }
    expect(await gaps.changes(token)).toEqual(ascending(edited, created));
  });
});

describe('POST /sync-configs/{id}/accept-missing-fields', () => {
  it('ends the staleness of a field that is gone for good, until it can be read again', async () => {
    const { company } = gaps;
    expect(await gaps.accept('duedate')).toMatchObject({
      status: 422,
      body: {
        error: {
          details: [
            {
              path: 'fields[0]',
              code: 'not_stale',
              message: 'duedate is not stale. No field of this sync is',
            },
          ],
        },
      },
    });
    const before = await gaps.served();
    const [like = ''] = [...before.keys()];
    await gaps.hide({ columns: headers });
    await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
    expect((await gaps.accept('duedate', 'tranid')).body.error.details).toMatchObject([
      { path: 'fields[1]', message: 'tranid is not stale. Stale fields: duedate, foreignamountunpaid' },
    ]);
    const accepted = await gaps.accept('duedate');
    expect([accepted.status, accepted.body.error]).toEqual([202, null]);
    expect(await gaps.sync()).toMatchObject({
      staleFields: [{ field: 'foreignamountunpaid' }],
      acceptedFields: [{ field: 'duedate', reason: 'unreadable' }],
    });
    const second = await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
    expect(second.error.message).not.toContain('duedate');
    expect((await gaps.accept('foreignamountunpaid')).status).toBe(202);
    const created = await gaps.create(like);
    for (const mode of ['incremental', 'full'] as const) await company.expectSuccess('invoice', mode);
    const during = await gaps.served();
    for (const [id, { dueDate }] of before) expect([id, by(during, id).dueDate]).toEqual([id, dueDate]);
    expect(by(during, created).dueDate).toBeNull();
    expect((await gaps.sync()).staleFields).toEqual([]);

    const token = await gaps.token();
    await gaps.hide();
    await company.refresh();
    await company.expectSuccess('invoice', 'incremental', {}, { mode: 'full' });
    expect(await gaps.sync()).toMatchObject({ staleFields: [], acceptedFields: [] });
    const [after, truth] = [await gaps.served(), await gaps.truth()];
    for (const [id, { fields }] of truth)
      expect([id, by(after, id).dueDate]).toEqual([id, fields['duedate'] ?? null]);
    expect(await gaps.changes(token)).toEqual([created]);
    await gaps.hide({ columns: headers });
    await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
  });

  it('covers only the fields of lines that were missing', async () => {
    const { company } = gaps;
    await gaps.hide({ columns: { transactionline: ['rate'] } });
    await company.expectPartial('invoice', 'full', 'FIELDS_UNREADABLE');
    expect((await gaps.accept('lines')).status).toBe(202);
    await company.expectSuccess('invoice', 'incremental');
    const [first] = [...(await gaps.served()).values()];
    expect(first.lines[0]).toMatchObject({ rate: null });
    await gaps.hide({ columns: { transactionline: ['rate', 'memo'] } });
    const run = await company.expectPartial('invoice', 'full', 'FIELDS_UNREADABLE');
    expect(run.error.message).toContain('lines.memo');
    expect(run.error.message).not.toContain('lines.rate');
  });
});

it('a column that no version shows: the run succeeds, as before', async () => {
  await gaps.hide({ columns: { transaction: ['shipdate', 'otherrefnum'] } });
  for (const mode of ['incremental', 'full'] as const) await gaps.company.expectSuccess('invoice', mode);
  expect((await gaps.sync()).staleFields).toEqual([]);
});
