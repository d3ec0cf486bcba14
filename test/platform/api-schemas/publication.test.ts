// The publication report, and what happens to a publication when its process ends.
import type { Express } from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { openDb } from '../../../src/db/connect.ts';
import { resumePublications } from '../../../src/platform/api-schemas/publication.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { createCaller, loadInvoices } from '../../public/fixture.ts';
import { createApi, listCodes, pluck } from '../../setup/api.ts';
import { testSettings } from '../../setup/database.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const invoices = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [
    { name: 'number', source: 'tranid' },
    { name: 'modifiedAt', source: 'lastmodified' },
  ],
  filters: [{ field: 'number', operators: ['eq', 'starts_with'] }],
  sorts: ['number'],
};

const org = useOrganization();
let secret: string;
let table: string;

beforeAll(async () => {
  const rows = Array.from({ length: 200 }, (_, index) => ({ id: index + 1, tranid: `INV${index}` }));
  table = `${tenantSchema(org.id)}."${await loadInvoices(org.ctx, org.id, rows)}"`;
  ({ secret } = org.owner);
});

type Made = { id: string; version: string; revision: number };
const draft = async (endpoint: object = invoices): Promise<Made> =>
  (await org.api('post', '/api-schema', { endpoints: [endpoint] })).body;
const read = async (id: string) => (await org.api('get', `/api-schema/${id}`)).body;
const publish = async ({ id, revision }: Made, api = org.api): Promise<void> => {
  expect((await api('post', `/api-schema/${id}/publish`, { revision })).status).toBe(202);
};
const published = async (): Promise<Made> => {
  const made = await draft();
  await publish(made);
  await org.ctx.work.waitUntilIdle('publications');
  expect(await read(made.id)).toMatchObject({ status: 'published', publication: { status: 'succeeded' } });
  return made;
};

describe('the description of a new version', () => {
  const readServers = async (application: Express, version: string, tenant: string): Promise<string[]> => {
    const call = createCaller(application, { secret, organizationId: tenant });
    const { body } = await call(`/openapi/${version}`).expect(200);
    return pluck(body.servers, 'url');
  };

  it('keeps the address of the service at its publication', async () => {
    const configured = (publicUrl: string) =>
      createApp({ ...org.ctx, settings: { ...org.ctx.settings, publicUrl } });
    const [first, second] = [configured('https://portal.example'), configured('https://moved.example')];
    const made = await draft();
    const { body } = await createCaller(first, { secret, organizationId: org.id })(
      `/openapi/${made.version}?draft=true`,
    ).expect(200);
    expect(pluck(body.servers, 'url')).toEqual(['https://portal.example/api/public', '/api/public']);
    await publish(made, createApi(first, secret));
    await org.ctx.work.waitUntilIdle('publications');
    for (const application of [first, second, org.app])
      expect(await readServers(application, made.version, org.id)).toEqual([
        'https://portal.example/api/public',
        '/api/public',
      ]);
  });
});

