// The record tools of agents and /mcp under row scopes, allow-lists and masks.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessLayer,
  fullAccess,
  type RecordAccess,
  unlimitedLayer,
} from '../../../src/core/record-access.ts';
import { recordToolsOf } from '../../../src/public/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { type InvoiceRow, loadInvoices, publishVersion, withReads } from '../fixture.ts';
import { rowsOf, scopedInvoices } from './fixture.ts';

const customers = ['acme', 'birch', 'corda'] as const;
const rows: InvoiceRow[] = Array.from({ length: 90 }, (_, index) => ({
  id: index + 1,
  tranid: `number-${index}-00000`,
  status: index % 2 === 0 ? 'open' : 'paid',
  total: `${index}.25`,
  trandate: `2026-01-${10 + (index % 20)}`,
  entity: customers[index % 3] ?? null,
  entityName: `The ${customers[index % 3]} company`,
  lines: '[{"item":"1","item.name":"Bolt of ten letters"}]',
}));
const masked: Readonly<Record<string, string>> = { total: 'last4', date: 'year', totalText: 'last4' };

let database: TestDatabase;
let organizationId: string;
let tools: ReturnType<typeof recordToolsOf>;
beforeAll(async () => {
  database = await testDatabase({ settings: { cacheTtlMs: 0 } });
  organizationId = (await makeOrganization(database.ctx)).id;
  await loadInvoices(database.ctx, organizationId, rows);
  const fields = scopedInvoices.fields.map((field) => ({
    ...field,
    ...(masked[field.name] !== undefined && { mask: masked[field.name] }),
  }));
  await publishVersion(database.ctx, organizationId, {
    endpoints: [
      { ...scopedInvoices, fields },
      { ...scopedInvoices, name: 'bills' },
    ],
  });
  await publishVersion(database.ctx, organizationId, {
    version: 'v2',
    endpoints: [
      { ...scopedInvoices, fields: scopedInvoices.fields.map(({ scopable: _scopable, ...field }) => field) },
    ],
  });
  tools = recordToolsOf(withReads(database.ctx));
});
afterAll(() => database.close());

type Tool = keyof typeof tools;
const at = { version: 'v1', resource: 'invoices' };
const accessOf = (layer: Partial<AccessLayer>, unmasked = true): RecordAccess => ({
  layers: [{ ...unlimitedLayer, ...layer }],
  unmasked,
});
const acme = accessOf({ rows: rowsOf(['acme']) });
async function run(name: Tool, reads: RecordAccess, input: object = {}) {
  const call = tools[name] as (tenant: object, access: object, input: object) => Promise<string>;
  const defaults = name === 'aggregate' ? { orderBy: 'count', limit: 20 } : {};
  return JSON.parse(
    await call(
      { ...database.ctx, organizationId },
      { reads, maxCharacters: 100_000 },
      { ...at, ...defaults, ...input },
    ),
  );
}
const own = rows.filter(({ entity }) => entity === 'acme');

