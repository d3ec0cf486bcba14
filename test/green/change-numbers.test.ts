// A consumer's feed names a record only when something changed that a version shows: not when a field
// vanishes and returns with the same values, and not for fields of the ERP that no version shows. Their
// values are stored all the same.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBackground } from '../../src/app.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { until } from '../setup/until.ts';
import { type ErpRecord, useCompany } from './company.ts';

const company = useCompany();
let ids: readonly string[] = [];

const field = (name: string, source: string) => ({ name, source });
const invoices = (fields: readonly object[]) => [{ name: 'invoices', recordType: 'invoice', fields }];
/** What v1 shows. Neither the time of the last modification, which moves with every edit, nor the memo. */
const shownByV1 = [
  field('number', 'tranid'),
  field('dueDate', 'duedate'),
  field('total', 'foreigntotal'),
  { ...field('lines', 'lines'), fields: [field('item', 'item.name'), field('quantity', 'quantity')] },
];

type Change = {
  readonly op: string;
  readonly id: string;
  readonly record: Readonly<Record<string, unknown>>;
};
/** A consumer of a version: what its feed delivered since it last asked, and its position. */
async function followFrom(version: string): Promise<() => Promise<Change[]>> {
  let since = '';
  const read = async () => {
    const found: Change[] = [];
    for (;;) {
      const { status, body, text } = await company.read(
        `/${version}/invoices/changes?limit=1000${since === '' ? '' : `&since=${since}`}`,
      );
      if (status !== 200) throw new Error(`${status} ${text}`);
      found.push(...body.data);
      since = body.next;
      if (!body.hasMore) return found;
    }
  };
  await read();
  return read;
}
const listOps = (changes: readonly Change[]): string[] => changes.map(({ op, id }) => `${op} ${id}`).sort();
const upserts = (...changed: readonly (string | undefined)[]): string[] =>
  changed.map((id) => `upsert ${id}`).sort();

const readGeneration = async (version = 'v1'): Promise<number> =>
  Number((await company.read(`/${version}/invoices?pageSize=1`)).headers['x-data-generation']);
const edit = (id: string | undefined, fields: object) =>
  company.control('PATCH', `/records/transaction/${id}`, { fields });
const editLine = async (id: string | undefined, fields: object) => {
  const { lines } = await company.control('GET', `/records/transaction/${id}`);
  const { line } = lines.find(
    ({ fields: has }: ErpRecord) => has['item'] !== undefined && has['mainline'] !== 'T',
  );
  return company.control('PATCH', `/records/transaction/${id}`, { lines: [{ line, fields }] });
};
const hideColumns = (...transaction: string[]) =>
  company.control('PUT', '/hidden', {
    tables: [],
    columns: transaction.length === 0 ? {} : { transaction },
    rows: {},
  });
const succeeded = (updated: number) => ({
  status: 'succeeded',
  counts: { inserted: 0, updated, deleted: 0 },
});
const storedMemo = async (id: string | undefined): Promise<unknown> => {
  const schema = tenantSchema(company.organizationId);
  const { data } = company.database.ctx.db;
  const [state] = (
    await data.query(`select active_table from ${schema}.record_state where record_type = 'invoice'`)
  ).rows;
  return (
    await data.query(`select f_memo as memo from ${schema}."${state.active_table}" where id = $1`, [id])
  ).rows[0]?.memo;
};
const state = async (column: string) => {
  const { data } = company.database.ctx.db;
  const { rows } = await data.query(
    `select ${column} as value from ${tenantSchema(company.organizationId)}.record_state where record_type = 'invoice'`,
  );
  return rows[0]?.value;
};

beforeAll(async () => {
  await company.run('invoice');
  await company.publish(invoices(shownByV1));
  ids = (await company.transactions('CustInvc')).map(({ id }) => id);
});
afterEach(async () => {
  await company.control('POST', '/reset');
});

describe.each(['incremental', 'full'] as const)('in %s runs', (mode) => {
  it('a shown field that vanishes and returns with the same values puts only what changed into the feed', async () => {
    const follow = await followFrom('v1');
    await hideColumns('duedate');
    await edit(ids[0], { foreigntotal: mode === 'full' ? '10.01' : '10.02' });
    await company.run('invoice', mode);
    expect(listOps(await follow())).toEqual(upserts(ids[0]));
    await hideColumns();
    await edit(ids[1], { duedate: mode === 'full' ? '2030-01-31' : '2030-02-28' });
    await company.run('invoice', mode);
    expect(listOps(await follow())).toEqual(upserts(ids[1]));
  });

  it('neither does a field that no version shows', async () => {
    const follow = await followFrom('v1');
    await hideColumns('otherrefnum');
    await company.run('invoice', mode);
    await hideColumns();
    // A field that no version misses is noticed when the metadata are read again, by default once a day.
    await company.refresh();
    await company.expectSuccess('invoice', mode, {}, { mode: 'full' });
    expect(await follow()).toEqual([]);
  });

  it('a change of a field that no version shows is stored under a new generation, and reaches no feed', async () => {
    const follow = await followFrom('v1');
    const before = await readGeneration();
    await edit(ids[2], { memo: `hidden ${mode}` });
    expect(await company.run('invoice', mode)).toMatchObject(succeeded(1));
    expect(await storedMemo(ids[2])).toBe(`hidden ${mode}`);
    expect(await readGeneration()).toBe(before + 1);
    expect(await follow()).toEqual([]);
    // Without a change there is no new generation either.
    expect(await company.run('invoice', mode)).toMatchObject(succeeded(0));
    expect(await readGeneration()).toBe(before + 1);
  });

  it('a change of a line is one when a version shows that field of it', async () => {
    const follow = await followFrom('v1');
    const before = await readGeneration();
    await editLine(ids[3], { memo: `hidden ${mode}` });
    expect(await company.run('invoice', mode)).toMatchObject(succeeded(1));
    expect([await readGeneration(), await follow()]).toEqual([before + 1, []]);
    await editLine(ids[3], { quantity: mode === 'full' ? '-7' : '-8' });
    expect(await company.run('invoice', mode)).toMatchObject(succeeded(1));
    const [change] = await follow();
    expect(change).toMatchObject({
      op: 'upsert',
      id: ids[3],
      record: {
        lines: expect.arrayContaining([expect.objectContaining({ quantity: mode === 'full' ? -7 : -8 })]),
      },
    });
  });
});

