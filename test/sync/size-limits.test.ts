// How large a field and a record may be: a larger record is rejected with its reason, and what was stored of
// it before stays.
import { describe, expect, it } from 'vitest';
import type { SourceRecord } from '../../src/connectors/source-records.ts';
import { datedFields, field, memoryErp, type SyncFixture, syncFixture, withSync } from './fixture.ts';
import { useSync } from './site.ts';

const limits = { maxFieldBytes: 1_000, maxRecordBytes: 3_000 };
const site = useSync();

const fields = [
  ...datedFields,
  field('memo'),
  field('notes'),
  field('entity', 'reference'),
  field('lines', 'lines', [field('id', 'integer'), field('description'), field('amount', 'number')]),
];
/** Before what an incremental run reads as changed. */
const longAgo = '2026-04-01T08:00:00Z';
const line = (id: number, description: string) => ({ id: String(id), description, amount: '1.00' });

async function createFixture(
  values: Record<string, string>,
  more: Partial<SourceRecord> = {},
): Promise<SyncFixture> {
  const erp = memoryErp(fields);
  erp.put(1, {}, { lines: [] });
  erp.put(2, values, { lines: [], ...more });
  return syncFixture(withSync(site.ctx, limits), erp);
}

it.each<[string, Record<string, string>, Partial<SourceRecord>]>([
  ['a field as large as a field may be', { memo: 'x'.repeat(1_000) }, {}],
  ['the same in letters of two and three bytes', { memo: 'é'.repeat(350) + '€'.repeat(100) }, {}],
  ['a field as large, of line breaks and marks that are escaped', { memo: '\n"\\\t'.repeat(250) }, {}],
  [
    'lines that are larger together than a field',
    {},
    { lines: [1, 2, 3].map((id) => line(id, 'x'.repeat(600))) },
  ],
  [
    'fields that are nearly as large as a record together',
    { memo: 'x'.repeat(1_000), notes: 'x'.repeat(1_000), name: 'x'.repeat(900) },
    {},
  ],
])('a record within the limits is stored: %s', async (_name, values, more) => {
  const fixture = await createFixture(values, more);
  await fixture.expectSuccess('full', { inserted: 2, rejected: 0 });
  for (const [name, value] of Object.entries(values))
    expect((await fixture.rows())[1]?.[`f_${name}`]).toBe(value);
});

describe('a larger record is rejected; the message names the field, its size, the limit, and what to do', () => {
  const fieldFix =
    'a field may have 1000. Shorten it in the ERP, leave it out of the sync, or raise MAX_FIELD_BYTES.';
  const recordFix =
    'a record may have 3000. Shorten it in the ERP, leave fields out of the sync, or raise MAX_RECORD_BYTES.';
  const long = (length: number) => 'x'.repeat(length);
  const twoLines = { lines: [line(1, 'x'), line(2, long(1_500))] };
  const fiftyLines = { lines: Array.from({ length: 50 }, (_, id) => line(id + 1, long(60))) };
  const three = { memo: long(1_000), notes: long(999), name: long(999) };
  it.each<[string, Record<string, string>, Partial<SourceRecord>, string, string | RegExp]>([
    ['a field', { memo: long(1_001) }, {}, 'FIELD', `memo has 1001 bytes; ${fieldFix}`],
    ['a field, by its bytes', { memo: '€'.repeat(334) }, {}, 'FIELD', `memo has 1002 bytes; ${fieldFix}`],
    [
      'a label',
      { entity: '7' },
      { labels: { entity: long(2_000) } },
      'FIELD',
      `the label of entity has 2000 bytes; ${fieldFix}`,
    ],
    ['a field of a line', {}, twoLines, 'FIELD', `lines line 2: description has 1500 bytes; ${fieldFix}`],
    [
      'fields together',
      three,
      { lines: [line(1, 'x')] },
      'RECORD',
      /^The record has at least 3\d\d\d bytes, of which memo has 1000; /,
    ],
    ['lines together', {}, fiftyLines, 'RECORD', new RegExp(`of which lines has 3\\d\\d\\d; ${recordFix}$`)],
  ])('%s', async (_name, values, more, what, message) => {
    const fixture = await createFixture(values, more);
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { inserted: 1, rejected: 1 });
    const [rejected, ...others] = await fixture.rejections();
    expect(others).toEqual([]);
    expect(rejected).toMatchObject({ id: '2', code: `${what}_TOO_LARGE` });
    expect(rejected?.message).toMatch(message);
    expect(await fixture.ids()).toEqual(['1']);
  });
});

