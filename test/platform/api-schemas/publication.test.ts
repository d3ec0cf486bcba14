// The publication report, and what happens to a publication when its process ends.
import type { Express } from 'express';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { openDb } from '../../../src/db/connect.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { createCaller, loadInvoices } from '../../public/fixture.ts';
import { createApi, pluck, refusal } from '../../setup/api.ts';
import { testSettings } from '../../setup/database.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createVersionCalls, type Made } from './fixture.ts';

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

const versions = createVersionCalls(org);
const { read, idle } = versions;
const draft = (endpoint: object = {}) => versions.draft({ endpoints: [{ ...invoices, ...endpoint }] });
/** A draft with another field, which it is sorted by. */
const draftSortedBy = (source: string) =>
  draft({ fields: [...invoices.fields, { name: source, source }], sorts: [source] });
const publish = async (made: Made, api = org.api): Promise<void> => {
  expect((await versions.publish(made, api)).status).toBe(202);
};
const startPublishing = async (made: Made): Promise<void> => {
  expect((await versions.startPublishing(made)).status).toBe(202);
};
const published = () => versions.published({ endpoints: [invoices] });
/** Calls an application in which every read of a publication counts as slow. */
const strictly = (smallTableRecords: number) => {
  const proof = { ...testSettings.proof, warnMs: 0, smallTableRecords };
  return createApi(createApp({ ...org.ctx, settings: { ...testSettings, proof } }), secret);
};
const readReport = async (id: string) => (await org.api('get', `/api-schema/${id}/publication`)).body;
const running = { status: 'draft', publication: { status: 'running' } };
const succeeded = { status: 'published', publication: { status: 'succeeded' } };

it('the description of a new version keeps the address of the service at its publication', async () => {
  const readServers = async (application: Express, end: string): Promise<string[]> => {
    const call = createCaller(application, { secret, organizationId: org.id });
    return pluck((await call(`/openapi/${end}`).expect(200)).body.servers, 'url');
  };
  const configured = (publicUrl: string) =>
    createApp({ ...org.ctx, settings: { ...org.ctx.settings, publicUrl } });
  const [first, second] = [configured('https://portal.example'), configured('https://moved.example')];
  const servers = ['https://portal.example/api/public', '/api/public'];
  const made = await draft();
  expect(await readServers(first, `${made.version}?draft=true`)).toEqual(servers);
  await publish(made, createApi(first, secret));
  for (const application of [first, second, org.app])
    expect(await readServers(application, made.version)).toEqual(servers);
});