describe('under a row scope', () => {
  it('query, get and aggregate read own records alone', async () => {
    const { data, pagination } = await run('query', acme, { pageSize: 100, sort: 'total' });
    expect(data.map(({ id }: { id: string }) => Number(id))).toEqual(own.map(({ id }) => id));
    expect(pagination.total).toBe(own.length);
    expect((await run('get', acme, { id: '1' })).data).toMatchObject({ id: '1', customer: 'acme' });
    await expect(run('get', acme, { id: '2' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const sum = own.reduce((total, row) => total + Number(row.total), 0).toFixed(2);
    expect(await run('aggregate', acme, { field: 'total' })).toMatchObject({
      count: own.length,
      values: own.length,
      sum,
      min: '0.25',
      max: '87.25',
    });
    expect(await run('aggregate', acme, { filters: { customer: ['birch', 'corda'] } })).toMatchObject({
      count: 0,
    });
    const grouped = await run('aggregate', acme, { groupBy: 'customer', orderBy: 'value' });
    expect([grouped.totalGroups, grouped.groups]).toEqual([1, [{ value: 'acme', count: own.length }]]);
    expect((await run('aggregate', fullAccess, { groupBy: 'customer' })).totalGroups).toBe(3);
  });

  it('describe counts them, and lists the versions and resources that the scope applies to', async () => {
    expect(await run('describe', acme)).toMatchObject({ records: own.length });
    expect(await run('describe', fullAccess)).toMatchObject({ records: rows.length });
    const listed = await run('describe', acme, { version: undefined, resource: undefined });
    expect(listed.versions).toEqual([
      { version: 'v1', status: 'published', name: '', resources: ['invoices'] },
    ]);
    expect(
      (await run('describe', acme, { resource: undefined })).resources.map(
        ({ resource }: { resource: string }) => resource,
      ),
    ).toEqual(['invoices']);
    for (const tool of ['describe', 'query', 'aggregate'] as const) {
      await expect(run(tool, acme, { resource: 'bills' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
      await expect(run(tool, acme, { version: 'v2' })).rejects.toMatchObject({
        details: [{ code: 'resource_out_of_scope' }],
      });
    }
    expect((await run('describe', acme, { version: 'v2', resource: undefined })).resources).toEqual([]);
    const whole = await run('describe', fullAccess, { version: undefined, resource: undefined });
    expect(whole.versions.map(({ version }: { version: string }) => version)).toEqual(['v1', 'v2']);
  });

  it('two layers read what both allow', async () => {
    const both = (a: readonly string[], b: readonly string[]): RecordAccess => ({
      layers: [a, b].map((scope) => ({ ...unlimitedLayer, rows: rowsOf(scope) })),
      unmasked: true,
    });
    expect(await run('aggregate', both(['acme', 'birch'], ['birch', 'corda']))).toMatchObject({ count: 30 });
    expect(await run('aggregate', both(['acme'], ['corda']))).toMatchObject({ count: 0 });
    expect((await run('query', both(['acme'], ['corda']))).data).toEqual([]);
  });

  it('503 scope_field_stale', async () => {
    const set = (fields: object) =>
      database.ctx.db.data.query(
        `update ${tenantSchema(organizationId)}.record_state set stale_fields = $1`,
        [JSON.stringify(fields)],
      );
    await set({
      entity: { since: '2026-02-26T08:00:00Z', syncedAt: null, reason: 'unreadable', message: '' },
    });
    for (const tool of ['describe', 'query', 'get', 'aggregate'] as const) {
      const given = tool === 'get' ? { id: '1' } : {};
      await expect(run(tool, acme, given)).rejects.toMatchObject({
        status: 503,
        details: [{ code: 'scope_field_stale' }],
      });
      await run(tool, fullAccess, given);
    }
    await set({});
  });
});

describe('masked and hidden fields', () => {
  const reader: RecordAccess = { layers: [], unmasked: false };
  it('are shown masked, and not filtered, sorted, grouped or aggregated by', async () => {
    expect((await run('get', reader, { id: '90', fields: ['total', 'date'] })).data).toEqual({
      id: '90',
      total: '****',
      date: '2026',
    });
    const refused: [Tool, object, string][] = [
      ['query', { sort: 'total' }, 'sort'],
      ['query', { filters: { total_gte: 1 } }, 'total_gte'],
      ['aggregate', { field: 'total' }, 'field'],
      ['aggregate', { groupBy: 'date' }, 'groupBy'],
      ['aggregate', { field: 'totalText' }, 'field'],
      ['aggregate', { filters: { date: '2026-01-10' } }, 'date'],
    ];
    for (const [tool, input, path] of refused)
      await expect(run(tool, reader, input)).rejects.toMatchObject({
        code: 'FORBIDDEN',
        details: [{ path, code: 'field_masked' }],
      });
    await expect(run('aggregate', reader, { field: 'totl' })).rejects.toMatchObject({
      message: expect.not.stringMatching(/totalText|date|"total"/),
    });
  });

  it('are described as the caller sees them', async () => {
    const described = await run('describe', reader);
    const field = (name: string) => described.fields.find((other: { name: string }) => other.name === name);
    expect(field('total')).toEqual({ name: 'total', type: 'text', mask: 'last4' });
    expect(field('date')).toEqual({ name: 'date', type: 'text', mask: 'year' });
    expect(described.defaultSort).toEqual({ field: 'id', order: 'asc' });
    const whole = await run('describe', fullAccess);
    expect(whole.defaultSort).toEqual({ field: 'date', order: 'desc' });
    expect(whole.fields.find(({ name }: { name: string }) => name === 'total')).toMatchObject({
      type: 'number',
      sortable: true,
    });
    const narrow = await run('describe', accessOf({ fields: { invoices: ['status'] } }));
    expect(narrow.fields.map(({ name }: { name: string }) => name)).toEqual(['id', 'status']);
    await expect(
      run('describe', accessOf({ fields: { invoices: ['status'] } }), { fields: ['total'] }),
    ).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
    await expect(
      run('aggregate', accessOf({ fields: { invoices: ['status'] } }), { groupBy: 'customer' }),
    ).rejects.toMatchObject({
      message: expect.not.stringContaining('number'),
    });
  });
});
