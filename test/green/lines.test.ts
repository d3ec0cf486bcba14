// Lines are proved: a run is never green while served lines differ from the ERP's, whatever its answers about
// lines leave out, repeat or delay. What earlier runs left wrong is found by the daily scan, and changes of
// lines are followed by their own time.
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { demoEndpoints } from '../../demo/schema.ts';
import { dataFolder } from '../setup/erp.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { type Company, differingIds, type ErpRecord, type Run, startCompany } from './company.ts';

const lineFields = {
  line: 'linesequencenumber',
  itemId: 'item',
  description: 'memo',
  quantity: 'quantity',
  rate: 'rate',
  amount: 'netamount',
} as const;
const numbers = new Set(['line', 'quantity', 'rate', 'amount']);
/** Negative in the books, positive as the version serves them. */
const shownPositive = new Set(['quantity', 'amount']);
const excluded = ['mainline', 'taxline', 'iscogs'];

type Lines = readonly Readonly<Record<string, string | number | null>>[];
const asText = (lines: Lines): string =>
  JSON.stringify(
    lines.map((line) =>
      Object.keys(lineFields).map((name) =>
        numbers.has(name) ? Number(line[name] ?? 0) : (line[name] ?? null),
      ),
    ),
  );
const trueLines = ({ lines = [] }: ErpRecord): Lines =>
  lines
    .filter(({ fields }) => excluded.every((flag) => fields[flag] !== 'T'))
    .sort((a, b) => Number(a.line) - Number(b.line))
    .map(({ fields }) =>
      Object.fromEntries(
        Object.entries(lineFields).map(([name, source]) => [
          name,
          shownPositive.has(name) ? -Number(fields[source] ?? 0) : (fields[source] ?? null),
        ]),
      ),
    );

/**
 * 60 invoices of the shipped sample with at least 30 lines each: one request for lines finds more than a page
 * of them.
 */
async function writeSample(folder: string): Promise<void> {
  const read = async (table: string) =>
    gunzipSync(await readFile(path.join(dataFolder, `${table}.csv.gz`)))
      .toString()
      .split('\n');
  const write = (table: string, rows: readonly string[]) =>
    writeFile(path.join(folder, `${table}.csv.gz`), gzipSync(`${rows.join('\n')}\n`));
  for (const table of ['customer', 'item'])
    await copyFile(path.join(dataFolder, `${table}.csv.gz`), path.join(folder, `${table}.csv.gz`));
  const [header = '', ...transactions] = await read('transaction');
  const [lineHeader = '', ...lines] = await read('transactionline');
  const counts = new Map<string | undefined, number>();
  for (const row of lines) counts.set(row.split(',')[2], (counts.get(row.split(',')[2]) ?? 0) + 1);
  const isLong = (row: string): boolean =>
    row.split(',')[2] === 'CustInvc' && (counts.get(row.split(',')[0]) ?? 0) >= 30;
  const kept = transactions.filter(isLong).slice(0, 60);
  const ids = new Set(kept.map((row) => row.split(',')[0]));
  await write('transaction', [header, ...kept]);
  await write('transactionline', [lineHeader, ...lines.filter((row) => ids.has(row.split(',')[2]))]);
}

let company: Company;
let folder: string;
const onLines = { table: 'transactionline', kind: 'rows' } as const;
const withoutLine2 = { on: onLines, dropRows: { where: { linesequencenumber: 2 } } };

const invoices = async (): Promise<ErpRecord[]> => await company.transactions('CustInvc');
/** Ids of invoices whose served lines differ from the ERP's, or that only one side has. */
async function wrong(): Promise<string[]> {
  const served = new Map((await company.readAll('v1/invoices')).map(({ id, lines }) => [id, asText(lines)]));
  const truth = new Map((await invoices()).map((record) => [record.id, asText(trueLines(record))]));
  return differingIds(served, truth);
}
const put = (...faults: object[]) => company.control('PUT', '/faults', faults);
const hits = async (): Promise<number[]> => (await company.control('GET', '/state')).hits;
/** Invoices with at least two lines, which edits of header and lines concern. */
const withTwoLines = async (count: number): Promise<ErpRecord[]> =>
  (await invoices()).filter((one) => trueLines(one).length > 1).slice(0, count);
