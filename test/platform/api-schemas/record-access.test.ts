// Publishing a version with scopable, masked and tagged fields: what is refused, measured, entered, warned of
// and compared.
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { createCaller, loadInvoices, publicApp } from '../../public/fixture.ts';
import { type Answer, createApi, pluck } from '../../setup/api.ts';
import { testSettings } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls, type Made } from './fixture.ts';

const customerId = { name: 'customerId', source: 'entity', scopable: true, tags: ['personal'] };
const number = { name: 'number', source: 'tranid' };
const total = { name: 'total', source: 'total', mask: 'hash', tags: ['confidential'] };
const lines = {
  name: 'lines',
  source: 'lines',
  fields: [
    { name: 'item', source: 'item', mask: 'last4', tags: ['personal'] },
    { name: 'quantity', source: 'quantity', tags: ['personal', 'confidential'] },
  ],
};
const invoices = (...fields: object[]) => ({
  name: 'invoices',
  recordType: 'invoice',
  fields,
  sorts: ['number'],
});
const everything = invoices(customerId, number, total, lines);

const org = useOrganization();

beforeAll(async () => {
  const rows = Array.from({ length: 300 }, (_, index) => ({
    id: index + 1,
    tranid: `INV${index}`,
    total: `${index}.5`,
    entity: index % 100 === 0 ? 'rare' : 'common',
  }));
  await loadInvoices(org.ctx, org.id, rows);
});

const versions = createVersionCalls(org);
const draft = (...fields: object[]) => versions.draft({ endpoints: [invoices(...fields)] });
const draftEverything = () => versions.draft({ endpoints: [everything] });
/** The report of the publication, or the error of a refused one. */
const publish = async (made: Made, api = org.api) => {
  const { status, body } = await versions.publish(made, api);
  return status === 202 ? (await api('get', `/api-schema/${made.id}/publication`)).body : body;
};
const validated = async ({ id }: Made, api = org.api) =>
  (await api('post', `/api-schema/${id}/validate`)).body;

describe('publishing declarations of access', () => {
  it('measures the list under a row scope, builds its indexes and enters its columns', async () => {
    const made = await draftEverything();
    expect(pluck((await validated(made)).indexes, 'expression')).toEqual(
      expect.arrayContaining(['"f_entity", generation, id', '"f_entity", id']),
    );
    const strict = { ...org.ctx, settings: { ...testSettings, proof: { ...testSettings.proof, warnMs: 0 } } };
    const { secret } = await makeKey(org.ctx, org.id, { permissions: ['write'] });
    const report = await publish(made, createApi(createApp(strict), secret));
    expect(report).toMatchObject({ status: 'succeeded', problems: [] });
    // No filter and the id, by number and id in two directions; and the scope.
    expect(report.proof.pairs).toBe(2 * 4 + 1);
    const scoped = report.pairs.filter(({ scope }: { scope?: string }) => scope !== undefined);
    expect(scoped).toMatchObject([
      {
        ...{ resource: 'invoices', filter: null, scope: 'customerId', sort: null, order: 'asc' },
        trials: [
          { value: 'common', rows: 297 },
          { value: 'rare', rows: 3 },
          { value: 'absent', rows: 0 },
        ],
      },
    ]);
    const warned = report.proof.warnings.filter(
      ({ path }: { path: string }) => path === 'endpoints[0].fields[0].scopable',
    );
    expect(warned).toHaveLength(3);
    expect(warned[0].message).toMatch(
      /^invoices\?order=asc under a row scope by customerId \((common|rare|absent) value\) takes/,
    );
    const [state] = await org.admin(`${tenantSchema(org.id)}.record_state`).select('shown_columns');
    expect(state.shown_columns[made.version]).toContainEqual({ column: 'f_entity', scopable: true });
  });

  it('makes the secret of hashes with the first version that needs it', async () => {
    const before = await org.admin('mask_secrets').where({ organization_id: org.id });
    expect(before).toHaveLength(1);
    const made = await draftEverything();
    expect(await publish(made)).toMatchObject({ status: 'succeeded' });
    expect(await org.admin('mask_secrets').where({ organization_id: org.id })).toEqual(before);
    const { secret } = await makeKey(org.ctx, org.id);
    const caller = createCaller(publicApp(org.ctx), { secret, organizationId: org.id });
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const { data } = (await caller(`/${made.version}/invoices/1`)).body;
    expect(data).toMatchObject({ customerId: 'rare', total: hash });
  });

  it('refuses scopable fields that change without the modification time, and masked sources under another name', async () => {
    await org.admin('erp_record_types').insert({
      organization_id: org.id,
      name: 'invoice',
      position: 1,
      described_at: new Date(),
      head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
      description: JSON.stringify({
        fields: [
          { name: 'status', volatile: true },
          { name: 'entity', volatile: false },
        ],
      }),
    });
    const made = await draft(customerId, number, { name: 'status', source: 'status', scopable: true });
    const problem = { path: 'endpoints[0].fields[2].scopable', code: 'not_scopable' };
    expect(await validated(made)).toMatchObject({ ready: false, problems: [problem] });
    expect(await publish(made)).toMatchObject({ error: { details: [problem] } });
    const saved = await org.api('post', '/api-schema', {
      endpoints: [invoices(number, total, { name: 'totalText', source: 'total', as: 'string' })],
    });
    const unmasked = { path: 'endpoints[0].fields[2].mask', code: 'unmasked_source' };
    expect([saved.status, saved.body.error.details]).toMatchObject([422, [unmasked]]);
  });

  it('reports changed masks and scopable fields as changes for callers', async () => {
    const base = await draftEverything();
    expect(await publish(base)).toMatchObject({ status: 'succeeded' });
    const next = await draft(
      { ...customerId, scopable: false },
      { ...number, scopable: true },
      { ...total, mask: 'last4' },
      lines,
    );
    const expected = [
      ['invoices.fields.customerId.scopable', true],
      ['invoices.fields.number.scopable', false],
      ['invoices.fields.total', true],
    ];
    const listChanges = ({ changes }: Answer['body']) => pluck(changes, 'path', 'breaking');
    expect(listChanges(await validated(next))).toEqual(expected);
    const diff = await org.api('get', `/api-schema/${next.id}/diff?against=${base.version}`);
    expect(listChanges(diff.body)).toEqual(expected);
    expect(listChanges(await publish(next))).toEqual(expected);
  });
});

