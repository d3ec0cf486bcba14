// Pages are prefetched one ahead, and a prefetched page has no effect before its turn.
import { expect, it } from 'vitest';
import type { PageRequest } from '../../src/connectors/connector.ts';
import { createLineProver } from '../../src/sync/prove/line-prover.ts';
import { createPageReader } from '../../src/sync/stage/page-reader.ts';
import { createRunPlan } from '../../src/warehouse/run-state-row.ts';
import { testSettings } from '../setup/database.ts';
import { column } from '../warehouse/column.ts';
import { datedFields, memoryErp } from './fixture.ts';

async function reader(records: number) {
  const { signal } = new AbortController();
  const erp = memoryErp(datedFields);
  erp.at = new Date('2026-05-01T08:00:00Z');
  for (let id = 1; id <= records; id += 1) erp.put(id);
  const [recordType] = await erp.connector.metadata(signal);
  if (recordType === undefined) throw new Error('no record type');
  erp.calls.length = 0;
  const order: Omit<PageRequest, 'afterId' | 'changedSince'> = {
    recordType,
    fields: ['name'],
    limit: 10,
    signal,
  };
  const state = {
    columns: [column('name')],
    plan: createRunPlan({ mode: 'full', idType: 'integer', since: null }),
  };
  const proveLines = createLineProver({ ...order, connector: erp.connector, state });
  const read = createPageReader(
    erp.connector,
    { checkTypes: async () => undefined, proveLines, limits: testSettings.sync },
    state,
    order,
  );
  return { erp, read, asked: () => erp.calls.map(({ afterId }) => afterId) };
}

it('prefetches one page, never more, and none after the last', async () => {
  const { read, asked } = await reader(25);
  expect((await read(null, null)).records.map(({ id }) => id)).toEqual(
    Array.from({ length: 10 }, (_unused, n) => String(n + 1)),
  );
  expect(asked()).toEqual([null, '10']);
  expect((await read('10', null)).lastId).toBe('20');
  expect(asked()).toEqual([null, '10', '20']);
  expect(await read('20', null)).toMatchObject({ lastId: '25', hasMore: false });
  expect(asked()).toEqual([null, '10', '20']);
});

it('requests another page than the prefetched one when needed', async () => {
  const { read, asked } = await reader(25);
  await read(null, null);
  expect((await read('5', null)).lastId).toBe('15');
  expect((await read('15', '2026-01-01T00:00:00Z')).lastId).toBe('25');
  expect(asked()).toEqual([null, '10', '5', '15', '15']);
});

it('a failed prefetch fails in its turn, and the page is requested again afterwards', async () => {
  const { erp, read } = await reader(25);
  erp.onCall = ({ afterId }) => {
    if (afterId === '10') throw new Error('cut off');
  };
  expect((await read(null, null)).lastId).toBe('10');
  await expect(read('10', null)).rejects.toThrow('cut off');
  erp.onCall = () => undefined;
  expect((await read('10', null)).lastId).toBe('20');
});

it('returns the latest modification time of a page, and null for a page without records', async () => {
  const { erp, read } = await reader(3);
  erp.put(2, {}, { modifiedAt: '2026-05-02T08:00:00Z' });
  expect((await read(null, null)).maxModified).toBe('2026-05-02T08:00:00Z');
  expect((await read('3', null)).maxModified).toBeNull();
});