const edit = (id: string, body: object) => company.control('PATCH', `/records/transaction/${id}`, body);
const editHeaders = async (memo: string) => {
  for (const { id } of await withTwoLines(3)) await edit(id, { fields: { memo } });
};
const passDays = (days: number) => company.control('POST', '/clock', { stepSeconds: days * 86_400 });
const linesMismatch = {
  status: 'failed',
  error: { code: 'LINES_MISMATCH', fix: expect.stringContaining('view all lines') },
};

let firstLoad: Run;
let loaded: Run;
beforeAll(async () => {
  folder = await createScratchFolder('lines-');
  await writeSample(folder);
  company = await startCompany({ folder });
  await put(withoutLine2);
  firstLoad = await company.run('invoice');
  await put();
  loaded = await company.run('invoice', 'full');
  for (const type of ['customer', 'item', 'creditMemo']) await company.run(type);
  await company.publish(demoEndpoints);
}, 60_000);
afterEach(async () => {
  await company.control('POST', '/reset');
});
afterAll(async () => {
  await company.stop();
  await rm(folder, { recursive: true });
});

describe('line 2 is left out of every answer', () => {
  it('fails a first load, which serves nothing', async () => {
    expect(firstLoad).toMatchObject(linesMismatch);
    expect(loaded).toMatchObject({ status: 'succeeded', mode: 'full', counts: { inserted: 60 } });
    expect((await company.proof(loaded))['lines']?.message).toBe(
      "The lines of 60 records that were read were compared with the ERP's own totals: number of lines, sum of quantity and foreignamount, latest modification time of a line; 0 read again",
    );
    expect(await wrong()).toEqual([]);
  });

  it('fails a full run, and what is served stays right', async () => {
    await put(withoutLine2);
    expect(await company.run('invoice', 'full')).toMatchObject(linesMismatch);
    expect(await wrong()).toEqual([]);
  });

  it('fails an incremental run, and the next one without the fault publishes', async () => {
    await editHeaders('edited');
    await put(withoutLine2);
    expect(await company.run('invoice', 'incremental')).toMatchObject({
      ...linesMismatch,
      mode: 'incremental',
    });
    expect(await wrong()).toEqual([]);
    await put();
    await company.expectSuccess('invoice', 'incremental', { updated: 3 });
    expect(await wrong()).toEqual([]);
  });

  it.each(['full', 'incremental'] as const)(
    'is read again in a %s run when it was left out once',
    async (mode) => {
      await editHeaders(`edited before a ${mode} run`);
      await put({ ...withoutLine2, times: 1 });
      const run = await company.expectSuccess('invoice', mode, {}, { mode });
      expect(await hits()).toEqual([1]);
      expect((await company.proof(run))['lines']?.facts.reread).toBeGreaterThan(0);
      expect(await wrong()).toEqual([]);
    },
  );
});