describe('warnings of tagged fields', () => {
  it('count the active keys that read them without a list of fields', async () => {
    const { id, ownerId } = await makeOrganization(org.ctx);
    await loadInvoices(org.ctx, id, [{ id: 1 }]);
    const key = async (scopes: Parameters<typeof makeKey>[2]) =>
      makeKey(org.ctx, id, { createdBy: ownerId, ...scopes });
    const manager = await key({ permissions: ['write'] });
    const api = createApi(org.app, manager.secret);
    const made: Made = (await api('post', '/api-schema', { endpoints: [everything] })).body;
    const warnings = async () => (await validated(made, api)).warnings;
    const readable = (path: string, name: string, tags: string, keys: string) => ({
      path: `endpoints[0].fields${path}.tags`,
      code: 'tagged_field_readable',
      message: `The field ${name} of invoices is tagged ${tags} and has no mask: ${keys} without a list of fields can read it`,
    });
    // Masked fields aren't warned of.
    const warned = (keys: string) => [
      readable('[0]', 'customerId', 'personal', keys),
      readable('[3].fields[1]', 'lines.quantity', 'personal and confidential', keys),
    ];
    expect(await warnings()).toEqual(warned('one API key'));
    await key({ resources: ['invoices'] });
    await key({ rows: { resources: {}, others: true } });
    expect(await warnings()).toEqual(warned('3 API keys'));
    // None of these reads every field of the resource in this version.
    await key({ fields: { invoices: ['number', 'customerId'] } });
    await key({ resources: ['customers'] });
    await key({ versions: ['v99'] });
    await key({ rows: { resources: {}, others: false } });
    const revoked = await key({});
    await org.admin('api_keys').where('id', revoked.id).update({ revoked_at: new Date() });
    expect(await warnings()).toEqual(warned('3 API keys'));
    await key({ fields: { customers: ['name'] } });
    expect(await publish(made, api)).toMatchObject({ status: 'succeeded', warnings: warned('4 API keys') });
  });

  it('are empty for versions without tags, and for publications of before', async () => {
    expect(await publish(await draft(number))).toMatchObject({ status: 'succeeded', warnings: [] });
    const older = await draft(number);
    await versions.setPublication(older.id, 'failed');
    expect((await versions.read(older.id)).publication).toMatchObject({ proof: null, warnings: [] });
  });
});
