// The service with read replicas, and an organization whose records all show in which state of the ERP they
// were read: a sync publishes a state as a whole, so whatever is read must show one state, and the number of
// records of that state.

import { randomBytes } from 'node:crypto';
import { readConfig } from '../../../src/config.ts';
import { createLog } from '../../../src/core/log.ts';
import { openDatabase } from '../../../src/open-database.ts';
import { enterVersions } from '../../../src/platform/api-schemas/shown-columns.ts';
import { type Service, startService } from '../../../src/service.ts';
import { publishVersion } from '../../public/fixture.ts';
import { databaseUrl } from '../../setup/database-url.ts';
import { storeAccount } from '../../setup/erp-account.ts';
import { makeKey } from '../../setup/organization.ts';
import { openScratchFolder } from '../../setup/scratch-folder.ts';
import { findStablePort } from '../../setup/stable-port.ts';
import { field, type MemoryErp, memoryErp, syncFixture } from '../../sync/fixture.ts';
import { type Servers, startPair } from './servers.ts';

const database = 'portal';
const lineFields = [field('item'), field('amount', 'number')];
const recordFields = [
  field('name'),
  field('total', 'number'),
  field('part'),
  { ...field('parent', 'reference'), target: 'thing' },
  field('lines', 'lines', lineFields),
];
const sourced = ({ name }: { readonly name: string }) => ({ name, source: name });
const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: recordFields.map(({ name }) => ({
    ...sourced({ name }),
    ...(name === 'parent' && { name: 'parentId' }),
    ...(name === 'lines' && { fields: lineFields.map(sourced) }),
  })),
  filters: [
    { field: 'part', operators: ['eq', 'not'] },
    { field: 'total', operators: ['gte', 'lte'] },
    { field: 'lines.item', operators: ['eq'] },
    { field: 'lines.amount', operators: ['gt'] },
  ],
  sorts: ['name', 'total'],
  search: ['name'],
  or: true,
  sortSets: [['part', '-name']],
  aggregates: [{ field: 'total', functions: ['sum', 'min', 'max'] }],
  groups: ['part', 'name'],
  relations: [{ name: 'parent', field: 'parentId', resource: 'things' }],
};
/** Of the values of `part`, which never change. */
export const parts = 3;

type Published = { readonly state: number; readonly atMs: number };

export type ReplicatedService = Awaited<ReturnType<typeof startReplicatedService>>;

type Options = {
  readonly replicas?: number;
  readonly records?: number;
  readonly settings?: Record<string, string>;
  readonly environment?: Environment;
  /** Whether DATABASE_URL names all servers, of which the service takes the one that takes writes. */
  readonly allHosts?: boolean;
};

const extra = 7;
const isInPart = (part: number) => (id: number) => id % parts === part;
const listIds = (records: number, state: number): number[] =>
  Array.from({ length: records + (state % extra) }, (_, index) => index + 1);

function changeErp(erp: MemoryErp, ids: readonly number[], state: number): void {
  erp.records.clear();
  for (const id of ids) {
    const part = String(id % parts);
    const lines = [
      { item: `item-${part}`, amount: String(state) },
      { item: 'every', amount: '-1' },
    ];
    // Of the first records, which every state has, or of one that some states lack.
    const parent = id % 10 === 0 ? String(ids.length) : String(1 + (id % 50));
    erp.put(id, { name: `name ${id} of part ${part}`, total: String(state), part, parent }, { lines });
  }
}

type Environment = Readonly<Record<string, string>>;