describe('another version', () => {
  const withMemo = [...shownByV1, field('memo', 'memo')];

  it('that shows more numbers its changes from then on, also after it is retired', async () => {
    const version = await company.publish(invoices(withMemo));
    const [first, second] = [await followFrom('v1'), await followFrom(version)];
    await edit(ids[4], { memo: 'shown now' });
    expect(await company.run('invoice')).toMatchObject(succeeded(1));
    expect((await second())[0]).toMatchObject({ op: 'upsert', id: ids[4], record: { memo: 'shown now' } });
    // A change number belongs to the record, so every version's feed has it.
    expect(listOps(await first())).toEqual(upserts(ids[4]));
    const { data } = (await company.api('get', '/api-schema')).body;
    const { id } = data.find((each: { version: string }) => each.version === version);
    expect((await company.api('post', `/api-schema/${id}/retire`)).status).toBe(200);
    await edit(ids[4], { memo: 'shown when it comes back' });
    expect(await company.run('invoice', 'full')).toMatchObject(succeeded(1));
    expect(listOps(await first())).toEqual(upserts(ids[4]));
  });

  it('is not published before a publishing run has read which columns count', async () => {
    const client = await company.database.ctx.db.data.connect();
    const [{ holder }] = (await client.query('select pg_backend_pid() as holder')).rows;
    const draft = (
      await company.api('post', '/api-schema', {
        name: 'Late',
        endpoints: invoices([field('status', 'status.name')]),
      })
    ).body;
    const read = async () => (await company.api('get', `/api-schema/${draft.id}`)).body;
    try {
      // What a run does first when it publishes.
      await client.query(
        `begin; select from ${tenantSchema(company.organizationId)}.record_state where record_type = 'invoice' for update`,
      );
      await company.api('post', `/api-schema/${draft.id}/publish`, { revision: draft.revision });
      await until(async () => {
        const { rows } = await company.database.ctx.db.data.query(
          'select from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))',
          [holder],
        );
        return rows.length > 0 ? true : undefined;
      });
      expect(await read()).toMatchObject({ status: 'draft', publication: { status: 'running' } });
    } finally {
      await client.query('rollback');
      client.release();
    }
    const { version } = await until(async () => ((await read()).status === 'published' ? read() : undefined));
    expect(Object.keys(await state('shown_columns'))).toContain(version);
  });

  it('published while runs publish misses no change', async () => {
    for (const [source, value] of Object.entries({
      trandate: '2027-01-04',
      shipdate: '2027-01-05',
      otherrefnum: 'PO-9',
      externalid: 'x-9',
    })) {
      await edit(ids[5], { email: `before-${source}@b.example` });
      const [version] = await Promise.all([
        company.publish(invoices([field('number', 'tranid'), field('extra', source)])),
        company.run('invoice', 'full'),
      ]);
      const follow = await followFrom(version);
      await edit(ids[5], { [source]: value });
      expect(await company.run('invoice')).toMatchObject(succeeded(1));
      expect((await follow()).map(({ id, record }) => [id, record['extra']])).toEqual([[ids[5], value]]);
    }
  });
});

describe('a database of the version before, which entered no columns', () => {
  it('numbers every change until the versions are entered, soon after the start', async () => {
    const schema = tenantSchema(company.organizationId);
    const entered = await state('shown_columns');
    await company.database.ctx.db.data.query(`update ${schema}.record_state set shown_columns = null`);
    const follow = await followFrom('v1');
    await edit(ids[6], { email: 'a@b.example' });
    await company.run('invoice', 'full');
    const all = await follow();
    expect(listOps(all)).toEqual(upserts(ids[6]));
    const restarted = await startBackground(company.database.ctx);
    try {
      expect(await until(async () => (await state('shown_columns')) ?? undefined)).toEqual(entered);
    } finally {
      await restarted.stop();
    }
    await edit(ids[6], { email: 'c@d.example' });
    expect(await company.run('invoice', 'full')).toMatchObject(succeeded(1));
    expect(await follow()).toEqual([]);
  });
});
