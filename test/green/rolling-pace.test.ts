// C: the pace of the rolling full read. Beyond one page a run it takes at most a tenth of the requests of its
// sync, and where the period doesn't suffice, the sync says how long it really takes.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Run, useCompany } from './company.ts';
import { passDays, setClock } from './invoices.ts';

const pageSize = 5;
const company = useCompany({ sync: { pageSize } });
beforeAll(async () => {
  await setClock(company, '2011-09-05T09:00:00Z');
  await company.expectSuccess('creditMemo', 'incremental', {}, { mode: 'full' });
});

type Slice = { pages: number; requests: number; rolling: number };
async function readSlice(run: Run): Promise<Slice> {
  const { rolling } = await company.proof(run);
  const { body } = await company.api('get', `/sync-runs/${run.id}`);
  return {
    pages: Math.ceil((rolling?.facts.records ?? 0) / pageSize),
    requests: body.requests,
    rolling: rolling?.facts.requests ?? 0,
  };
}
const fullRead = async () =>
  (await company.api('get', `/sync-configs/${await company.config('creditMemo')}`)).body.fullRead;

describe('the rolling full read of a table that is large for its requests', () => {
  it('takes one page a run, more only while it is late and within a tenth of the requests, and shows its real period', async () => {
    const load = (await company.api('get', `/sync-configs/${await company.config('creditMemo')}`)).body
      .lastRun;
    let [total, rolling] = [load.requests, 0];
    await passDays(company, 4);
    const slices: Slice[] = [];
    for (let day = 1; day <= 5; day += 1) {
      const run = await company.expectSuccess('creditMemo', 'incremental', {}, { mode: 'incremental' });
      const slice = await readSlice(run);
      slices.push(slice);
      [total, rolling] = [total + slice.requests, rolling + slice.rolling];
      if (slice.pages > 1) expect(rolling).toBeLessThanOrEqual(total * 0.1);
      await passDays(company, 1);
    }
    expect(slices.every(({ pages }) => pages >= 1)).toBe(true);
    expect(slices[0]?.pages).toBe(1);
    expect(slices[1]?.pages).toBeGreaterThan(1); // late after a day
    expect(slices.at(-1)?.pages).toBe(1); // the tenth is used up
    const { periodDays, expectedDays, records, completeSince } = await fullRead();
    const read = slices.reduce((sum, { pages }) => sum + pages, 0) * pageSize;
    expect({ periodDays, records }).toEqual({ periodDays: 7, records: read });
    expect(completeSince).toMatch(/^2011-09-05T09:00:/);
    const stored = (await company.transactions('CustCred')).length;
    expect(expectedDays).toBeGreaterThan(7);
    expect(expectedDays).toBeCloseTo((4 * stored) / read, 0);
  });
});