/** How the processes of the service are configured. */
function createEnvironment(servers: Servers, folder: string, metricsPort: number, allHosts: boolean) {
  const owner = { ...servers.primary.connection, database };
  const login = { ...owner, user: 'portal_login', password: randomBytes(18).toString('base64url') };
  const replicaUrls = servers.standbys.map(({ connection: { port } }) => databaseUrl({ ...login, port }));
  const hosts = [servers.primary, ...servers.standbys]
    .map(({ connection: { host, port } }) => `${host}:${port}`)
    .join(',');
  const anyOfThem = `postgres://${login.user}:${login.password}@${hosts}/${database}?target_session_attrs=read-write`;
  const environment = {
    PORT: '0',
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: 'silent',
    SYNC_WORKERS: '0',
    RATE_LIMIT_PER_MINUTE: '100000',
    // On a busy machine reads wait instead of being refused: what is refused is not judged here.
    READ_WAIT_MS: '60000',
    READ_TIMEOUT_MS: '60000',
    DATA_DIR: folder,
    DATABASE_URL: allHosts ? anyOfThem : databaseUrl(login),
    MIGRATION_DATABASE_URL: databaseUrl(owner),
    READ_URL: replicaUrls.join(','),
  };
  return { environment, replicaUrls };
}

export async function startProcess(environment: Environment): Promise<Service> {
  const config = readConfig(environment);
  const opened = await openDatabase(config);
  return startService(
    { ...config, settings: { ...config.settings, anchorEvery: 20 } },
    opened,
    createLog(config.LOG_LEVEL),
  );
}

/** The sum of the samples that have these labels; 0 without any. */
async function readMetric(
  port: number,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

export async function startReplicatedService(options: Options = {}) {
  const { replicas = 2, records = 900, settings = {} } = options;
  const { folder, remove } = await openScratchFolder('portal-replicas-');
  const servers = await startPair(folder, { standbys: replicas, settings });
  await servers.primary.query(`create database ${database}`);
  const metricsPort = await findStablePort();
  const { environment, replicaUrls } = createEnvironment(
    servers,
    folder,
    metricsPort,
    options.allHosts ?? false,
  );
  const service = await startProcess({ ...environment, ...options.environment });
  const erp = memoryErp(recordFields);
  const fixture = await syncFixture(service.ctx, erp, { maxDeleteShare: 1 });
  const published: Published[] = [];
  const lost = new Set<number>();
  const publish = async (): Promise<void> => {
    const state = published.length + lost.size + 1;
    changeErp(erp, listIds(records, state), state);
    const run = await fixture.sync();
    if (run.status !== 'succeeded')
      throw new Error(`the sync of state ${state} is ${run.status}: ${JSON.stringify(run)}`);
    published.push({ state, atMs: performance.now() });
  };
  await publish();
  // The version needs to know what references refer to.
  const described = await erp.connector.metadata(AbortSignal.timeout(60_000));
  await storeAccount(
    { ...service.ctx, organizationId: fixture.organizationId },
    { described, listed: [], account: null },
  );
  await publishVersion(service.ctx, fixture.organizationId, { endpoints: [endpoint] });
  // As publishing does. The service's maintenance may have entered before that no version shows anything.
  await enterVersions({ ...service.ctx, organizationId: fixture.organizationId });
  const permissions = ['write'];
  const { secret } = await makeKey(service.ctx, fixture.organizationId, { permissions });
  return {
    servers,
    service,
    fixture,
    secret,
    /** As the service has them in READ_URL. */
    replicaUrls,
    /** One more process, without metrics. */
    startProcess: (changes: Environment) => startProcess({ ...environment, METRICS_PORT: '', ...changes }),
    /** The states in the order in which they were published, each with when its sync had ended. */
    published: published as readonly Published[],
    /** Changes every record in the ERP, adds or removes some, and syncs. */
    publish,
    /** The last state that was published is lost: it must not be shown any more. */
    lose: () => {
      const last = published.pop();
      if (last !== undefined) lost.add(last.state);
    },
    isLost: (state: number) => lost.has(state),
    /** Number of records of a state, in all or of one part. */
    countRecords: (state: number, part?: number) =>
      (part === undefined ? listIds(records, state) : listIds(records, state).filter(isInPart(part))).length,
    /** The value of a metric with these labels. */
    metric: (name: string, labels?: Environment) => readMetric(metricsPort, name, labels),
    close: async () => {
      await service.stop();
      await servers.stop();
      await remove();
    },
  };
}
