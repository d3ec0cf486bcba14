// A company that syncs a simulated account of the profile that ERP_PROFILE names: configured through the
// management interface, read through the public one. Both are called over HTTP.
import { Pool } from 'pg';
import { expect, inject } from 'vitest';
import { createApp, startBackground } from '../../src/app.ts';
import type { TenantCtx } from '../../src/core/ctx.ts';
import type { Account, Shape } from '../chaos/oracle/account.ts';
import { publish } from '../chaos/oracle/publish.ts';
import { toResource } from '../chaos/oracle/published.ts';
import { openService, readSnapshot, type Service, type Snapshot } from '../chaos/oracle/served.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Api, createApi, pluck } from '../setup/api.ts';
import { testDatabase, testSettings } from '../setup/database.ts';
import { dataFolder, type Erp, startErp } from '../setup/erp.ts';
import { serve } from '../setup/event-stream.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';

export type Counts = Readonly<
  Record<'fetched' | 'inserted' | 'updated' | 'unchanged' | 'deleted' | 'rejected', number>
>;
export type Run = {
  readonly id: string;
  readonly status: string;
  readonly generation: string;
  readonly counts: Counts;
  readonly requests: number;
  readonly error: { readonly code: string } | null;
};
export type Company = {
  readonly api: Api;
  readonly tenant: TenantCtx;
  /** Of the organization's portal. */
  readonly portal: string;
  readonly erp: Erp;
  /** The account's own database, which no role restricts. */
  readonly account: Account;
  /** A request to the account's control interface. */
  control(method: string, path: string, body?: unknown): ReturnType<typeof sendControl>;
  /** Runs these configurations at once; rejects unless each run has one of the statuses. By record type. */
  sync(
    configs: ReadonlyMap<string, string>,
    mode: 'incremental' | 'full',
    statuses?: readonly string[],
  ): Promise<ReadonlyMap<string, Run>>;
  /** Publishes a version of all fields of these record types. */
  publish(shapes: readonly Shape<string>[]): Promise<void>;
  /** The whole list of a record type, once it is served in this generation. */
  read(recordType: string, generation: string): Promise<Snapshot>;
  /**
   * The records of a resource as newline-delimited JSON, one by one, once they are served in this generation.
   */
  exportAll<T>(recordType: string, generation: string): Promise<T[]>;
  close(): Promise<void>;
};

const runWithinMs = 600_000;
const finalStatuses = ['succeeded', 'partial', 'failed', 'cancelled'];

async function waitForRun(api: Api, recordType: string, configId: string, mode: string): Promise<Run> {
  const started = await api('post', `/sync-configs/${configId}/trigger`, { mode });
  if (started.status !== 202)
    throw new Error(`${recordType}: ${started.status} ${JSON.stringify(started.body)}`);
  return until(async () => {
    const { body } = await api('get', `/sync-runs/${started.body.id}`);
    return finalStatuses.includes(body.status) ? (body as Run) : undefined;
  }, runWithinMs);
}

function createSync(api: Api): Company['sync'] {
  return async (configs, mode, statuses = ['succeeded']) => {
    const runs = await Promise.all(
      [...configs].map(
        async ([recordType, id]): Promise<[string, Run]> => [
          recordType,
          await waitForRun(api, recordType, id, mode),
        ],
      ),
    );
    const others = runs.filter(([, { status }]) => !statuses.includes(status));
    expect(others.map(([recordType, { status, error }]) => ({ recordType, status, error }))).toEqual([]);
    return new Map(runs);
  };
}

