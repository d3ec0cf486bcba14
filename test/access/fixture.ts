// A company with random records that are synced, and random versions that are published, in front of the
// whole service.

import type { TenantCtx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { claimRun, insertRun } from '../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../src/sync/run/worker.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { storeAccount } from '../setup/erp-account.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { addConfig, noSignal } from '../sync/fixture.ts';
import type { ExactRecord, Layer, VersionModel } from './model.ts';
import type { Random } from './random.ts';
import { changeRecords, createErp, createPools, type Pools, putRandom, type RecordKind } from './records.ts';
import { randomVersion, toDocument } from './schemas.ts';
import type { Service } from './service.ts';

export type Key = { readonly id: string; readonly secret: string };

export type Fixture = {
  readonly service: Service;
  readonly tenant: TenantCtx;
  readonly organizationId: string;
  readonly random: Random;
  readonly pools: Pools;
  readonly kinds: readonly RecordKind[];
  readonly versions: readonly VersionModel[];
  /** How far the zone of the ERP account is ahead of UTC, when the versions are published. */
  readonly utcOffsetMinutes: number;
  /** A key that may do anything an owner may. */
  readonly ownerSecret: string;
  /** What an unlimited reader read of each resource at first; filled by the oracle. */
  readonly firstRecords: Map<string, readonly ExactRecord[]>;
  /** Ids of the records of a type, also of those that are not synced yet. */
  ids(): Record<string, string[]>;
  /** Ids of the records that are or were stored. */
  everStored(recordType: string): ReadonlySet<string>;
  /** Changes records, at random unless `edit` does, and syncs them. */
  change(edit?: (kind: RecordKind) => void): Promise<void>;
  /** Ids of stored records that no reader under a row scope may see. */
  withheld(recordType: string): ReadonlySet<string>;
  /**
   * Makes this field of every record type one that the ERP no longer delivers, or none, directly in the
   * database.
   */
  setStale(source: string | null): Promise<void>;
  /** Creates an API key with these scopes, directly in the database. */
  key(layer: Layer, unmasked: boolean): Promise<Key>;
  /** Limits an API key further, directly in the database. */
  narrow(key: Key, layer: Layer, unmasked: boolean): Promise<void>;
  /** The token that a key mints for itself. Throws an Error when it is refused. */
  token(key: Key, layer: Layer, unmasked: boolean, subject?: string): Promise<string>;
};

type FixtureOptions = { readonly bulk?: number; readonly records?: number };

/** One run, to its end. Throws an Error when it doesn't succeed. */
async function sync(
  tenant: TenantCtx,
  configs: ReadonlyMap<string, string>,
  kind: RecordKind,
  mode: 'full' | 'incremental',
): Promise<void> {
  const run = await inTransaction(tenant, (tx) =>
    insertRun(tx, tenant.organizationId, {
      sync_config_id: configs.get(kind.name) ?? '',
      record_type: kind.name,
      mode,
      trigger: 'manual',
    }),
  );
  for (;;) {
    const [row] = await inTransaction(tenant, (tx) =>
      tx('sync_runs').where({ id: run?.id }).select<{ status: string; error: unknown }[]>('status', 'error'),
    );
    if (row?.status === 'succeeded' || row?.status === 'partial') return;
    if (row === undefined || row.status === 'failed' || row.status === 'cancelled')
      throw new Error(`the run of ${kind.name}: ${JSON.stringify(row)}`);
    const lease = await claimRun(tenant, 'test', tenant.settings.sync.leaseMs);
    if (lease !== undefined) await workOnRun(tenant, lease, noSignal, async () => kind.erp.connector);
  }
}

async function publish({ call, ctx }: Service, secret: string, model: VersionModel): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const drafted = await call({
    method: 'POST',
    path: '/api/platform/v1/api-schema',
    headers,
    body: toDocument(model),
  });
  if (drafted.status !== 201) throw new Error(`a draft: ${drafted.text}`);
  const { id, revision, version } = JSON.parse(drafted.text) as {
    id: string;
    revision: number;
    version: string;
  };
  if (version !== model.version) throw new Error(`another version: ${version}`);
  const started = await call({
    method: 'POST',
    path: `/api/platform/v1/api-schema/${id}/publish`,
    headers,
    body: { revision },
  });
  if (started.status !== 202) throw new Error(`publishing: ${started.text}`);
  await ctx.work.waitUntilIdle('publications');
  const { text } = await call({ path: `/api/platform/v1/api-schema/${id}`, headers });
  if ((JSON.parse(text) as { status: string }).status !== 'published')
    throw new Error(`not published: ${text}`);
}

/** As reading the metadata of the ERP does. */
async function describeAccount(
  tenant: TenantCtx,
  kinds: readonly RecordKind[],
  utcOffsetMinutes: number,
): Promise<void> {
  const types = await Promise.all(kinds.map(({ erp }) => erp.connector.metadata(noSignal)));
  const unknown = { hasSubsidiaries: null, hasCurrencies: null, baseCurrency: null, accountingBooks: null };
  await storeAccount(tenant, {
    described: types.flat(),
    listed: [],
    account: { ...unknown, utcOffsetMinutes },
  });
}

