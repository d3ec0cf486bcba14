import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp, startBackground } from '../../../src/app.ts';
import { resumePublications } from '../../../src/platform/api-schemas/publication.ts';
import { startUsageCounter } from '../../../src/public/index.ts';
import { type Answer, listCodes, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

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
  await until(async () =>
    (await org.api('get', `/sync-configs/${id}`)).body.lastRun.status === 'succeeded' ? true : undefined,
  );
  await background.stop();
});

const draft = async (body: object = { name: 'For partners', endpoints: [customers] }) => {
  const answer = await org.api('post', '/api-schema', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as { id: string; version: string; revision: number };
};
const read = async (id: string) => (await org.api('get', `/api-schema/${id}`)).body;
const publish = async ({ id, revision }: { id: string; revision: number }): Promise<Answer> => {
  const answer = await org.api('post', `/api-schema/${id}/publish`, { revision });
  await org.ctx.work.waitUntilIdle('publications');
  return answer;
};
const published = async (body?: object) => {
  const made = await draft(body);
  expect((await publish(made)).status).toBe(202);
  expect(await read(made.id)).toMatchObject({ status: 'published', publication: { status: 'succeeded' } });
  return made;
};
const listProblems = (answer: Answer) =>
  (answer.body.problems ?? answer.body.error.details).map(
    ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
  );
const number = (version: string) => Number(version.slice(1));

describe('POST /api-schema', () => {
  it('201 with a draft and the next label; labels are never reused', async () => {
    const first = await draft();
    expect(first).toMatchObject({ status: 'draft', revision: 1, publication: null, publishedAt: null });
    expect((await org.api('delete', `/api-schema/${first.id}`)).status).toBe(204);
    const second = await draft({});
    expect(number(second.version)).toBe(number(first.version) + 1);
    const many = await Promise.all(Array.from({ length: 4 }, () => draft({})));
    expect(new Set(many.map(({ version }) => version)).size).toBe(4);
  });

  it('copies another version; a refused request uses no label', async () => {
    const base = await draft();
    const copy = await draft({ basedOn: base.version, name: 'Copy' });
    expect(await read(copy.id)).toMatchObject({ name: 'Copy', endpoints: (await read(base.id)).endpoints });
    expect(listCodes(await org.api('post', '/api-schema', { basedOn: 'v999999' }))).toEqual([
      'unknown_version',
    ]);
    expect(number((await draft({})).version)).toBe(number(copy.version) + 1);
  });

  it('422 for an invalid definition, every problem with its path', async () => {
    const answer = await org.api('post', '/api-schema', {
      endpoints: [
        {
          ...customers,
          name: 'Bad Name',
          fields: [field('id', 'entityid'), field('number', 'x'), field('Number', 'y')],
          sorts: ['nowhere'],
        },
        { ...customers, name: 'bad name' },
      ],
    });
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
  const changed = await org.api('patch', `/api-schema/${made.id}`, { notes: 'New', revision: 1 });
  expect(changed.body).toMatchObject({ notes: 'New', name: 'For partners', revision: 2 });
  expect(await refusal(org.api('patch', `/api-schema/${made.id}`, { notes: 'Newer', revision: 1 }))).toEqual([
    422,
    'stale_revision',
  ]);
  const [a, b] = await Promise.all(
    ['a', 'b'].map((notes) => org.api('patch', `/api-schema/${made.id}`, { notes, revision: 2 })),
  );
  expect([a?.status, b?.status].sort()).toEqual([200, 422]);
});

it('POST /api-schema/{id}/validate lists the problems, and the indexes that publishing would build', async () => {
  const made = await draft({
    endpoints: [
      {
        ...customers,
        fields: [field('number', 'entityid'), field('gone', 'entitid')],
        filters: [{ field: 'number', operators: ['gte'] }],
      },
      { ...customers, name: 'orders', recordType: 'unsynced' },
    ],
  });
  const answer = await org.api('post', `/api-schema/${made.id}/validate`);
  expect([answer.status, answer.body.ready]).toEqual([200, false]);
  expect(listProblems(answer)).toEqual(
    expect.arrayContaining(['endpoints[0].fields[1].source unknown_source']),
  );
  expect(
    answer.body.problems.find(({ code }: { code: string }) => code === 'unknown_source').message,
  ).toContain('entityid');
  expect(answer.body.problems.some(({ path }: { path: string }) => path === 'endpoints[1].recordType')).toBe(
    true,
  );
  const good = await org.api('post', `/api-schema/${(await draft()).id}/validate`);
  expect(good.body).toMatchObject({ ready: true, problems: [] });
  expect((await org.api('post', `/api-schema/${(await draft({})).id}/validate`)).body).toMatchObject({
    ready: false,
    problems: [{ code: 'no_endpoints' }],
  });
});

describe('POST /api-schema/{id}/publish', () => {
  it('202, then the version serves callers and never changes again', async () => {
    const made = await published();
    const { secret } = await makeKey(org.ctx, org.id);
    const listed = await supertest(org.app)
      .get(`/api/public/${made.version}/customers?pageSize=2`)
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': org.id });
    expect(listed.status).toBe(200);
    expect(Object.keys(listed.body.data[0])).toEqual(['id', 'number', 'money', 'modifiedAt']);
    for (const answer of [
      await org.api('patch', `/api-schema/${made.id}`, { notes: 'x' }),
      await org.api('delete', `/api-schema/${made.id}`),
      await org.api('post', `/api-schema/${made.id}/publish`, { revision: 1 }),
    ]) {
      expect([answer.status, answer.body.error.message]).toEqual([422, 'Published schemas are immutable']);
    }
    expect(await read(made.id)).toMatchObject({ notes: '', status: 'published' });
  });

  it('422 with every problem while it is not valid, and for another revision than the reviewed one', async () => {
    const unready = await draft({
      endpoints: [
        { ...customers, fields: [field('a', 'nothing'), field('b', 'neither')], filters: [], sorts: [] },
      ],
    });
    const answer = await publish(unready);
    expect([answer.status, listProblems(answer)]).toEqual([
      422,
      ['endpoints[0].fields[0].source unknown_source', 'endpoints[0].fields[1].source unknown_source'],
    ]);
    expect((await publish(await draft({}))).status).toBe(422);
    const made = await draft();
    expect(listCodes(await publish({ id: made.id, revision: 2 }))).toEqual(['stale_revision']);
    expect((await org.api('post', `/api-schema/${made.id}/publish`)).status).toBe(422);
    expect((await read(made.id)).status).toBe('draft');
  });

  it('publishes once for two concurrent requests, and locks the draft meanwhile', async () => {
    const made = await draft();
    const [a, b] = await Promise.all([publish(made), publish(made)]);
    expect([a.status, b.status].sort()).toEqual([202, 422]);
    const locked = await draft();
    await org.sql((tx) =>
      tx('api_schemas')
        .where({ id: locked.id })
        .update({
          publication: JSON.stringify({
            status: 'running',
            progress: { step: 'x', done: 0, total: 1 },
            problems: [],
          }),
        }),
    );
    expect(await refusal(org.api('patch', `/api-schema/${locked.id}`, { notes: 'x' }))).toEqual([
      422,
      'publishing',
    ]);
  });

  it('fails when it cannot complete, and can be repeated', async () => {
    const made = await draft({
      endpoints: [{ ...customers, fields: [field('number', 'no_longer_there')], filters: [], sorts: [] }],
    });
    await org.sql((tx) =>
      tx('api_schemas')
        .where({ id: made.id })
        .update({
          publication: JSON.stringify({
            status: 'running',
            progress: { step: 'x', done: 0, total: 1 },
            problems: [],
          }),
        }),
    );
    await resumePublications(org.ctx);
    await org.ctx.work.waitUntilIdle('publications');
    const failed = await read(made.id);
    expect(failed).toMatchObject({ status: 'draft', publication: { status: 'failed' } });
    expect(failed.publication.problems.length).toBeGreaterThan(0);
    expect((await org.api('patch', `/api-schema/${made.id}`, { endpoints: [customers] })).body).toMatchObject(
      { revision: 2, publication: null },
    );
    expect((await publish({ id: made.id, revision: 2 })).status).toBe(202);
    expect((await read(made.id)).status).toBe('published');
  });
});

it('POST /api-schema/{id}/new-version and GET /diff create a draft from any version and mark breaking changes', async () => {
  const base = await published();
  const next = await org.api('post', `/api-schema/${base.id}/new-version`);
  expect(next.status).toBe(201);
  expect(next.body).toMatchObject({
    status: 'draft',
    revision: 1,
    name: 'For partners',
    publication: null,
    publishedAt: null,
  });
  expect(next.body.id).not.toBe(base.id);
  expect(number(next.body.version)).toBeGreaterThan(number(base.version));
  const same = await org.api('get', `/api-schema/${next.body.id}/diff?against=${base.version}`);
  expect(same.body).toEqual({ against: base.version, changes: [] });
  await org.api('patch', `/api-schema/${next.body.id}`, {
    endpoints: [
      {
        ...customers,
        fields: [field('number', 'entityid'), field('isPerson', 'isperson')],
        filters: [],
        sorts: [],
      },
    ],
  });
  const { changes } = (await org.api('get', `/api-schema/${next.body.id}/diff?against=${base.version}`)).body;
  expect(
    changes.some(({ breaking, code }: { breaking: boolean; code: string }) => breaking && code === 'removed'),
  ).toBe(true);
  expect(
    changes.some(({ breaking, code }: { breaking: boolean; code: string }) => !breaking && code === 'added'),
  ).toBe(true);
  expect((await org.api('get', `/api-schema/${next.body.id}/diff?against=v999999`)).status).toBe(404);
  expect((await read(base.id)).endpoints).toHaveLength(1);
  expect((await org.api('post', `/api-schema/${next.body.id}/new-version`)).status).toBe(201);
});

it('POST /api-schema/{id}/deprecate and /retire deprecate, retire and restore a version', async () => {
  const made = await published();
  const { id, secret } = await makeKey(org.ctx, org.id);
  const { id: refused } = await makeKey(org.ctx, org.id);
  const today = new Date().toISOString().slice(0, 10);
  // These requests are never counted: the counts are inserted below.
  const usage = startUsageCounter(org.ctx, { flushEveryMs: 3_600_000 });
  const call = async () => {
    const fresh = createApp(org.ctx, { usage });
    return supertest(fresh)
      .get(`/api/public/${made.version}/customers?pageSize=1`)
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': org.id });
  };
  const move = (verb: string, body: object = {}) => org.api('post', `/api-schema/${made.id}/${verb}`, body);
  expect(listCodes(await move('retire', { undo: true }))).toEqual(['illegal_transition']);
  expect(listCodes(await move('deprecate', { sunsetAt: '2020-01-01T00:00:00Z' }))).toEqual(['in_the_past']);
  const deprecated = await move('deprecate', { sunsetAt: '2999-01-01T00:00:00+01:00' });
  expect(deprecated.body).toMatchObject({ status: 'deprecated', sunsetAt: '2998-12-31T23:00:00Z' });
  expect(await call()).toMatchObject({ status: 200, headers: { sunset: 'Mon, 31 Dec 2998 23:00:00 GMT' } });
  // Deprecated long ago: another sunset does not change that date.
  await org.sql((tx) =>
    tx('api_schemas').where({ id: made.id }).update({ deprecated_at: '2026-01-31T00:00:00Z' }),
  );
  expect((await move('deprecate', {})).body).toMatchObject({
    sunsetAt: null,
    deprecatedAt: '2026-01-31T00:00:00Z',
  });
  expect((await call()).headers['deprecation']).toBe(`@${Date.UTC(2026, 0, 31) / 1_000}`);
  expect((await org.api('get', `/api-schema/${made.id}/callers`)).body.data).toEqual([]);
  await org.sql((tx) =>
    tx.raw(
      `insert into api_key_usage (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused)
         values (:o, :k, :d, :v, 'customers', 2, 1, 5), (:o, :k, :d::date - 3, :v, '', 4, 0, 0), (:o, :k, :d::date - 40, :v, 'customers', 9, 0, 0),
                (:o, :refused, :d, :v, 'customers', 0, 0, 9), (:o, :k, :d, 'v999', 'customers', 7, 0, 0)`,
      { o: org.id, k: id, v: made.version, d: today, refused },
    ),
  );
  const callers = [{ apiKeyId: id, name: expect.any(String), status: 'active', requests: 7, lastDay: today }];
  const retired = (await move('retire')).body;
  expect([retired.status, retired.callers]).toEqual(['retired', callers]);
  expect((await org.api('get', `/api-schema/${made.id}/callers`)).body).toMatchObject({
    data: callers,
    pagination: { total: 1 },
  });
  expect((await call()).status).toBe(410);
  expect(listCodes(await move('retire'))).toEqual(['illegal_transition']);
  expect(listCodes(await move('deprecate'))).toEqual(['illegal_transition']);
  expect((await move('retire', { undo: true })).body.status).toBe('deprecated');
  expect((await call()).status).toBe(200);
  expect(listCodes(await org.api('post', `/api-schema/${(await draft()).id}/retire`, {}))).toEqual([
    'illegal_transition',
  ]);
});
