// Row scopes, field scopes and unmasked reading of API keys: what is accepted, how it is stored and shown,
// who may widen it.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { assignablePermissions, isReadPermission } from '../../../src/core/permissions.ts';
import { type ResourceRows, unlimitedLayer } from '../../../src/core/record-access.ts';
import { findApiKey } from '../../../src/identity/api-key.store.ts';
import { fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { type Answer, type Api, createApi, listProblems, pluck, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';
import { createKeyCalls, type MadeKey } from './fixture.ts';

const org = useOrganization();
let admin: Api;
let editor: Person;

const renamed = (names: Record<string, object>) => ({ ...invoicesEndpoint, fields: fieldsWith(names) });
const scopable = { scopable: true };
const customer = (name: string) => renamed({ customer: { name, ...scopable } });

beforeAll(async () => {
  admin = await org.session(org.owner.id);
  editor = await org.join(['api-key:read', 'api-key:create', 'api-key:update', 'record:read']);
  await loadInvoices(org.ctx, org.id, []);
  const publish = (version: string, status: string, endpoint: object) =>
    publishVersion(org.ctx, org.id, { version, status, endpoints: [endpoint] });
  const many = { total: scopable, seq: scopable, paid: scopable, date: scopable, modified: scopable };
  await publish('v1', 'retired', customer('buyer'));
  await publish('v2', 'published', renamed(many));
  await publish('v3', 'deprecated', customer('customerId'));
  await publish('v4', 'published', { ...customer('customerId'), sorts: [], filters: [] });
  await publish('v5', 'published', { ...customer('client'), sorts: [], filters: [] });
  await publish('v6', 'draft', { ...renamed({ number: scopable }), name: 'planned' });
});

type Scopes = Record<string, unknown>;
const { create, patch: patchKey, rotate } = createKeyCalls(org);
const make = (scopes: Scopes, api: Api = admin): Promise<Answer> =>
  api('post', '/api-keys', { name: 'scoped', scopes });
const made = async (scopes: Scopes, api: Api = admin) =>
  (await create({ scopes }, api)) as MadeKey & { scopes: Scopes };
const patch = (id: string, scopes: Scopes, api: Api = admin) => patchKey(id, { scopes }, api);
/** The status of a refusal, and its problems. */
const problems = async (asked: Promise<Answer>) => {
  const answer = await asked;
  return [answer.status, ...listProblems(answer)];
};
const findAccess = async (secret: string) => (await findApiKey(org.ctx, secret))?.access;
const invoices = (...conditions: object[]): Scopes => ({ rows: { invoices: conditions } });
const within = (version: string, ...conditions: object[]): Scopes => ({
  versions: [version],
  ...invoices(...conditions),
});
const of = (...values: string[]): object => ({ field: 'customerId', in: values });
const stored = (source: string, field: string, ...values: string[]): ResourceRows => ({
  recordType: 'invoice',
  conditions: [{ field, source, in: values }],
});

describe('POST /api-keys with rows', () => {
  it('stores record type and source of each field, and shows the names', async () => {
    const rows = { invoices: [of('1042', '1043'), { field: 'id', eq: '7' }], '*': [] };
    const key = await made({ rows, permissions: ['read'] });
    const shown = { invoices: [of('1042', '1043'), { field: 'id', in: ['7'] }], '*': [] };
    expect(key.scopes).toEqual({
      ...{ versions: [], resources: [], permissions: ['read'] },
      ...{ rows: shown, fields: null, unmasked: false },
    });
    expect((await admin('get', `/api-keys/${key.id}`)).body.scopes).toEqual(key.scopes);
    const { conditions } = stored('entity', 'customerId', '1042', '1043');
    const byId = { field: 'id', source: 'id', in: ['7'] };
    const resources = { invoices: { recordType: 'invoice', conditions: [...conditions, byId] } };
    expect(await findAccess(key.secret)).toEqual({
      layers: [{ ...unlimitedLayer, rows: { resources, others: true } }],
      unmasked: false,
    });
  });

  it('looks names up in the named versions, otherwise in the newest living one that has them, otherwise in drafts', async () => {
    const readSource = async (scopes: Scopes, resource = 'invoices') => {
      const access = await findAccess((await made(scopes)).secret);
      return access?.layers[0]?.rows?.resources[resource]?.conditions[0]?.source;
    };
    const eq = (field: string, versions: string[] = []) => ({ ...invoices({ field, eq: '1' }), versions });
    expect(await readSource(eq('customerId'))).toBe('entity');
    expect(await readSource(eq('client'))).toBe('entity');
    expect(await readSource(eq('total'))).toBe('total');
    expect(await readSource(eq('buyer', ['v1']))).toBe('entity');
    // Renamed in v5, where it is still the same field of the record type.
    expect(await readSource(eq('customerId', ['v4', 'v5']))).toBe('entity');
    expect(await readSource({ rows: { planned: [{ field: 'number', eq: 'x' }] } }, 'planned')).toBe('tranid');
    // A retired version isn't asked unless it is named.
    const unknown = [422, 'scopes.rows.invoices[0].field unknown_field'];
    expect(await problems(make(eq('buyer')))).toEqual(unknown);
  });

  it('422 when living versions have the resource over several record types and none is named', async () => {
    const endpoints = [{ ...invoicesEndpoint, name: 'ledger' }];
    const id = await publishVersion(org.ctx, org.id, { version: 'v20', endpoints });
    await org.admin.raw(
      `insert into api_schemas (id, organization_id, version, status, endpoints, created_by, bindings, openapi, published_at)
       select ?, organization_id, 'v21', status, jsonb_set(endpoints, '{0,recordType}', '"item"'), created_by,
         jsonb_build_object('item', bindings -> 'invoice'), openapi, published_at from api_schemas where id = ?`,
      [createId(), id],
    );
    const ledger = { rows: { ledger: [{ field: 'id', in: ['1'] }] } };
    expect(await problems(make(ledger))).toEqual([422, 'scopes.rows.ledger ambiguous_resource']);
    await made({ ...ledger, versions: ['v20'] });
  });

  it('accepts values as strings, and numbers and booleans where the field is one', async () => {
    const key = await made(
      within(
        'v2',
        { field: 'seq', in: ['007', 8] },
        { field: 'total', eq: 12.5 },
        { field: 'paid', eq: true },
        { field: 'date', eq: '2026-01-31' },
        { field: 'modified', eq: '2026-01-31T10:00:00Z' },
        { field: 'id', in: [3, '04'] },
      ),
    );
    expect(pluck((key.scopes['rows'] as Answer['body']).invoices, 'in')).toEqual([
      ['7', '8'],
      ['12.5'],
      ['true'],
      ['2026-01-31'],
      ['2026-01-31T10:00:00Z'],
      ['3', '4'],
    ]);
  });

  const at = 'scopes.rows.invoices[0]';
  const unknownField = 'scopes.fields.invoices unknown_field';
  it.each<[string, Scopes, ...string[]]>([
    ['neither in nor eq', invoices({ field: 'customerId' }), `${at} custom`],
    ['both in and eq', invoices({ field: 'customerId', in: ['1'], eq: '1' }), `${at} custom`],
    ['NUL', invoices(of('\0')), `${at}.in[0] unstorable_text`],
    ['conditions for all others', { rows: { '*': [of('1')] } }, 'scopes.rows.* custom'],
    ['an invalid resource name', { rows: { Invoices: [] } }, 'scopes.rows.Invoices invalid_key'],
    [
      'an unknown resource',
      { rows: { bills: [], invoices: [of('1')] } },
      'scopes.rows.bills unknown_resource',
    ],
    ['an inherited name', { rows: { constructor: [] } }, 'scopes.rows.constructor unknown_resource'],
    ['an unknown field', invoices({ field: 'custumerId', eq: '1' }), `${at}.field unknown_field`],
    ['a field that is not scopable', invoices({ field: 'status', eq: 'Open' }), `${at}.field not_scopable`],
    [
      'fields of different versions',
      invoices(of('1'), { field: 'total', eq: '1' }),
      'scopes.rows.invoices not_scopable',
    ],
    ['a version without it', { versions: ['v2', 'v4'], ...invoices(of('1')) }, `${at}.field not_scopable`],
    ['no text', within('v4', { field: 'customerId', in: ['1', 2] }), `${at}.in[1] invalid_value`],
    ['no whole number', within('v2', { field: 'seq', in: ['1', '1.5'] }), `${at}.in[1] invalid_value`],
    ['an integer out of range', within('v2', { field: 'seq', eq: '9'.repeat(30) }), `${at}.eq out_of_range`],
    ['an inexact number', within('v2', { field: 'seq', eq: 2 ** 53 }), `${at}.eq invalid_value`],
    ['an exponent', within('v2', { field: 'total', eq: 1e30 }), `${at}.eq invalid_value`],
    ['no boolean', within('v2', { field: 'paid', eq: 'yes' }), `${at}.eq invalid_value`],
    ['no date', within('v2', { field: 'date', eq: '2026-02-30' }), `${at}.eq invalid_value`],
    ['no id', invoices({ field: 'id', eq: 'x1' }), `${at}.eq invalid_value`],
    [
      'an unknown version',
      within('v9', of('1')),
      ...['scopes.versions unknown_version', 'scopes.rows.invoices unknown_resource'],
    ],
    ['a repeated field', { fields: { invoices: ['number', 'number'] } }, 'scopes.fields.invoices custom'],
    ['unknown fields', { fields: { invoices: ['number', 'numbr', 'cost'] } }, unknownField, unknownField],
    [
      'fields of an unknown resource',
      { fields: { bills: ['number'] } },
      'scopes.fields.bills unknown_resource',
    ],
    ['fields that v5 lacks', { versions: ['v5'], fields: { invoices: ['customerId'] } }, unknownField],
  ])('422 for %s', async (_name, scopes, ...expected) => {
    expect(await problems(make(scopes))).toEqual([422, ...expected]);
  });

  it('names the versions to which a scope would not apply, and the fields that it may name', async () => {
    const messages = async (scopes: Scopes) => pluck((await make(scopes)).body.error.details, 'message');
    expect(await messages({ versions: ['v2', 'v4', 'v5'], ...invoices(of('1')) })).toEqual([
      expect.stringContaining('not apply to v2:'),
    ]);
    expect(await messages(within('v4', { field: 'status', eq: '1' }))).toEqual([
      'status is not scopable in v4. Scopable: id, customerId',
    ]);
    expect(await messages(within('v4', { field: 'custumerId', eq: '1' }))).toEqual([
      'invoices has no field "custumerId" in v4. Did you mean "customerId"?',
    ]);
  });
});

describe('a restricted key', () => {
  it.each<[string, Scopes]>([
    ['resources', { resources: ['invoices'], permissions: ['write'] }],
    ['rows', { ...invoices(of('1')), permissions: ['write'] }],
    ['rows that allow all', { rows: { '*': [] } }],
    ['no resource at all', { rows: {} }],
    ['fields', { fields: { invoices: ['number'] }, permissions: ['write'] }],
    ['no management access', { permissions: ['none'] }],
    ['fields and masks as they are', { fields: { invoices: ['id'] }, unmasked: true }],
  ])('with %s has no permission, and sees only its own scopes', async (_name, scopes) => {
    const { id, secret, scopes: shown } = await made(scopes);
    const api = createApi(org.app, secret);
    const { status, body: me } = await api('get', '/whoami');
    const { permissions: _, ...reads } = shown;
    expect([status, me.permissions, me.metrics, me.user.email, me.scopes]).toEqual([
      ...[200, [], null, null, reads],
    ]);
    expect(await refusal(api('patch', `/api-keys/${id}`, {}))).toEqual([403, 'restricted_key']);
    for (const path of [`/api-keys/${id}`, '/api-schema', '/views', '/whoami/organizations'])
      expect([path, ...(await refusal(api('get', path)))]).toEqual([path, 403, 'restricted_key']);
  });

  it('is none with unmasked reading alone, which no permission follows from', async () => {
    const { secret } = await made({ unmasked: true });
    const me = (await createApi(org.app, secret)('get', '/whoami')).body;
    expect(me.permissions).toEqual(assignablePermissions.filter(isReadPermission));
    expect(me.permissions).not.toContain('unmasked:read');
    expect(me.scopes).toEqual({ ...unlimitedLayer, unmasked: true });
    expect((await admin('get', '/whoami')).body.scopes).toBeNull();
  });
});

describe('PATCH /api-keys/{id}', () => {
  const readScopes = async (id: string): Promise<Scopes> =>
    (await admin('get', `/api-keys/${id}`)).body.scopes;

  it('leaves rows, fields and masks as they are unless they are given, and clears them with null', async () => {
    const fields = { invoices: ['number'] };
    const { id, scopes } = await made({ ...invoices(of('1')), fields, unmasked: true });
    expect((await patch(id, { versions: ['v4'] })).body.scopes).toEqual({ ...scopes, versions: ['v4'] });
    const cleared = { rows: null, unmasked: false };
    expect((await patch(id, cleared)).body.scopes).toEqual({ ...scopes, ...cleared });
    expect((await patch(id, { fields: null })).body.scopes).toMatchObject({ rows: null, fields: null });
  });

  it('keeps the meaning of conditions that are given again, although no living version has the field any more', async () => {
    const { id, scopes, secret } = await made(within('v1', { field: 'buyer', in: ['1'] }));
    const unknown = [422, 'scopes.rows.invoices[0].field unknown_field'];
    expect(await problems(patch(id, { ...scopes, versions: [] }))).toEqual(unknown);
    await org.admin('api_keys').where({ id }).update({ scope_versions: [] });
    expect((await patch(id, { ...scopes, versions: [], permissions: ['read'] })).status).toBe(200);
    const { rows } = (await findAccess(secret))?.layers[0] ?? {};
    expect(rows?.resources['invoices']).toEqual(stored('entity', 'buyer', '1'));
  });

  it('is narrowed by anyone who may update keys, and widened only by someone who may read records', async () => {
    const all = { rows: { invoices: [of('1', '2', '3')], '*': [] } };
    const { id } = await made({ ...all, fields: { invoices: ['number', 'total'] } });
    const blind = await org.join(['api-key:read', 'api-key:update']);
    const byId = { field: 'id', eq: '4' };
    for (const scopes of [
      { rows: { invoices: [of('1', '2')], '*': [] } },
      { rows: { invoices: [of('1', '2'), byId], '*': [] } },
      invoices(of('2'), byId),
      { fields: { invoices: ['number'] } },
    ])
      expect([scopes, (await patch(id, scopes, blind.api)).status]).toEqual([scopes, 200]);
    const now = await readScopes(id);
    for (const scopes of [
      { rows: null },
      invoices(of('2')),
      invoices(of('2', '3'), byId),
      invoices(of('3'), byId),
      { rows: { invoices: [of('2'), byId], '*': [] } },
      { rows: { invoices: [of('2'), byId], planned: [] } },
      invoices({ field: 'nope', eq: '1' }),
      { fields: null },
      { fields: { invoices: ['number', 'total'] } },
      { fields: { invoices: ['number', 'nope'] } },
    ])
      expect([scopes, await refusal(patch(id, scopes, blind.api))]).toEqual([scopes, [403, 'escalation']]);
    expect(await readScopes(id)).toEqual(now);
    // Without rows the key would also get its creator's permissions, which the editor doesn't have.
    const whole = patch(id, { rows: null, fields: null }, editor.api);
    expect(await refusal(whole)).toEqual([403, 'escalation']);
    expect((await patch(id, { rows: { '*': [] }, fields: null }, editor.api)).status).toBe(200);
  });

  it('cannot widen rows or fields, or unmask, while a former secret works', async () => {
    const { id } = await made({ ...invoices(of('1')), fields: { invoices: ['number'] } });
    expect((await rotate(id, { gracePeriodSeconds: 600 }, admin)).status).toBe(201);
    for (const scopes of [{ rows: null }, { fields: null }, { unmasked: true }, invoices(of('1', '2'))])
      expect(await refusal(patch(id, scopes))).toEqual([422, 'grace_running']);
    const { id: none } = await made({ permissions: ['none'] });
    expect((await rotate(none, { gracePeriodSeconds: 600 }, admin)).status).toBe(201);
    expect(await refusal(patch(none, { permissions: ['read'] }))).toEqual([422, 'grace_running']);
    expect((await patch(none, { permissions: ['none'], versions: ['v4'] })).status).toBe(200);
    expect((await patch(id, invoices(of('1'), { field: 'id', eq: '1' }))).status).toBe(200);
  });
});

describe('unmasked reading', () => {
  const escalates = [403, 'scopes.unmasked escalation'];

  it('is given only by someone who holds unmasked:read, with a credential that reads unmasked', async () => {
    const masked = await made({ permissions: ['write'] });
    const unmasked = await made({ permissions: ['write'], unmasked: true });
    for (const api of [editor.api, createApi(org.app, masked.secret)])
      expect(await problems(make({ unmasked: true }, api))).toEqual(escalates);
    await made({ unmasked: true }, createApi(org.app, unmasked.secret));
    const holder = await org.join(['api-key:create', 'api-key:read', 'record:read', 'unmasked:read']);
    await made({ unmasked: true }, await org.session(holder.id));
    const { id } = await made({});
    expect(await problems(patch(id, { unmasked: true }, editor.api))).toEqual(escalates);
  });

  it('is no part of a key that someone else rotates, extends or widens without it', async () => {
    const { id } = await made({ unmasked: true, versions: ['v4'] });
    expect(await problems(rotate(id, {}, editor.api))).toEqual(escalates);
    expect(await problems(patch(id, { versions: ['v4', 'v5'] }, editor.api))).toEqual(escalates);
    expect((await patch(id, { versions: ['v4'], unmasked: false }, editor.api)).status).toBe(200);
    expect((await rotate(id, {}, editor.api)).status).toBe(201);
  });

  it('is a permission of owners and admins, never of read-only credentials, viewers or editors', async () => {
    const holds = async (role: string) => {
      const session = await org.session((await org.join(role)).id);
      return (await session('get', '/whoami')).body.permissions.includes('unmasked:read');
    };
    expect(await Promise.all(['admin', 'editor', 'viewer'].map(holds))).toEqual([true, false, false]);
    const reader = await makeKey(org.ctx, org.id, { permissions: ['read'] });
    expect(await org.readPermissions(reader.secret)).not.toContain('unmasked:read');
    expect(await org.readPermissions(reader.secret)).toContain('record:read');
  });
});