describe('GET /api-schema/{id}/publication', () => {
  it('reports the time of each read and the changes for callers, and warns of slow reads', async () => {
    const base = await published();
    const next = await draft({ filters: [{ field: 'number', operators: ['eq', 'null'] }], sorts: [] });
    expect((await org.api('get', `/api-schema/${next.id}/publication`)).status).toBe(404);
    await publish(next, strictly(0));
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
    const body = await readReport(next.id);
    const madeAt = expect.stringMatching(/Z$/);
    expect(body).toMatchObject({ ...publication, against: base.version, madeAt });
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
    const before = await readReport(made.id);
    expect(before.records).toEqual([{ resource: 'invoices', rows: 200 }]);
    const unread = org.api('post', `/api-schema/${(await draft()).id}/prove`);
    expect(await refusal(unread)).toEqual([422, 'illegal_transition']);
    // Enough records that every combination is measured.
    const again = await strictly(199)('post', `/api-schema/${made.id}/prove`);
    expect([again.status, again.body]).toEqual([202, before]);
    await idle();
    const after = await readReport(made.id);
    expect(Date.parse(after.madeAt)).toBeGreaterThanOrEqual(Date.parse(before.madeAt));
    const { records, changes, against } = before;
    expect(after).toMatchObject({ status: 'succeeded', records, changes, against });
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
    const rowSecurity = (change: 'enable' | 'disable', force: string) =>
      org.admin.raw(`alter table ${table} ${change} row level security, ${force} row level security`);
    onTestFinished(async () => {
      await rowSecurity('disable', 'no force');
      await org.admin.raw(`drop policy slow on ${table}`);
      await hasty.close();
    });
    await rowSecurity('enable', 'force');
    await org.admin.raw(
      `create policy slow on ${table}
         using (case when id = 151 then pg_sleep(${1.2 * timeoutMs} / 1000.0)::text = '' else true end)`,
    );
    const made = await draft({ filters: [{ field: 'number', operators: ['starts_with'] }], sorts: [] });
    await publish(made, createApi(createApp(slow), secret));
    const message = expect.stringMatching(
      /^invoices\?.*takes longer than the read timeout of 1500 ms.*remove the (filter|sort) .*READ_TIMEOUT_MS/,
    );
    const refused = await read(made.id);
    expect(refused.status).toBe('draft');
    expect(refused.publication).toMatchObject({ status: 'failed', proof: { tried: expect.any(Number) } });
    expect(refused.publication.problems[0]).toMatchObject({ code: 'too_slow', blocks: 'publish', message });
    await rowSecurity('disable', 'no force');
    await publish(made);
    const succeeded = { status: 'succeeded', problems: [] };
    expect(await read(made.id)).toMatchObject({ status: 'published', publication: succeeded });
  });

  it('a process that died while it built an index leaves nothing half-built', async () => {
    await published();
    const own = 'where indrelid = ?::regclass and not indisprimary';
    const names = 'select indexrelid::regclass::text as name, indisvalid as valid from pg_index';
    const indexes = async () => (await org.admin.raw(`${names} ${own} order by 1`, [table])).rows;
    const before = await indexes();
    expect(before.length).toBeGreaterThan(0);
    await org.admin.raw(`update pg_index set indisvalid = false ${own}`, [table]);
    await published();
    expect(await indexes()).toEqual(before.map(({ name }: { name: string }) => ({ name, valid: true })));
  });

  it('stays running when the service stops during an index build, and resumes at the next start', async () => {
    const made = await draft({ sorts: ['modifiedAt'] });
    // A concurrent index build waits for open write transactions.
    const writing = await org.admin.transaction();
    try {
      await writing.raw(`lock table ${table} in row exclusive mode`);
      await startPublishing(made);
      const building = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like 'create index concurrently%'`;
      await until(async () => (await org.admin.raw(building)).rows.length > 0);
      await org.ctx.work.stop('publications');
    } finally {
      await writing.rollback();
    }
    expect(await read(made.id)).toMatchObject(running);
    await Promise.all([versions.resume(), versions.resume()]);
    expect(await read(made.id)).toMatchObject(succeeded);
  });

  it('is cancelled when its draft is deleted: nothing goes live, and its indexes are dropped', async () => {
    const made = await draftSortedBy('paid');
    const [schema] = table.split('.');
    const count = async (where: string) =>
      (await org.admin.raw(`select from ${where} like '%f_paid%'`)).rowCount;
    const wanted = () => count(`${schema}.record_indexes where expression`);
    const built = () => count(`pg_indexes where schemaname = '${schema}' and indexdef`);
    const writing = await org.admin.transaction();
    try {
      await writing.raw(`lock table ${table} in row exclusive mode`);
      await startPublishing(made);
      await until(async () => (await built()) > 0);
      expect(await wanted()).toBeGreaterThan(0);
      expect((await org.api('delete', `/api-schema/${made.id}`)).status).toBe(204);
    } finally {
      await writing.rollback();
    }
    await idle();
    expect([await wanted(), await built()]).toEqual([0, 0]);
    expect((await org.api('get', `/api-schema/${made.id}`)).status).toBe(404);
    const call = createCaller(createApp(org.ctx), { secret, organizationId: org.id });
    await call(`/${made.version}/invoices`).expect(404);
    const changes = await org
      .admin('audit_log')
      .where({ target_id: made.id, action: 'api-schema.delete' })
      .pluck('changes');
    expect(changes).toEqual([{ version: made.version, publication: 'cancelled' }]);
  });

  it('is cancelled: nothing goes live, its indexes are dropped, and the draft can be published again', async () => {
    const made = await draftSortedBy('paid');
    const [schema] = table.split('.');
    const built = async () =>
      (
        await org.admin.raw(
          `select from pg_indexes where schemaname = '${schema}' and indexdef like '%f_paid%'`,
        )
      ).rowCount;
    const cancel = () => org.api('post', `/api-schema/${made.id}/cancel-publication`);
    expect(await refusal(cancel())).toEqual([422, 'not_publishing']);
    const writing = await org.admin.transaction();
    try {
      await writing.raw(`lock table ${table} in row exclusive mode`);
      await startPublishing(made);
      await until(async () => (await built()) > 0);
      const { progress } = (await read(made.id)).publication;
      // The indexes are the first of all steps.
      expect(progress).toMatchObject({ step: 'building indexes of invoice', done: 0 });
      expect(progress.total).toBeGreaterThan(6);
      const answer = await cancel();
      expect([answer.status, answer.body.publication.status]).toEqual([200, 'cancelled']);
      const renamed = { revision: made.revision, name: 'Mended' };
      expect((await org.api('patch', `/api-schema/${made.id}`, renamed)).status).toBe(200);
    } finally {
      await writing.rollback();
    }
    await idle();
    const after = await read(made.id);
    expect([after.status, after.publication, after.name]).toEqual(['draft', null, 'Mended']);
    expect(await built()).toBe(0);
    await publish(after);
    expect(await read(made.id)).toMatchObject(succeeded);
    expect(await refusal(cancel())).toEqual([422, 'not_publishing']);
  });

  it('that has committed is not cancelled', async () => {
    const { id, version } = await published();
    const answer = await org.api('delete', `/api-schema/${id}`);
    expect([answer.status, answer.body.error.details]).toEqual([
      422,
      [{ path: '', code: 'immutable', message: `${version} has been published: retire it instead` }],
    ]);
  });

  const progress = { step: 'failed', done: 0, total: 1 };
  const failed = { status: 'failed', progress, problems: [], proof: null };
  it.each([
    ['moved on', 'seq', { revision: 2, notes: 'not looked at', publication: null }],
    ['failed to be published', 'total', { publication: failed }],
  ])('never publishes a draft that %s meanwhile', async (_, source, change) => {
    const made = await draftSortedBy(source);
    // Index maintenance and publications of the table wait for this session.
    const holder = await org.admin.transaction();
    try {
      await holder.raw('select pg_advisory_xact_lock(hashtextextended(?, 1))', [table.replaceAll('"', '')]);
      await startPublishing(made);
      const [schema] = table.split('.');
      const isUnderWay = `select from ${schema}.record_indexes where expression like '%f_${source}%'`;
      await until(async () => (await org.admin.raw(isUnderWay)).rowCount === 1);
      await org.admin('api_schemas').where({ id: made.id }).update(change);
    } finally {
      await holder.rollback();
    }
    await idle();
    expect(await read(made.id)).toMatchObject({ status: 'draft', ...change });
  });

  it('of a dead process is resumed when its lease has expired, and not before', async () => {
    const { id } = await draft({ sorts: ['modifiedAt'] });
    for (const [lease, state] of [
      [60_000, running],
      [-1_000, succeeded],
    ] as const) {
      await versions.setPublication(id, 'running', lease);
      await versions.resume();
      expect([lease, await read(id)]).toMatchObject([lease, state]);
    }
  });
});
