// The organization whose days are replayed: a sync of each record type that a data folder has, and a version
// that serves all of their fields.
import type { NetsuiteAccount } from 'netsuite-simulator';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite, ensureMetadata } from '../demo/set-up.ts';
import type { Service } from '../src/service.ts';
import { buildEndpoint, type PublicAccess, type Resource } from './compare-served.ts';
import { createBenchOrganization } from './organization.ts';
import { repeatRequest } from './repeat-request.ts';

const Identified = z.object({ id: z.string() });
const Counts = z.object({ inserted: z.number(), updated: z.number(), deleted: z.number() });
const Run = z.object({
  status: z.string(),
  mode: z.enum(['incremental', 'full']),
  generation: z.string().nullable(),
  error: z.unknown(),
  counts: Counts.nullable(),
});
export type FinishedRun = { readonly generation: string; readonly counts: z.output<typeof Counts> };

const MetadataField = z.object({ name: z.string(), type: z.string(), syncable: z.boolean() });
const RecordType = z.object({
  fields: z.array(MetadataField.extend({ fields: z.array(MetadataField).optional() })),
});

export type ReplayCompany = {
  readonly account: NetsuiteAccount;
  readonly resources: readonly Resource[];
  /**
   * Triggers a run of each sync at once and waits for their ends. Rejects with an Error unless all succeed in
   * this mode.
   */
  syncAll(mode: 'incremental' | 'full'): Promise<ReadonlyMap<string, FinishedRun>>;
  /** Publishes the version with all fields. */
  publish(): Promise<PublicAccess>;
};

/**
 * A resource with the fields that can be synced, so without those that the account computes when it is asked.
 */
async function describeResource(call: ManagementCall, recordType: string): Promise<Resource> {
  const { fields } = await call('GET', `/netsuite/metadata/${recordType}`, RecordType);
  // Every response has the id.
  const served = fields.filter(({ name, syncable }) => syncable && name !== 'id');
  return {
    name: recordType.toLowerCase(),
    recordType,
    fields: served.map(({ name, type, fields: lineFields }) => ({
      name,
      type,
      ...(lineFields !== undefined && { lineFields: lineFields.filter((field) => field.syncable) }),
    })),
  };
}

async function waitForRun(
  call: ManagementCall,
  id: string,
  what: string,
  mode: string,
): Promise<FinishedRun> {
  for (;;) {
    const run = await repeatRequest(() => call('GET', `/sync-runs/${id}`, Run));
    if (run.status === 'succeeded' && run.mode !== mode)
      throw new Error(`${what} was ${run.mode}, not ${mode}`);
    if (run.status === 'succeeded' && run.counts !== null && run.generation !== null)
      return { generation: run.generation, counts: run.counts };
    if (['failed', 'partial', 'cancelled'].includes(run.status))
      throw new Error(`${what} ended ${run.status}: ${JSON.stringify(run.error)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function publishAll(call: ManagementCall, resources: readonly Resource[]): Promise<string> {
  const Schema = Identified.extend({ revision: z.number(), version: z.string() });
  const draft = await call('POST', '/api-schema', Schema, {
    name: 'All fields',
    endpoints: resources.map(buildEndpoint),
  });
  await call('POST', `/api-schema/${draft.id}/publish`, z.unknown(), { revision: draft.revision });
  const Publishing = z.object({
    status: z.string(),
    publication: z.object({ status: z.string() }).loose().nullable(),
  });
  for (;;) {
    const { status, publication } = await call('GET', `/api-schema/${draft.id}`, Publishing);
    if (status === 'published') return draft.version;
    if (publication?.status === 'failed')
      throw new Error(`Publishing failed: ${JSON.stringify(publication)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function createReplayCompany(
  service: Service,
  account: NetsuiteAccount,
  recordTypes: readonly string[],
): Promise<ReplayCompany> {
  const { id: organizationId, key } = await createBenchOrganization(service.ctx);
  const call = createManagementClient(service.url, key);
  await connectNetsuite(call, account);
  await ensureMetadata(call);
  const configs: { id: string; recordType: string }[] = [];
  for (const recordType of recordTypes) {
    const { id } = await call('POST', '/sync-configs', Identified, { recordType, name: recordType });
    configs.push({ id, recordType });
  }
  const resources: Resource[] = [];
  for (const recordType of recordTypes) resources.push(await describeResource(call, recordType));
  return {
    account,
    resources,
    async syncAll(mode) {
      const runs = configs.map(async ({ id, recordType }): Promise<[string, FinishedRun]> => {
        // Repeated, it returns the run that it queued.
        const started = await repeatRequest(() =>
          call('POST', `/sync-configs/${id}/trigger`, Identified, mode === 'full' ? { mode } : {}),
        );
        return [recordType, await waitForRun(call, started.id, `The run of ${recordType}`, mode)];
      });
      return new Map(await Promise.all(runs));
    },
    async publish() {
      const version = await publishAll(call, resources);
      return {
        url: service.url,
        version,
        headers: { authorization: `Bearer ${key}`, 'x-tenant-id': organizationId },
      };
    },
  };
}
