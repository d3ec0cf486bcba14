// Fields that change their type, vanish and return in the ERP while a published version stays available.
import supertest from 'supertest';
import { expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import { createApi } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { datedFields, field, type SyncFixture, start } from './fixture.ts';
import { useSync } from './site.ts';

// Each run reads the ERP's metadata.
const site = useSync({ metadataMaxAgeMs: -1 }, { settings: { cacheTtlMs: 0 } });

const names = ['name', 'total', 'note'];

async function published() {
  const create = (id: number): [Record<string, string>] => [{ note: `note ${id}` }];
  const fixture = await site.dated(5, {}, [...datedFields, field('note')], create);
  await fixture.sync('incremental');
  const app = createApp(site.ctx);
  const { secret } = await makeKey(site.ctx, fixture.organizationId, { permissions: ['write'] });
  const api = createApi(app, secret);
  const made = await api('post', '/api-schema', {
    name: 'Things',
    endpoints: [
      {
        name: 'things',
        recordType: 'thing',
        description: 'Things',
        fields: names.map((name) => ({ name, source: name, description: name })),
        filters: [{ field: 'total', operators: ['gte'] }],
        sorts: ['name'],
        defaultSort: { field: 'name', order: 'asc' },
        maxPageSize: 100,
      },
    ],
  });
  expect(
    (await api('post', `/api-schema/${made.body.id}/publish`, { revision: made.body.revision })).status,
  ).toBe(202);
  await site.ctx.work.waitUntilIdle('publications');
  const read = async (address = '/things?sort=name'): Promise<Record<string, unknown>[]> => {
    const { status, body } = await supertest(app)
      .get(`/api/public/v1${address}`)
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': fixture.organizationId });
    expect([status, body.error]).toEqual([200, undefined]);
    return body.data;
  };
  return { fixture, read };
}

/** Advances the ERP's clock and replaces its fields. */
function become({ erp }: SyncFixture, fields: readonly FieldMetadata[]): void {
  erp.at = new Date((erp.at ?? start).getTime() + 3_600_000);
  erp.fields = [...fields];
}
const columns = (fixture: SyncFixture) =>
  fixture.query(
    `select column_name as c, state from ${fixture.schema}.record_columns where field in ('total', 'note') order by position`,
  );

it('a published version over a changed type: the old column stores the values that fit it, in full and incremental runs', async () => {
  const { fixture, read } = await published();
  expect((await read())[0]).toMatchObject({ name: 'name 1', total: 1.5, note: 'note 1' });
  become(fixture, [field('name'), field('total', 'text'), field('modified', 'time'), field('note')]);
  fixture.erp.put(2, { total: 'two pounds', note: 'note 2' });
  const run = await fixture.expectSuccess('incremental', {}, { mode: 'full' });
  expect(await fixture.events(run.id)).toContain('the fields of the record type changed in the ERP');
  expect(await columns(fixture)).toEqual([
    { c: 'f_total', state: 'replaced' },
    { c: 'f_note', state: 'live' },
    { c: 'f_total_2', state: 'live' },
  ]);
  expect((await read()).map(({ total }) => total)).toEqual([1.5, null, 3.5, 4.5, 5.5]);

  become(fixture, fixture.erp.fields);
  fixture.erp.put(3, { total: '33.25', note: 'note 3' });
  fixture.erp.put(6, { total: 'six', note: 'note 6' });
  expect(await fixture.sync('incremental')).toMatchObject({
    mode: 'incremental',
    counts: { inserted: 1, updated: 1 },
  });
  expect((await read()).map(({ total }) => total)).toEqual([1.5, null, 33.25, 4.5, 5.5, null]);
  expect((await read('/things?total_gte=5')).map(({ name }) => name)).toEqual(['name 3', 'name 5']);

  become(fixture, [field('name'), field('total', 'number'), field('modified', 'time'), field('note')]); // and back again
  fixture.erp.put(2, { total: '2', note: 'note 2' });
  fixture.erp.put(6, { total: '6', note: 'note 6' });
  await fixture.expectSuccess('incremental', {}, { mode: 'full' });
  expect((await read()).map(({ total }) => total)).toEqual([1.5, 2, 33.25, 4.5, 5.5, 6]);
  const states = (await columns(fixture)).map(({ state }) => state);
  expect(states.join(' ')).toBe('replaced live replaced live');
});
