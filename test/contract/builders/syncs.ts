// The ERP's metadata is inserted rather than read, with far more record types than an ERP has: each
// configuration uses one.

import fc from 'fast-check';
import type { FieldMetadata, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { createId } from '../../../src/core/id.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { storeAccount } from '../../setup/erp-account.ts';
import { instants, laterInstants } from '../arbitrary.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';

const spans = { 'query.after': instants, 'query.before': laterInstants };
const recordTypes = 600;
const toRecordType = (number: number): string => `type_${(number % recordTypes) + 1}`;

const field = (name: string, type: FieldMetadata['type'] = 'text'): FieldMetadata => ({
  ...{ name, label: name, type, custom: false, syncable: true, volatile: false, reason: null },
});
const metadata = Array.from(
  { length: recordTypes },
  (_, index): RecordTypeMetadata => ({
    name: toRecordType(index),
    label: `Type ${index}`,
    table: 'thing',
    source: 'catalogue',
    idType: 'integer',
    fields: [field('alpha'), field('beta'), field('subsidiary', 'reference')],
    openWhen: null,
    modifiedField: null,
    linesModifiedField: null,
    shownAs: { number: null, name: null, date: null, amount: null },
  }),
);

/** A configuration of a record type that no other configuration of the walk uses. */
async function insertConfig(
  fixture: Fixture,
  recordType = `other_${fixture.next()}`,
): Promise<{ id: string; recordType: string }> {
  const row = { name: 'Sync', record_type: recordType, mode: 'full', deletions: 'none' };
  return { id: await insertRow(fixture, 'sync_configs', row), recordType };
}

const ownConfig = byId(async (fixture) => (await insertConfig(fixture)).id);
const ownRun = (status: 'queued' | 'failed' | 'succeeded') =>
  byId(async (fixture) => {
    const { id, recordType } = await insertConfig(fixture);
    const about = { sync_config_id: id, record_type: recordType };
    return insertRow(fixture, 'sync_runs', { ...about, mode: 'full', trigger: 'manual', status });
  });

/** Deletions as a run holds them back for approval. */
async function heldDeletions(fixture: Fixture) {
  const config = await insertConfig(fixture);
  const proposalId = createId();
  await fixture.ctx.db.data.query(
    `insert into ${tenantSchema(fixture.organization.id)}.deletion_proposals (id, record_type, ids, evidence) values ($1, $2, '{1}', '{}')`,
    [proposalId, config.recordType],
  );
  return { params: { id: config.id }, body: { proposalId } };
}

async function ownProposal(fixture: Fixture) {
  const { params, body } = await heldDeletions(fixture);
  return { params: { ...params, ...body } };
}

/** A field that a run could not read. */
async function staleField(fixture: Fixture) {
  const config = await insertConfig(fixture);
  const stale = {
    alpha: { since: '2026-03-02T10:00:00Z', syncedAt: null, reason: 'unreadable', message: 'hidden' },
  };
  await fixture.ctx.db.data.query(
    `insert into ${tenantSchema(fixture.organization.id)}.record_state (record_type, id_type, stale_fields) values ($1, 'integer', $2)`,
    [config.recordType, JSON.stringify(stale)],
  );
  return { params: { id: config.id }, body: { fields: ['alpha'] } };
}

async function rejectedRecord(fixture: Fixture) {
  const config = await insertConfig(fixture);
  await fixture.ctx.db.data.query(
    `insert into ${tenantSchema(fixture.organization.id)}.rejections (record_type, id, code, message, run_id) values ($1, '7', 'X', 'x', $2)`,
    [config.recordType, createId()],
  );
  return { params: { id: config.id }, body: { recordIds: ['7'] } };
}

async function drifted(fixture: Fixture) {
  const config = await insertConfig(fixture);
  const about = {
    id: createId(),
    organization_id: fixture.organization.id,
    record_type: config.recordType,
    run_id: createId(),
  };
  await fixture.sql((tx) =>
    tx('drift_events').insert({ ...about, kind: 'added', field: 'alpha', to_type: 'text', at: new Date() }),
  );
  return { params: { id: config.id } };
}

const meaningful = {
  'body.schedule': fc.constantFrom(null, '*/15 * * * *', '0 3 * * 1-5', '30 4 1 * *'),
  'body.timezone': fc.constantFrom('UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata'),
  'body.filter': fc.constantFrom(null, { subsidiaries: ['1', '-5'] }),
  'body.fields': fc.oneof(fc.constant('*'), fc.subarray(['alpha', 'beta'], { minLength: 1 })),
};

export const syncBuilders: BuilderGroup = {
  setUp: async ({ ctx, organization }) => {
    await createTenantSchema(ctx, organization.id);
    await storeAccount(
      { db: ctx.db, organizationId: organization.id },
      { described: metadata, listed: [], account: null },
    );
  },
  builders: {
    listSyncConfigs: { build: () => ({}) },
    createSyncConfig: {
      build: ({ next }) => ({ body: { name: 'Sync', recordType: toRecordType(next()) } }),
      fields: { ...meaningful, 'body.recordType': asBuilt },
    },
    createSyncConfigs: {
      build: ({ next }) => ({ body: { recordTypes: [toRecordType(next())] } }),
      fields: { ...meaningful, 'body.recordTypes': asBuilt, 'body.dryRun': fc.constant(false) },
    },
    getSyncConfig: { build: ownConfig },
    updateSyncConfig: {
      build: async (fixture) => ({
        params: { id: (await insertConfig(fixture, toRecordType(fixture.next()))).id },
        body: { name: 'Other' },
      }),
      fields: meaningful,
    },
    deleteSyncConfig: { build: ownConfig },
    triggerSyncs: { build: () => ({ body: {} }) },
    triggerSync: { build: async (fixture) => ({ ...(await ownConfig(fixture)), body: { mode: 'full' } }) },
    rereadRecords: {
      build: async (fixture) => ({
        params: { id: (await insertConfig(fixture, toRecordType(fixture.next()))).id },
        body: { ids: ['7'] },
      }),
      fields: { 'body.ids': fc.constant(['7', '-8']) },
    },
    approveDeletions: {
      build: heldDeletions,
      fields: { 'body.proposalId': asBuilt, 'body.ids': fc.constant(['1']), 'body.revision': fc.constant(1) },
    },
    listDeletionProposals: {
      build: async (fixture) => ({ params: { id: (await ownProposal(fixture)).params.id } }),
    },
    getDeletionProposal: { build: ownProposal, fields: { 'query.after': fc.nat().map(String) } },
    rejectDeletions: {
      build: async (fixture) => ({ ...(await ownProposal(fixture)), body: {} }),
      fields: { 'body.revision': fc.constant(1) },
    },
    acceptMissingFields: { build: staleField, fields: { 'body.fields': asBuilt } },
    listDriftOfSyncConfig: { build: drifted },
    getVersionsAffectedBySyncConfig: { build: drifted },
    listRejectionsOfSyncConfig: {
      build: async (fixture) => ({ params: (await rejectedRecord(fixture)).params }),
    },
    retryRejections: { build: rejectedRecord, fields: { 'body.recordIds': asBuilt } },
    getSyncHistory: { build: ownConfig },
    listRunsOfSyncConfig: { build: ownConfig, fields: spans },
    listSyncRuns: {
      build: async (fixture) => ({ query: { syncConfigId: (await insertConfig(fixture)).id } }),
      fields: { 'query.syncConfigId': asBuilt, ...spans },
    },
    getSyncRun: { build: ownRun('succeeded') },
    listSyncRunEvents: { build: ownRun('succeeded') },
    listSyncRunRejections: { build: ownRun('succeeded') },
    getSyncRunProof: { build: ownRun('succeeded') },
    cancelSyncRun: { build: ownRun('queued') },
    retrySyncRun: { build: ownRun('failed') },
  },
};
