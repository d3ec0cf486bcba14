import { beforeAll, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../../src/app.ts';
import { startUsageCounter } from '../../../src/public/index.ts';
import { createCaller } from '../../public/fixture.ts';
import { listCodes, listProblems, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls, type Made } from './fixture.ts';

const org = useOrganization({ erp: {} });

const field = (name: string, source: string) => ({ name, source });
const customers = {
  name: 'customers',
  recordType: 'customer',
  fields: [
    field('number', 'entityid'),
    field('money', 'currency.name'),
    field('modifiedAt', 'lastmodifieddate'),
  ],
  filters: [{ field: 'number', operators: ['eq', 'starts_with'] }],
  sorts: ['number'],
};

beforeAll(async () => {
  await org.erp.connect(org.api);
  await org.api('post', '/netsuite/metadata/refresh');
  const background = await startBackground(org.ctx);
  const { id } = (await org.api('post', '/sync-configs', { name: 'Customers', recordType: 'customer' })).body;
  await org.api('post', `/sync-configs/${id}/trigger`, {});
  await until(async () => (await org.api('get', `/sync-configs/${id}`)).body.lastRun.status === 'succeeded');
  await background.stop();
});

const { read, publish, ...versions } = createVersionCalls(org);
const forPartners = { name: 'For partners', endpoints: [customers] };
const draft = (body: object = forPartners) => versions.draft(body);
const published = () => versions.published(forPartners);
const ask = (method: 'get' | 'post' | 'patch' | 'delete', { id }: { id: string }, end = '', body?: object) =>
  org.api(method, `/api-schema/${id}${end}`, body);
const number = ({ version }: { version: string }) => Number(version.slice(1));

describe('POST /api-schema', () => {
  it('201 with a draft and the next label; labels are never reused', async () => {
    const first = await draft();
    expect(first).toMatchObject({ status: 'draft', revision: 1, publication: null, publishedAt: null });
    expect((await ask('delete', first)).status).toBe(204);
    expect(number(await draft({}))).toBe(number(first) + 1);
    const many = await Promise.all(Array.from({ length: 4 }, () => draft({})));
    expect(new Set(many.map(number)).size).toBe(4);
  });

  it('copies another version; a refused request uses no label', async () => {
    const base = await draft();
    const copy = await draft({ basedOn: base.version, name: 'Copy' });
    expect(await read(copy.id)).toMatchObject({ name: 'Copy', endpoints: (await read(base.id)).endpoints });
    const unknown = { basedOn: 'v999999' };
    expect(listCodes(await org.api('post', '/api-schema', unknown))).toEqual(['unknown_version']);
    expect(number(await draft({}))).toBe(number(copy) + 1);
  });

  it('422 for an invalid definition, every problem with its path', async () => {
    const fields = [field('id', 'entityid'), field('number', 'x'), field('Number', 'y')];
    const endpoints = [
      { ...customers, name: 'Bad Name', fields, sorts: ['nowhere'] },
      { ...customers, name: 'bad name' },
    ];
    const answer = await org.api('post', '/api-schema', { endpoints });
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(listProblems(answer)).toEqual(
      expect.arrayContaining([
        'endpoints[0].name illegal_name',
        'endpoints[1].name illegal_name',
        'endpoints[1].name duplicate',
        'endpoints[0].fields[0].name reserved_name',
        'endpoints[0].fields[2].name duplicate',
        'endpoints[0].sorts[0] not_included',
      ]),
    );
  });
});

it('PATCH /api-schema/{id} updates a draft, increments its revision and refuses a stale one', async () => {
  const made = await draft();
  expect((await ask('patch', made, '', { notes: 'New', revision: 1 })).body).toMatchObject({
    notes: 'New',
    name: 'For partners',
    revision: 2,
  });
  const stale = ask('patch', made, '', { notes: 'Newer', revision: 1 });
  expect(await refusal(stale)).toEqual([422, 'stale_revision']);
  const both = ['a', 'b'].map((notes) => ask('patch', made, '', { notes, revision: 2 }));
  expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 422]);
});