describe('GET /api-schema/{id}/publication', () => {
  it('reports the time of each read and the changes for callers, and warns of slow reads', async () => {
    const base = await published();
    const next = await draft({
      ...invoices,
      filters: [{ field: 'number', operators: ['eq', 'null'] }],
      sorts: [],
    });
    expect((await org.api('get', `/api-schema/${next.id}/publication`)).status).toBe(404);
    const strict = {
      ...org.ctx,
      settings: { ...testSettings, proof: { ...testSettings.proof, warnMs: 0, smallTableRecords: 0 } },
    };
    await publish(next, createApi(createApp(strict), secret));
    await org.ctx.work.waitUntilIdle('publications');
    const { publication } = await read(next.id);
    // No filter, the id and two operators, in two directions.
    expect(publication).toMatchObject({
      status: 'succeeded',
      problems: [],
      proof: { pairs: 8, tried: 8, slowestMs: expect.any(Number) },
    });
    // Every read counts as slow: with a common, rare or absent value where there is a filter.
    const warned = (path: string, times: number) => Array.from({ length: times }, () => path);
    expect(pluck(publication.proof.warnings, 'path').sort()).toEqual([
      ...warned('endpoints[0]', 2 + 6),
      ...warned('endpoints[0].filters[0].operators[0]', 6),
      ...warned('endpoints[0].filters[0].operators[1]', 4),
    ]);
    const { body } = await org.api('get', `/api-schema/${next.id}/publication`);
    expect(body).toMatchObject({
      ...publication,
      against: base.version,
      madeAt: expect.stringMatching(/Z$/),
    });
    expect(pluck(body.changes, 'path', 'breaking')).toEqual([
      ['invoices.filters.number_starts_with', true],
      ['invoices.filters.number_null', false],
      ['invoices.sorts.number', true],
    ]);
    const slowest = body.pairs.map(({ trials }: { trials: { ms: number }[] }) =>
      Math.max(...trials.map(({ ms }) => ms)),
    );
    expect(slowest).toEqual([...slowest].sort((a, b) => b - a));
    const own = body.pairs.find(
      ({ filter, sort }: { filter: string; sort: string | null }) => filter === 'number' && sort === null,
    );
    expect(pluck(own.trials, 'value', 'rows')).toEqual([
      ['common', 1],
      ['rare', 1],
      ['absent', 0],
    ]);
  });

  it('can be measured again when there are more records, and reports how many', async () => {
    const made = await published();
    const report = async () => (await org.api('get', `/api-schema/${made.id}/publication`)).body;
    const before = await report();
    expect(before.records).toEqual([{ resource: 'invoices', rows: 200 }]);
    const unread = await draft();
    expect(listCodes(await org.api('post', `/api-schema/${unread.id}/prove`))).toEqual([
      'illegal_transition',
    ]);
    // Enough records that every combination is measured; and every read counts as slow.
    const grown = {
      ...org.ctx,
      settings: { ...testSettings, proof: { ...testSettings.proof, warnMs: 0, smallTableRecords: 199 } },
    };
    const again = await createApi(createApp(grown), secret)('post', `/api-schema/${made.id}/prove`);
    expect([again.status, again.body]).toEqual([202, before]);
    await org.ctx.work.waitUntilIdle('publications');
    const after = await report();
    expect(Date.parse(after.madeAt)).toBeGreaterThanOrEqual(Date.parse(before.madeAt));
    expect(after).toMatchObject({
      status: 'succeeded',
      records: before.records,
      changes: before.changes,
      against: before.against,
    });
    expect([before.proof.tried < before.proof.pairs, after.proof.tried]).toEqual([true, after.proof.pairs]);
    expect(after.pairs).toHaveLength(after.proof.pairs);
    expect(after.proof.warnings).toHaveLength(20);
    const rows = await org.admin('audit_log').where({ action: 'api-schema.prove', target_id: made.id });
    expect(rows).toHaveLength(1);
  });

  it('fails for a version with a read over the timeout, and reports what to change', async () => {
    // Enough time for every other statement, even on a busy machine.
    const timeoutMs = 1_500;
    const hasty = openDb(org.database.address, org.database.address, { control: 4, data: 2 }, timeoutMs);
    const slow = { ...org.ctx, db: hasty, settings: { ...testSettings, readTimeoutMs: timeoutMs } };
    // One record takes longer than the read timeout: it is on no first page of a sort, but counting reads it.
    await org.admin.raw(`alter table ${table} enable row level security, force row level security`);
    await org.admin.raw(
      `create policy slow on ${table}
         using (case when id = 151 then pg_sleep(${1.2 * timeoutMs} / 1000.0)::text = '' else true end)`,
    );
    try {
      const made = await draft({
        ...invoices,
        filters: [{ field: 'number', operators: ['starts_with'] }],
        sorts: [],
      });
      await publish(made, createApi(createApp(slow), secret));
      await slow.work.waitUntilIdle('publications');
      const refused = await read(made.id);
      expect(refused).toMatchObject({
        status: 'draft',
        publication: { status: 'failed', proof: { tried: expect.any(Number) } },
      });
      const [problem] = refused.publication.problems;
      expect([problem.code, problem.blocks]).toEqual(['too_slow', 'publish']);
      expect(problem.message).toMatch(
        /^invoices\?.*takes longer than the read timeout of 1500 ms.*remove the (filter|sort) .*READ_TIMEOUT_MS/,
      );
      await org.admin.raw(`alter table ${table} disable row level security, no force row level security`);
      await publish(made);
      await org.ctx.work.waitUntilIdle('publications');
      expect(await read(made.id)).toMatchObject({
        status: 'published',
        publication: { status: 'succeeded', problems: [] },
      });
    } finally {
      await org.admin.raw(`alter table ${table} disable row level security, no force row level security`);
      await org.admin.raw(`drop policy slow on ${table}`);
      await hasty.close();
    }
  });

  it('a process that died while it built an index leaves nothing half-built', async () => {
    await published();
    const indexes = async () =>
      (
        await org.admin.raw(
          'select indexrelid::regclass::text as name, indisvalid as valid from pg_index where indrelid = ?::regclass and not indisprimary order by 1',
          [table],
        )
      ).rows;
    const before = await indexes();
    expect(before.length).toBeGreaterThan(0);
    await org.admin.raw(
      'update pg_index set indisvalid = false where indrelid = ?::regclass and not indisprimary',
      [table],
    );
    await published();
    expect(await indexes()).toEqual(before.map(({ name }: { name: string }) => ({ name, valid: true })));
  });

  it('stays running when the service stops during an index build, and resumes at the next start', async () => {
    const made = await draft({ ...invoices, sorts: ['modifiedAt'] });
    // A concurrent index build waits for open write transactions.
    const writing = await org.admin.transaction();
    try {
      await writing.raw(`lock table ${table} in row exclusive mode`);
      await publish(made);
      const building = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like 'create index concurrently%'`;
      await until(async () => ((await org.admin.raw(building)).rows.length > 0 ? true : undefined));
      await org.ctx.work.stop('publications');
    } finally {
      await writing.rollback();
    }
    expect(await read(made.id)).toMatchObject({ status: 'draft', publication: { status: 'running' } });
    await Promise.all([resumePublications(org.ctx), resumePublications(org.ctx)]);
    await org.ctx.work.waitUntilIdle('publications');
    expect(await read(made.id)).toMatchObject({ status: 'published', publication: { status: 'succeeded' } });
  });

  it('is cancelled when its draft is deleted: nothing goes live, and its indexes are dropped', async () => {
    const made = await draft({
      ...invoices,
      fields: [...invoices.fields, { name: 'paid', source: 'paid' }],
      sorts: ['paid'],
    });
    const [schema] = table.split('.');
    const wanted = async () =>
      (await org.admin.raw(`select from ${schema}.record_indexes where expression like '%f_paid%'`)).rowCount;
    const built = async () =>
      (
        await org.admin.raw(`select from pg_indexes where schemaname = ? and indexdef like '%f_paid%'`, [
          schema ?? '',
        ])
      ).rowCount;
    const writing = await org.admin.transaction();
    try {
      await writing.raw(`lock table ${table} in row exclusive mode`);
      await publish(made);
      await until(async () => ((await built()) > 0 ? true : undefined));
      expect(await wanted()).toBeGreaterThan(0);
      expect((await org.api('delete', `/api-schema/${made.id}`)).status).toBe(204);
    } finally {
      await writing.rollback();
    }
    await org.ctx.work.waitUntilIdle('publications');
    expect([await wanted(), await built()]).toEqual([0, 0]);
    expect((await org.api('get', `/api-schema/${made.id}`)).status).toBe(404);
    await createCaller(createApp(org.ctx), { secret, organizationId: org.id })(
      `/${made.version}/invoices`,
    ).expect(404);
    const changes = await org
      .admin('audit_log')
      .where({ target_id: made.id, action: 'api-schema.delete' })
      .pluck('changes');
    expect(changes).toEqual([{ version: made.version, publication: 'cancelled' }]);
  });

  it('that has committed is not cancelled', async () => {
    const { id, version } = await published();
    const answer = await org.api('delete', `/api-schema/${id}`);
    expect([answer.status, answer.body.error.details]).toEqual([
      422,
      [{ path: '', code: 'immutable', message: `${version} has been published: retire it instead` }],
    ]);
  });

  const failed = {
    status: 'failed',
    progress: { step: 'failed', done: 0, total: 1 },
    problems: [],
    proof: null,
  };
  it.each([
    ['moved on', 'seq', { revision: 2, notes: 'not looked at', publication: null }],
    ['failed to be published', 'total', { publication: failed }],
  ])('never publishes a draft that %s meanwhile', async (_, source, change) => {
    const made = await draft({
      ...invoices,
      fields: [...invoices.fields, { name: source, source }],
      sorts: [source],
    });
    // Index maintenance and publications of the table wait for this session.
    const holder = await org.admin.transaction();
    try {
      await holder.raw('select pg_advisory_xact_lock(hashtextextended(?, 1))', [table.replaceAll('"', '')]);
      await publish(made);
      const [schema] = table.split('.');
      const isUnderWay = `select from ${schema}.record_indexes where expression like '%f_${source}%'`;
      await until(async () => ((await org.admin.raw(isUnderWay)).rowCount === 1 ? true : undefined));
      await org.admin('api_schemas').where({ id: made.id }).update(change);
    } finally {
      await holder.rollback();
    }
    await org.ctx.work.waitUntilIdle('publications');
    expect(await read(made.id)).toMatchObject({ status: 'draft', ...change });
  });

  it('of a dead process is resumed when its lease has expired, and not before', async () => {
    const lost = await draft({ ...invoices, sorts: ['modifiedAt'] });
    const state = { status: 'running', progress: { step: 'x', done: 0, total: 1 }, problems: [] };
    const leave = (until: string) =>
      org
        .admin('api_schemas')
        .where({ id: lost.id })
        .update({
          publication: JSON.stringify(state),
          publication_lease_until: org.admin.raw(`now() + interval '${until}'`),
        });
    await leave('1 minute');
    await resumePublications(org.ctx);
    await org.ctx.work.waitUntilIdle('publications');
    expect(await read(lost.id)).toMatchObject({ status: 'draft', publication: { status: 'running' } });
    await leave('-1 second');
    await resumePublications(org.ctx);
    await org.ctx.work.waitUntilIdle('publications');
    expect(await read(lost.id)).toMatchObject({ status: 'published', publication: { status: 'succeeded' } });
  });
});