/** `bulk`: characters by which each record is longer, so that pages have to be read in pieces. */
export async function createFixture(
  service: Service,
  random: Random,
  { bulk = 0, records = 120 }: FixtureOptions = {},
): Promise<Fixture> {
  const { ctx } = service;
  const { id: organizationId } = await makeOrganization(ctx);
  const tenant: TenantCtx = { ...ctx, organizationId };
  const pools = createPools(random);
  const hasParties = random.chance(0.5);
  const thing = createErp('thing', 'integer', hasParties && random.chance(0.5) ? 'party' : 'thing');
  const kinds = hasParties ? [thing, createErp('party', 'text', 'thing')] : [thing];
  const first = new Map(
    kinds.map(({ name }) => [name, Array.from({ length: records + random.int(40) }, () => random.id())]),
  );
  const linkedBy = ({ target }: RecordKind): string[] => [
    ...(kinds.find(({ name }) => name === target)?.erp.records.keys() ?? []),
  ];
  const configs = new Map<string, string>();
  for (const kind of kinds) {
    configs.set(
      kind.name,
      await addConfig(ctx, organizationId, { recordType: kind.name, maxDeleteShare: 1 }),
    );
    for (const id of first.get(kind.name) ?? [])
      putRandom(random, pools, kind, id, bulk, first.get(kind.target) ?? []);
    await sync(tenant, configs, kind, 'full');
  }
  const utcOffsetMinutes = random.pick([0, 330, -480]);
  await describeAccount(tenant, kinds, utcOffsetMinutes);
  const v1 = randomVersion(random, 'v1', kinds, null);
  const versions = [v1, randomVersion(random, 'v2', kinds, v1)];
  const { secret: ownerSecret } = await makeKey(ctx, organizationId, {
    permissions: ['write'],
    unmasked: true,
  });
  for (const model of versions) await publish(service, ownerSecret, model);
  return {
    firstRecords: new Map(),
    service,
    tenant,
    organizationId,
    random,
    pools,
    kinds,
    versions,
    utcOffsetMinutes,
    ownerSecret,
    ids: () => Object.fromEntries(kinds.map(({ name, erp }) => [name, [...erp.records.keys()]])),
    everStored: (recordType) =>
      new Set(
        kinds.flatMap(({ name, erp }) =>
          name === recordType ? [...erp.records.keys(), ...(erp.deleted?.keys() ?? [])] : [],
        ),
      ),
    withheld: (recordType) => kinds.find(({ name }) => name === recordType)?.withheld ?? new Set(),
    setStale: (source) =>
      inTransaction(tenant, async (tx) => {
        const since = '2026-01-01T00:00:00Z';
        const stale = source === null ? {} : { [source]: { since, syncedAt: since } };
        await tx.raw(`update ${tenantSchema(organizationId)}.record_state set stale_fields = ?::jsonb`, [
          JSON.stringify(stale),
        ]);
      }),
    change: async (edit = (kind) => changeRecords(random, pools, kind, bulk, linkedBy(kind))) => {
      for (const kind of kinds) {
        edit(kind);
        await sync(tenant, configs, kind, random.chance(0.3) ? 'full' : 'incremental');
      }
    },
    key: async (layer, unmasked) => {
      const made = await makeKey(ctx, organizationId);
      await narrow(tenant, made, layer, unmasked);
      return made;
    },
    narrow: (key, layer, unmasked) => narrow(tenant, key, layer, unmasked),
    token: (key, layer, unmasked, subject) => mint(service, key, layer, unmasked, subject),
  };
}

const narrow = (
  tenant: TenantCtx,
  { id }: Key,
  { versions, resources, rows, fields }: Layer,
  unmasked: boolean,
): Promise<void> =>
  inTransaction(tenant, async (tx) => {
    await tx('api_keys')
      .where({ id })
      .update({
        scope_versions: versions,
        scope_resources: resources,
        scope_rows: rows === null ? null : JSON.stringify(rows),
        scope_fields: fields === null ? null : JSON.stringify(fields),
        scope_unmasked: unmasked,
      });
  });

/** As the management interface takes the scopes. */
const toScopes = ({ versions, resources, rows, fields }: Layer, unmasked: boolean): object => ({
  versions,
  resources,
  fields,
  unmasked,
  rows: rows && {
    ...Object.fromEntries(
      Object.entries(rows.resources).map(([name, { conditions }]) => [
        name,
        conditions.map((one) => ({ field: one.field, in: one.in })),
      ]),
    ),
    ...(rows.others && { '*': [] }),
  },
});

async function mint(
  { call }: Service,
  { id, secret }: Key,
  layer: Layer,
  unmasked: boolean,
  subject?: string,
): Promise<string> {
  const { status, text } = await call({
    method: 'POST',
    path: `/api/platform/v1/api-keys/${id}/tokens`,
    headers: { authorization: `Bearer ${secret}` },
    body: { tokens: [{ scopes: toScopes(layer, unmasked), ...(subject !== undefined && { subject }) }] },
  });
  const [minted] = status === 201 ? (JSON.parse(text) as { tokens: { token: string }[] }).tokens : [];
  if (minted === undefined) throw new Error(`minting: ${text} ${JSON.stringify(toScopes(layer, unmasked))}`);
  return minted.token;
}