it('POST /api-schema/{id}/validate lists the problems, and the indexes that publishing would build', async () => {
  const fields = [field('number', 'entityid'), field('gone', 'entitid')];
  const made = await draft({
    endpoints: [
      { ...customers, fields, filters: [{ field: 'number', operators: ['gte'] }] },
      { ...customers, name: 'orders', recordType: 'unsynced' },
    ],
  });
  const answer = await ask('post', made, '/validate');
  expect(answer).toMatchObject({ status: 200, body: { ready: false } });
  expect(answer.body.problems).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        path: 'endpoints[0].fields[1].source',
        code: 'unknown_source',
        message: expect.stringContaining('entityid'),
      }),
      expect.objectContaining({ path: 'endpoints[1].recordType' }),
    ]),
  );
  const validated = async (body?: object) => (await ask('post', await draft(body), '/validate')).body;
  expect(await validated()).toMatchObject({ ready: true, problems: [] });
  expect(await validated({})).toMatchObject({ ready: false, problems: [{ code: 'no_endpoints' }] });
});

describe('POST /api-schema/{id}/publish', () => {
  it('202, then the version serves callers and never changes again', async () => {
    const made = await published();
    const { secret } = await makeKey(org.ctx, org.id);
    const call = createCaller(org.app, { secret, organizationId: org.id });
    const listed = await call(`/${made.version}/customers?pageSize=2`).expect(200);
    expect(Object.keys(listed.body.data[0])).toEqual(['id', 'number', 'money', 'modifiedAt']);
    for (const answer of [
      await ask('patch', made, '', { notes: 'x' }),
      await ask('delete', made),
      await ask('post', made, '/publish', { revision: 1 }),
    ])
      expect([answer.status, answer.body.error.message]).toEqual([422, 'Published schemas are immutable']);
    expect(await read(made.id)).toMatchObject({ notes: '', status: 'published' });
  });

  it('422 with every problem while it is not valid, and for another revision than the reviewed one', async () => {
    const unready = { ...customers, fields: [field('a', 'nothing'), field('b', 'neither')] };
    const answer = await publish(await draft({ endpoints: [{ ...unready, filters: [], sorts: [] }] }));
    expect([answer.status, listProblems(answer)]).toEqual([
      422,
      ['endpoints[0].fields[0].source unknown_source', 'endpoints[0].fields[1].source unknown_source'],
    ]);
    expect((await publish(await draft({}))).status).toBe(422);
    const made = await draft();
    expect(listCodes(await publish({ ...made, revision: 2 }))).toEqual(['stale_revision']);
    expect((await ask('post', made, '/publish')).status).toBe(422);
    expect((await read(made.id)).status).toBe('draft');
  });

  it('publishes once for two concurrent requests, and locks the draft meanwhile', async () => {
    const made = await draft();
    const [a, b] = await Promise.all([publish(made), publish(made)]);
    expect([a.status, b.status].sort()).toEqual([202, 422]);
    const locked = await draft();
    await versions.setPublication(locked.id, 'running');
    expect(await refusal(ask('patch', locked, '', { notes: 'x' }))).toEqual([422, 'publishing']);
  });

  it('fails when it cannot complete, and can be repeated', async () => {
    const unready = { ...customers, fields: [field('number', 'no_longer_there')], filters: [], sorts: [] };
    const made = await draft({ endpoints: [unready] });
    await versions.setPublication(made.id, 'running');
    await versions.resume();
    const failed = await read(made.id);
    expect(failed).toMatchObject({ status: 'draft', publication: { status: 'failed' } });
    expect(failed.publication.problems.length).toBeGreaterThan(0);
    const { body } = await ask('patch', made, '', { endpoints: [customers] });
    expect(body).toMatchObject({ revision: 2, publication: null });
    expect((await publish({ ...made, revision: 2 })).status).toBe(202);
    expect((await read(made.id)).status).toBe('published');
  });
});

