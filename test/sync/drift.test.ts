// Changes of the ERP's fields: detected once and reported once with what they affect, wherever a process dies
// in between.
import { describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { diffFieldTypes, reportDrift } from '../../src/sync/fields/drift.ts';
import type { Api } from '../setup/api.ts';
import { erpError, field, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({}, { refusable: ['insert on drift_events'] });

const lines = (other: string) => field('lines', 'lines', [field('item'), field(other)]);
const before = [field('name'), field('total', 'number'), lines('memo')];
const after = [field('name'), field('total', 'text'), field('note'), lines('rate')];
const changes = [
  ['vanished', 'lines.memo', 'text', null],
  ['added', 'lines.rate', null, 'text'],
  ['added', 'note', null, 'text'],
  ['retyped', 'total', 'number', 'text'],
];

async function synced(): Promise<{ fixture: SyncFixture; api: Api }> {
  const fixture = await syncFixture(site.ctx, memoryErp(before));
  fixture.erp.put(1, {}, { lines: [] });
  await fixture.expectSuccess('full');
  return { fixture, api: await site.api(fixture) };
}
/** Synced; then the fields became other ones, and the stored description is old. */
async function changed() {
  const { fixture, api } = await synced();
  fixture.erp.fields = [...after];
  await metadataAges(fixture);
  return { fixture, api };
}
/** A run whose process dies after it detected the changes. */
async function interrupted() {
  const { fixture, api } = await changed();
  await site.refuse('drift_events');
  const runId = await fixture.queue();
  await fixture.work(await fixture.claim());
  return { fixture, api, runId };
}
/** Makes the stored description old. */
const metadataAges = (fixture: SyncFixture) =>
  inTransaction(fixture.tenant, (tx) =>
    tx('erp_record_types').update({ described_at: '2020-01-01T00:00:00Z' }),
  );
type Shown = {
  kind: string;
  field: string;
  fromType: string | null;
  toType: string | null;
  runId: string;
  affects: unknown[];
};
const shown = async (fixture: SyncFixture, api: Api): Promise<Shown[]> => {
  const { status, body } = await api('get', `/sync-configs/${fixture.configId}/drift`);
  expect(status).toBe(200);
  return body.data;
};
const inWords = (events: readonly Shown[]) =>
  events
    .map(({ kind, field: name, fromType, toType }) => [kind, name, fromType, toType])
    .sort((a, b) => String(a[1]).localeCompare(String(b[1])));
const outbox = (fixture: SyncFixture) => fixture.query(`select * from ${fixture.schema}.drift_outbox`);
const countDriftEvents = async (fixture: SyncFixture, runId: string) =>
  (await fixture.events(runId)).filter(
    (message) => message === 'the fields of the record type changed in the ERP',
  ).length;

it.each([
  [{}, {}, []],
  [{ a: 'text' }, { a: 'text' }, []],
  [{ a: 'text' }, { b: 'text' }, ['vanished a', 'added b']],
  [{ a: 'text' }, { a: 'list' }, ['retyped a']],
  [{ lines: 'lines', 'lines.x': 'text' }, {}, ['vanished lines']],
  [{}, { lines: 'lines', 'lines.x': 'text' }, ['added lines']],
  [{ lines: 'lines' }, { lines: 'lines', 'lines.x': 'text' }, ['added lines.x']],
  [{ lines: 'lines', 'lines.x': 'text' }, { lines: 'text' }, ['retyped lines', 'vanished lines.x']],
  [{ __proto__: null, constructor: 'text' }, {}, ['vanished constructor']],
])('diffFieldTypes: %j → %j: %j', (from, to, expected) => {
  const changes = diffFieldTypes(from as Record<string, string>, to as Record<string, string>);
  expect(changes.map(({ kind, field: name }) => `${kind} ${name}`)).toEqual(expected);
});

describe('drift', () => {
  it('is not reported for a first sync, or while the fields stay the same', async () => {
    const { fixture, api } = await synced();
    expect(await shown(fixture, api)).toEqual([]);
    await metadataAges(fixture);
    await fixture.sync();
    expect(await shown(fixture, api)).toEqual([]);
  });

  it('lists added, vanished and retyped fields, with the run that detected them', async () => {
    const { fixture, api } = await changed();
    const run = await fixture.sync();
    const events = await shown(fixture, api);
    expect(inWords(events)).toEqual(changes);
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set([run.id]));
    expect(await countDriftEvents(fixture, run.id)).toBe(1);
    expect(await outbox(fixture)).toEqual([]);
    await fixture.sync();
    expect(await shown(fixture, api)).toHaveLength(changes.length);
  });

  it('does not depend on the fields that the configuration selects', async () => {
    const { fixture, api } = await synced();
    for (const fields of [['name'], ['name', 'total'], null]) {
      await fixture.changeConfig({ fields });
      await fixture.expectSuccess('full');
    }
    expect(await shown(fixture, api)).toEqual([]);
  });

  it('names drafts, published and deprecated versions that use the field, and no others', async () => {
    const { fixture, api } = await changed();
    const user = await inTransaction(fixture.tenant, (tx) =>
      tx('memberships').first<{ user_id: string }>('user_id'),
    );
    const schema = (version: string, status: string, endpoints: object[]) =>
      inTransaction(fixture.tenant, (tx) =>
        tx('api_schemas').insert({
          id: createId(),
          organization_id: fixture.organizationId,
          version,
          status,
          created_by: user.user_id,
          endpoints: JSON.stringify(endpoints),
          ...(status !== 'draft' && { bindings: '{}', openapi: '{}', published_at: new Date() }),
        }),
      );
    const endpoint = (name: string, recordType: string, ...fields: object[]) => ({
      name,
      recordType,
      fields,
    });
    await schema('v1', 'published', [
      endpoint('things', 'thing', { name: 'amount', source: 'total' }),
      endpoint('others', 'other', { name: 'amount', source: 'total' }),
    ]);
    await schema('v2', 'deprecated', [
      endpoint('things', 'thing', {
        name: 'rows',
        source: 'lines',
        fields: [
          { name: 'remark', source: 'memo' },
          { name: 'label', source: 'memo.name' },
        ],
      }),
    ]);
    await schema('v3', 'retired', [endpoint('things', 'thing', { name: 'amount', source: 'total' })]);
    await schema('v4', 'draft', [
      endpoint('items', 'thing', { name: 'sum', source: 'total' }, { name: 'sumName', source: 'total.name' }),
    ]);
    await fixture.sync();
    const events = await shown(fixture, api);
    const affects = (name: string) => events.find(({ field: one }) => one === name)?.affects;
    const use = (version: string, at: string, name: string) => ({
      kind: 'api-schema',
      version,
      endpoint: at,
      field: name,
    });
    expect(affects('total')).toEqual([
      use('v4', 'items', 'sum'),
      use('v4', 'items', 'sumName'),
      use('v1', 'things', 'amount'),
    ]);
    expect(affects('lines.memo')).toEqual([
      use('v2', 'things', 'rows.remark'),
      use('v2', 'things', 'rows.label'),
    ]);
    expect([affects('note'), affects('lines.rate')]).toEqual([[], []]);

    // Whom a problem concerns: what is served and stale, with its callers.
    const gap = { since: '2026-03-02T10:00:00Z', reason: 'unreadable', message: 'Hidden' };
    await fixture.query(`update ${fixture.schema}.record_state set stale_fields = $1`, [
      JSON.stringify({ total: gap, lines: gap }),
    ]);
    await inTransaction(fixture.tenant, async (tx) => {
      const { id } = await tx('api_keys').first<{ id: string }>('id');
      const used = { organization_id: fixture.organizationId, api_key_id: id, version: 'v1', succeeded: 1 };
      const day = (ago: number) => tx.raw(`(now() at time zone 'UTC')::date - ${ago}`);
      await tx('api_key_usage').insert([
        { ...used, day: day(0), resource: 'things' },
        { ...used, day: day(1), resource: 'things' },
        { ...used, day: day(7), resource: 'others' },
        { ...used, day: day(0), version: 'v2', resource: 'things', succeeded: 0, refused: 3 },
      ]);
    });
    const { body } = await api('get', `/sync-configs/${fixture.configId}/affected-versions`);
    expect(body.versions).toEqual([
      { id: expect.any(String), version: 'v2', resource: 'things', staleFields: ['rows'], callers7Days: 0 },
      { id: expect.any(String), version: 'v1', resource: 'things', staleFields: ['amount'], callers7Days: 1 },
    ]);
  });
});

describe('a change is reported exactly once', () => {
  it('when the process dies after detecting it', async () => {
    const { fixture, api, runId } = await interrupted();
    expect([await shown(fixture, api), (await outbox(fixture)).length]).toEqual([[], changes.length]);
    await site.allow();
    expect((await fixture.drive(runId)).status).toBe('succeeded');
    expect(inWords(await shown(fixture, api))).toEqual(changes);
    expect([await countDriftEvents(fixture, runId), await outbox(fixture)]).toEqual([1, []]);
  });

  it('when it dies between reporting it and deleting it from the outbox', async () => {
    const { fixture, api, runId } = await interrupted();
    const kept = await outbox(fixture);
    await site.allow();
    await fixture.drive(runId);
    await site.ctx.db.data.query(
      `insert into ${fixture.schema}.drift_outbox select * from jsonb_populate_recordset(null::${fixture.schema}.drift_outbox, $1)`,
      [JSON.stringify(kept)],
    );
    await Promise.all([reportDrift(fixture.tenant, null), reportDrift(fixture.tenant, 'thing')]);
    expect(inWords(await shown(fixture, api))).toEqual(changes);
    expect([await countDriftEvents(fixture, runId), await outbox(fixture)]).toEqual([1, []]);
  });

  it('when the run that detected it fails right afterwards', async () => {
    const { fixture, api } = await changed();
    fixture.erp.failOnce('now', erpError('forbidden', 'NO'));
    expect((await fixture.sync()).status).toBe('failed');
    expect(inWords(await shown(fixture, api))).toEqual(changes);
    await fixture.sync();
    expect(await shown(fixture, api)).toHaveLength(changes.length);
  });
});

it('a warehouse that an older version of this service created is upgraded by the next run', async () => {
  const { fixture, api } = await synced();
  fixture.erp.rejects.set('2', { id: '2', code: 'X', message: 'no' });
  await fixture.sync();
  await site.admin.raw(`drop table ${fixture.schema}.drift_outbox, ${fixture.schema}.staged_unchanged`);
  await site.admin.raw(`alter table ${fixture.schema}.record_state drop column erp_fields`);
  await site.admin.raw(
    `alter table ${fixture.schema}.rejections drop column attempts, drop column last_seen_at, drop column last_run_id`,
  );
  expect((await api('get', `/sync-configs/${fixture.configId}/rejections`)).body.data).toMatchObject([
    { id: '2', attempts: 1, runId: null },
  ]);
  const run = await fixture.sync();
  expect(run.status).toBe('partial');
  expect((await api('get', `/sync-configs/${fixture.configId}/rejections`)).body.data).toMatchObject([
    { id: '2', attempts: 2, runId: run.id },
  ]);
  expect(await shown(fixture, api)).toEqual([]);
});