describe('a stored record that is larger than the limits', () => {
  it.each(['full', 'incremental'] as const)(
    'keeps its last version when a %s run reads it again, until it is shortened',
    async (mode) => {
      const erp = memoryErp(fields);
      erp.at = new Date('2026-05-01T08:00:00Z');
      erp.put(1, { memo: 'x'.repeat(5_000) }, { lines: [] });
      erp.put(2, {}, { lines: [] });
      const fixture = await syncFixture(site.ctx, erp);
      await fixture.expectSuccess('full');

      const limited = withSync(site.ctx, limits);
      const syncLimited = async (wanted: typeof mode) => {
        const id = await fixture.queue(wanted);
        await fixture.work(await fixture.claim(), new AbortController().signal, limited);
        return fixture.row(id);
      };
      erp.at = new Date('2026-05-01T09:00:00Z');
      erp.put(1, { memo: 'y'.repeat(5_000) }, { lines: [] });
      expect(await syncLimited(mode)).toMatchObject({
        status: 'partial',
        counts: { updated: 0, deleted: 0, rejected: 1 },
      });
      expect(await fixture.rejections()).toMatchObject([{ id: '1', code: 'FIELD_TOO_LARGE' }]);
      expect((await fixture.rows()).map(({ f_memo }) => f_memo)).toEqual(['x'.repeat(5_000), null]);

      expect(await syncLimited('incremental')).toMatchObject({ status: 'partial', counts: { rejected: 1 } });
      erp.put(1, { memo: 'short' }, { lines: [] });
      expect(await syncLimited('incremental')).toMatchObject({
        status: 'succeeded',
        counts: { updated: 1, rejected: 0 },
      });
      expect((await fixture.rows()).map(({ f_memo }) => f_memo)).toEqual(['short', null]);
    },
  );
});

describe('records that the ERP returns by id, a part at a time', () => {
  it('are all read, and those that are gone are noticed', async () => {
    const erp = memoryErp(fields);
    erp.at = new Date('2026-05-01T08:00:00Z');
    for (let id = 1; id <= 9; id += 1)
      erp.rejects.set(String(id), { id: String(id), code: 'VALUE_UNREADABLE', message: 'broken' });
    erp.fill(9, () => [{}, { lines: [], modifiedAt: longAgo }]);
    const { readByIds } = erp.connector;
    const asked: number[] = [];
    const connector = {
      ...erp.connector,
      readByIds: async (request: Parameters<typeof readByIds>[0]) => {
        asked.push(request.ids.length);
        const page = await readByIds({ ...request, ids: request.ids.slice(0, 2) });
        return { ...page, lastId: request.ids[1] ?? page.lastId, hasMore: request.ids.length > 2 };
      },
    };
    const fixture = await syncFixture(site.ctx, Object.assign(erp, { connector }));
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { rejected: 9 });
    erp.rejects.clear();
    erp.records.delete('5');
    await fixture.expectSuccess('incremental', { inserted: 8, rejected: 0 });
    expect(asked).toEqual([9, 7, 5, 3, 1]);
    expect((await fixture.ids()).map(Number)).toEqual([1, 2, 3, 4, 6, 7, 8, 9]);
  });

  it('fail the run where a part has no end', async () => {
    const erp = memoryErp(fields);
    erp.put(1, {}, { lines: [], modifiedAt: longAgo });
    erp.rejects.set('1', { id: '1', code: 'VALUE_UNREADABLE', message: 'broken' });
    const endless = async () => ({ records: [], rejected: [], lastId: null, hasMore: true });
    Object.assign(erp, { connector: { ...erp.connector, readByIds: endless } });
    const fixture = await syncFixture(site.ctx, erp);
    await fixture.sync();
    await fixture.expectFailure('incremental', 'PAGE_WITHOUT_END');
  });
});