it('POST /api-schema/{id}/new-version and GET /diff create a draft from any version and mark breaking changes', async () => {
  const base = await published();
  const { status, body: next } = await ask('post', base, '/new-version');
  expect([status, next]).toMatchObject([
    201,
    { status: 'draft', revision: 1, name: 'For partners', publication: null, publishedAt: null },
  ]);
  expect(next.id).not.toBe(base.id);
  expect(number(next)).toBeGreaterThan(number(base));
  const diff = (against: string) => ask('get', next, `/diff?against=${against}`);
  expect((await diff(base.version)).body).toEqual({ against: base.version, changes: [] });
  const fields = [field('number', 'entityid'), field('isPerson', 'isperson')];
  await ask('patch', next, '', { endpoints: [{ ...customers, fields, filters: [], sorts: [] }] });
  expect((await diff(base.version)).body.changes).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ breaking: true, code: 'removed' }),
      expect.objectContaining({ breaking: false, code: 'added' }),
    ]),
  );
  expect((await diff('v999999')).status).toBe(404);
  const validate = (made: Made, against: string) =>
    ask('post', made, '/validate', { endpoints: [{ ...customers, filters: [] }], against });
  for (const made of [base, next]) {
    const { body } = await validate(made, base.version);
    expect(body).toMatchObject({ against: base.version, ready: true });
    expect(body.changes.every(({ path }: { path: string }) => path.startsWith('customers.filters.'))).toBe(
      true,
    );
    expect(body.changes).toContainEqual(expect.objectContaining({ breaking: true, code: 'removed' }));
  }
  expect((await validate(next, 'v999999')).status).toBe(404);
  expect((await read(base.id)).endpoints).toHaveLength(1);
  expect((await ask('post', next, '/new-version')).status).toBe(201);
});

it('POST /api-schema/{id}/deprecate and /retire deprecate, retire and restore a version', async () => {
  const made = await published();
  const { id, secret } = await makeKey(org.ctx, org.id);
  const { id: refused } = await makeKey(org.ctx, org.id);
  const today = new Date().toISOString().slice(0, 10);
  // These requests are never counted: the counts are inserted below.
  const usage = startUsageCounter(org.ctx, { flushEveryMs: 3_600_000 });
  const call = () =>
    createCaller(createApp(org.ctx, { usage }), { secret, organizationId: org.id })(
      `/${made.version}/customers?pageSize=1`,
    );
  const move = (verb: string, body: object = {}, of: Made = made) => ask('post', of, `/${verb}`, body);
  expect(listCodes(await move('retire', { undo: true }))).toEqual(['illegal_transition']);
  expect(listCodes(await move('deprecate', { sunsetAt: '2020-01-01T00:00:00Z' }))).toEqual(['in_the_past']);
  const deprecated = await move('deprecate', { sunsetAt: '2999-01-01T00:00:00+01:00' });
  expect(deprecated.body).toMatchObject({ status: 'deprecated', sunsetAt: '2998-12-31T23:00:00Z' });
  expect(await call()).toMatchObject({ status: 200, headers: { sunset: 'Mon, 31 Dec 2998 23:00:00 GMT' } });
  // Deprecated long ago: another sunset does not change that date.
  await org.admin('api_schemas').where({ id: made.id }).update({ deprecated_at: '2026-01-31T00:00:00Z' });
  const { body } = await move('deprecate', {});
  expect(body).toMatchObject({ sunsetAt: null, deprecatedAt: '2026-01-31T00:00:00Z' });
  expect((await call()).headers['deprecation']).toBe(`@${Date.UTC(2026, 0, 31) / 1_000}`);
  const readCallers = async () => (await ask('get', made, '/callers')).body;
  expect((await readCallers()).data).toEqual([]);
  await org.admin.raw(
    `insert into api_key_usage (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused)
       values (:o, :k, :d, :v, 'customers', 2, 1, 5), (:o, :k, :d::date - 3, :v, '', 4, 0, 0), (:o, :k, :d::date - 40, :v, 'customers', 9, 0, 0),
              (:o, :refused, :d, :v, 'customers', 0, 0, 9), (:o, :k, :d, 'v999', 'customers', 7, 0, 0)`,
    { o: org.id, k: id, v: made.version, d: today, refused },
  );
  const callers = [{ apiKeyId: id, name: expect.any(String), status: 'active', requests: 7, lastDay: today }];
  const retired = (await move('retire')).body;
  expect([retired.status, retired.callers]).toEqual(['retired', callers]);
  expect(await readCallers()).toMatchObject({ data: callers, pagination: { total: 1 } });
  expect((await call()).status).toBe(410);
  for (const verb of ['retire', 'deprecate'])
    expect([verb, ...(await refusal(move(verb)))]).toEqual([verb, 422, 'illegal_transition']);
  expect((await move('retire', { undo: true })).body.status).toBe('deprecated');
  expect((await call()).status).toBe(200);
  expect(await refusal(move('retire', {}, await draft()))).toEqual([422, 'illegal_transition']);
});