describe('other answers about lines that are not right', () => {
  const faults: [string, object, object?][] = [
    // The total, too: otherwise it shows that more follow.
    ['ends its pages too early', { hasMore: false }, { countOffset: -100_000 }],
    ['repeats a page', { repeatPage: true }],
    ['answers from before the last edit', { stalePage: true }],
    ['returns a row twice', { duplicateRow: true }],
  ];
  const cases = faults.flatMap(([name, ...effects]) =>
    (['full', 'incremental'] as const).map((mode) => [name, mode, effects] as const),
  );

  it.each(cases)('%s in a %s run: not green, or right', async (name, mode, effects) => {
    // All of them: their lines take more than one request, and more than one page.
    if (mode === 'incremental')
      for (const { id } of await invoices()) await edit(id, { fields: { memo: name } });
    const [edited] = await withTwoLines(1);
    const line = edited?.lines?.at(-1)?.line;
    // With the time of the lines only: the header's doesn't show that an answer about the lines is old.
    await edit(edited?.id ?? '', {
      lines: [{ line, fields: { quantity: mode === 'full' ? -7 : -8, memo: name } }],
      touch: 'lines',
    });
    const before = await wrong();
    await put(...effects.map((effect) => ({ on: onLines, ...effect })));
    const run = await company.run('invoice', mode);
    expect((await hits())[0]).toBeGreaterThan(0);
    const isGreen = run.status === 'succeeded';
    expect([name, run.status, run.error?.code, await wrong()]).toEqual([
      name,
      run.status,
      run.error?.code,
      isGreen ? [] : before,
    ]);
    await put();
    await company.expectSuccess('invoice', 'incremental');
    expect(await wrong()).toEqual([]);
  });
});

describe('lines that an earlier run left wrong', () => {
  it('are found on the next day when lines are missing', async () => {
    // An ERP that leaves the lines out of its totals as well can't be caught: this stores what the version
    // before stored.
    await put(withoutLine2, { ...withoutLine2, on: { ...onLines, kind: 'count' } });
    await company.expectSuccess('invoice', 'full');
    expect((await wrong()).length).toBeGreaterThan(50);
    await put();
    await passDays(1);
    const healed = await company.expectSuccess('invoice', 'incremental', {}, { mode: 'incremental' });
    // The rolling full read gets to the invoices before the scan does; test/sync/line-proof shows the scan
    // alone.
    expect((await company.proof(healed))['lines']?.facts).toMatchObject({
      records: (await invoices()).length,
    });
    expect(await wrong()).toEqual([]);
  });

  it('are found on the next day when a quantity differs without any new time', async () => {
    const [edited] = await withTwoLines(1);
    const line = edited?.lines?.at(-1)?.line;
    await edit(edited?.id ?? '', { lines: [{ line, fields: { quantity: -77 } }], touch: 'none' });
    expect(await wrong()).toEqual([edited?.id]);
    await passDays(1);
    await company.expectSuccess('invoice', 'incremental', { updated: 1 });
    expect(await wrong()).toEqual([]);
  });
});

describe('only the time of a line moves', () => {
  it('the next incremental run reads the record', async () => {
    await passDays(1);
    await company.run('invoice', 'full');
    const [edited] = await withTwoLines(1);
    const line = edited?.lines?.at(-1)?.line;
    await edit(edited?.id ?? '', { lines: [{ line, fields: { memo: 'described again' } }], touch: 'lines' });
    expect(await wrong()).toEqual([edited?.id]);
    const run = await company.expectSuccess('invoice', 'incremental', { updated: 1 });
    expect((await company.proof(run))['lines']?.facts).toMatchObject({ changedRead: 1 });
    expect(await wrong()).toEqual([]);
  });
});

describe('requests', () => {
  /** How many requests of each kind a run makes. */
  const countRequests = async (mode: 'full' | 'incremental'): Promise<Record<string, number>> => {
    const before = new Date().toISOString();
    await company.expectSuccess('invoice', mode, {}, { mode });
    const { recent } = await company.control('GET', '/state');
    const about: Record<string, number> = {};
    for (const { at, kind, table } of recent)
      if (at >= before) about[`${kind} ${table}`] = (about[`${kind} ${table}`] ?? 0) + 1;
    return about;
  };

  it('one for the totals of 1,000 records, and one in an idle run', async () => {
    // No edit of the other tests is recent then.
    await passDays(5);
    expect(await countRequests('full')).toMatchObject({ 'count transactionline': 1 });
    const idle = await countRequests('incremental');
    expect(idle).toMatchObject({ 'rows transactionline': 1 });
    expect(idle['count transactionline']).toBeUndefined();
  });
});