function createReaders(
  service: Service,
  base: () => string,
  headers: Readonly<Record<string, string>>,
): Pick<Company, 'read' | 'exportAll'> {
  const isServed = async (recordType: string, generation: string): Promise<true | undefined> => {
    const answer = await service.get(`/${toResource(recordType)}?pageSize=1`);
    return answer.status === 200 && BigInt(answer.generation) >= BigInt(generation) ? true : undefined;
  };
  return {
    async read(recordType, generation) {
      const snapshot = await readSnapshot(service, recordType, generation);
      if (snapshot === null) throw new Error(`${recordType}: generation ${generation} is not served`);
      return snapshot;
    },
    async exportAll<T>(recordType: string, generation: string) {
      await until(() => isServed(recordType, generation));
      const answer = await fetch(`${base()}/${toResource(recordType)}`, {
        headers: { ...headers, accept: 'application/x-ndjson' },
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${recordType}: ${answer.status} ${text.slice(0, 300)}`);
      const records = text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as T)));
      expect(records).toHaveLength(Number(answer.headers.get('x-total-count')));
      return records;
    },
  };
}

/** The names of all pages of the metadata that this filter leaves, such as `&syncable=true`. */
export async function listRecordTypes({ api }: Pick<Company, 'api'>, filter = ''): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page += 1) {
    const { status, body } = await api('get', `/netsuite/metadata?pageSize=100&page=${page}${filter}`);
    expect(status).toBe(200);
    found.push(...pluck(body.data, 'name'));
    if (page >= body.pagination.totalPages) return found;
  }
}
type Closing = (() => Promise<unknown>)[];
type Served = {
  readonly url: string;
  readonly slug: string;
  readonly tenant: TenantCtx;
  readonly secret: string;
};

/** The service with a new organization. */
async function serveOrganization(erpHost: string, closing: Closing): Promise<Served> {
  const database = await testDatabase({
    settings: {
      rateLimitPerMinute: 1_000_000,
      readTimeoutMs: 60_000,
      cacheTtlMs: 50,
      erp: { ...testSettings.erp, allowedHosts: [erpHost], requestTimeoutMs: 60_000 },
      sync: { ...testSettings.sync, leaseMs: 60_000 },
    },
  });
  closing.push(database.close);
  const app = createApp(database.ctx);
  const background = await startBackground(database.ctx);
  closing.push(background.stop);
  const { url, stop } = await serve(app);
  closing.push(stop);
  const { id: organizationId, slug } = await makeOrganization(database.ctx);
  const { secret } = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
  return { url, slug, tenant: { ...database.ctx, organizationId }, secret };
}

async function open(replayFrom: string | undefined, closing: Closing): Promise<Omit<Company, 'close'>> {
  const replay = replayFrom === undefined ? {} : { replayFrom };
  const erp = await startErp(dataFolder, {
    ...replay,
    control: {},
    switches: { paymentTouchesInvoice: false },
  });
  closing.push(erp.stop);
  const { url, slug, tenant, secret } = await serveOrganization(erp.host, closing);
  const api = createApi(url, secret);
  await erp.connect(api);
  const refreshed = await api('post', '/netsuite/metadata/refresh');
  if (refreshed.status !== 200) throw new Error(`${refreshed.status} ${JSON.stringify(refreshed.body)}`);
  const pool = new Pool({ ...inject('pg'), database: erp.database, max: 2 });
  closing.push(() => pool.end());
  let version = '';
  const base = (): string => `${url}/api/public/${version}`;
  const headers = { authorization: `Bearer ${secret}`, 'x-tenant-id': tenant.organizationId };
  return {
    ...{ api, tenant, portal: `${url}/portal/${slug}` },
    erp,
    account: { pool, now: erp.account.businessTime, timeZone: () => 'Europe/London' },
    control: (method, path, body) => sendControl(erp.account, method, path, body),
    sync: createSync(api),
    async publish(shapes) {
      const published = await publish(api, shapes);
      expect(published.problem).toBeNull();
      version = published.version;
    },
    ...createReaders(openService(base, headers), base, headers),
  };
}

/** `replayFrom`: the days from this one on are held back. Rejects when a part of it can't be started. */
export async function openCompany(options: { readonly replayFrom?: string } = {}): Promise<Company> {
  const closing: Closing = [];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return { ...(await open(options.replayFrom, closing)), close };
  } catch (error) {
    await close();
    throw error;
  }
}
