// What `describe` tells agents and /mcp under row scopes, allow-lists and masks. The records that the tools read:
// test/access.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessLayer,
  fullAccess,
  type RecordAccess,
  unlimitedLayer,
} from '../../../src/core/record-access.ts';
import { getRecordTools } from '../../../src/public/index.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type InvoiceRow, openSite, withFields, withReads } from '../fixture.ts';
import { createRowScopes, scopedInvoices, unscopableInvoices } from './fixture.ts';

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
const masks = { total: { mask: 'last4' }, date: { mask: 'year' }, totalText: { mask: 'last4' } };

const site = useStarted(() => {
  const masked = [withFields(scopedInvoices, masks), { ...scopedInvoices, name: 'bills' }];
  return openSite({
    settings: { cacheTtlMs: 0 },
    rows,
    versions: [{ endpoints: masked }, { version: 'v2', endpoints: [unscopableInvoices] }],
  });
});
let tools: ReturnType<typeof getRecordTools>;
beforeAll(async () => {
  tools = getRecordTools(withReads(site.ctx));
});

type Tool = keyof typeof tools;
const at = { version: 'v1', resource: 'invoices' };
const createAccess = (layer: Partial<AccessLayer>, unmasked = true): RecordAccess => ({
  layers: [{ ...unlimitedLayer, ...layer }],
  unmasked,
});
const acme = createAccess({ rows: createRowScopes(['acme']) });
async function run(name: Tool, reads: RecordAccess, input: object = {}) {
  const call = tools[name] as (tenant: object, access: object, input: object) => Promise<string>;
  const defaults = name === 'aggregate' ? { orderBy: 'count', limit: 20 } : {};
  return JSON.parse(
    await call(site.tenant, { reads, maxCharacters: 100_000 }, { ...at, ...defaults, ...input }),
  );
}
const own = rows.filter(({ entity }) => entity === 'acme');

describe('under a row scope', () => {
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
});

describe('masked and hidden fields', () => {
  const reader: RecordAccess = { layers: [], unmasked: false };

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
    const onlyStatus = createAccess({ fields: { invoices: ['status'] } });
    const narrow = await run('describe', onlyStatus);
    expect(narrow.fields.map(({ name }: { name: string }) => name)).toEqual(['id', 'status']);
    await expect(run('describe', onlyStatus, { fields: ['total'] })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
    await expect(run('aggregate', onlyStatus, { groupBy: 'customer' })).rejects.toMatchObject({
      message: expect.not.stringContaining('number'),
    });
  });
});
