// A company that syncs from a simulated account and serves its records, driven only through public surfaces:
// the account's control interface, the management interface and the public interface. For tests of whether a
// run that says `succeeded` is right.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Background, createApp, startBackground } from '../../src/app.ts';
import type { Settings } from '../../src/core/settings.ts';
import { openWire, type Wire } from '../chaos/wire.ts';
import { sendControl } from '../setup/account-control.ts';
import { type Answer, type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { dataFolder, type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';

/** A parsed answer, whose members the tests assert. */
type Answered = ReturnType<typeof JSON.parse>;

export type Run = {
  readonly id: string;
  readonly mode: 'incremental' | 'full';
  readonly status: 'succeeded' | 'partial' | 'failed' | 'cancelled';
  readonly generation: string;
  readonly counts: Readonly<
    Record<'fetched' | 'inserted' | 'updated' | 'unchanged' | 'deleted' | 'rejected', number>
  >;
  readonly error: Answered;
};
type Mode = Run['mode'];
type Counts = Partial<Run['counts']>;
export type ErpRecord = {
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly lines?: readonly { readonly line: string; readonly fields: Readonly<Record<string, string>> }[];
};

export type Company = {
  readonly erp: Erp;
  /** What the service's requests to the account pass. */
  readonly wire: Wire;
  readonly database: TestDatabase;
  readonly app: Express;
  readonly organizationId: string;
  readonly api: Api;
  /** The account's control interface; rejects with an Error unless the answer is a success. */
  control(
    method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<Answered>;
  /** The ERP's truth about one table, whatever is hidden from the role. */
  truth(table: string): Promise<ErpRecord[]>;
  /** Creates the sync of a record type unless it exists, and returns its id. */
  config(recordType: string, options?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The ERP's transactions of a type, by its code, such as `CustInvc`. */
  transactions(type: string): Promise<ErpRecord[]>;
  /** Reads the account's metadata again. */
  refresh(): Promise<void>;
  /** Triggers a run of the record type's sync and waits for its end. */
  run(recordType: string, mode?: Mode): Promise<Run>;
  /** A run that must succeed, with these counts among others. */
  expectSuccess(recordType: string, mode: Mode, counts?: Counts, more?: object): Promise<Run>;
  /** A run that must end as partial, for this reason. */
  expectPartial(recordType: string, mode: Mode, code: string, counts?: Counts, more?: object): Promise<Run>;
  /** A run that must fail, for this reason. */
  expectFailure(recordType: string, mode: Mode, code: string, more?: object): Promise<Run>;
  /** The checks of a run, by name. */
  proof(run: Pick<Run, 'id'>): Promise<Record<string, { passed: boolean; message: string; facts: Answered }>>;
  /**
   * Publishes endpoints (as in demo/schema.ts) as the next version, and returns its label once it is live.
   */
  publish(endpoints: readonly object[]): Promise<string>;
  /** A request to the public interface, such as `/v1/invoices?pageSize=5`. */
  read(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** All records of a resource, by pages of 1,000. */
  readAll(resource: string): Promise<Answered[]>;
  stop(): Promise<void>;
};

const ended = ['succeeded', 'partial', 'failed', 'cancelled'];
const expectStatus = (wanted: number, { status, body, text }: Answer) => {
  if (status !== wanted) throw new Error(`${status} instead of ${wanted}: ${text}`);
  return body;
};

type Options = {
  readonly folder?: string;
  readonly erp?: NonNullable<Parameters<typeof startErp>[1]>;
  readonly sync?: Partial<Settings['sync']>;
  readonly mail?: Partial<Settings['mail']>;
};

/** For the top level of a test file or suite: the company is there when its own hooks and tests run. */
export function useCompany(options: Options = {}): Company {
  const company = {} as Company;
  beforeAll(async () => Object.assign(company, await startCompany(options)));
  afterAll(() => company.stop());
  return company;
}

/** Ids of records of which the two sides have other values, or that only one side has. */
export const differingIds = (
  served: ReadonlyMap<string, unknown>,
  truth: ReadonlyMap<string, unknown>,
): string[] =>
  [...new Set([...served.keys(), ...truth.keys()])].filter((id) => served.get(id) !== truth.get(id)).sort();

/** Retries of failed runs are quick and few, unless `sync` says otherwise; caches live for 50 ms. */
export async function startCompany({
  folder = dataFolder,
  erp: erpOptions = {},
  sync = {},
  mail = {},
}: Options = {}): Promise<Company> {
  const erp = await startErp(folder, { control: {}, ...erpOptions });
  const wire = await openWire(erp.account.url);
  const database = await testDatabase({
    settings: {
      erp: { ...testSettings.erp, allowedHosts: [erp.host, wire.host] },
      sync: {
        ...testSettings.sync,
        retryBaseMs: 50,
        retryMaxMs: 100,
        maxAttemptsWithoutProgress: 2,
        ...sync,
      },
      mail: { ...testSettings.mail, ...mail },
      cacheTtlMs: 50,
    },
  });
  const app = createApp(database.ctx);
  const background: Background = await startBackground(database.ctx);
  const { id: organizationId } = await makeOrganization(database.ctx);
  const { secret } = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
  const api = createApi(app, secret);
  await erp.connect(api, wire.url);
  expectStatus(200, await api('post', '/netsuite/metadata/refresh'));
  const configs = new Map<string, string>();
  const read = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    supertest(app)
      .get(`/api/public${path}`)
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId, ...headers })
      .then((response) => response);
  const company: Company = {
    erp,
    wire,
    database,
    app,
    organizationId,
    api,
    read,
    control: (method, path, body) => sendControl(erp.account, method, path, body),
    async truth(table) {
      const found: ErpRecord[] = [];
      for (let after = ''; ; ) {
        const page = await company.control(
          'GET',
          `/records/${table}?limit=1000${after === '' ? '' : `&after=${after}`}`,
        );
        found.push(...page.records);
        if (page.next === null) return found;
        after = page.next;
      }
    },
    transactions: async (type) =>
      (await company.truth('transaction')).filter(({ fields }) => fields['type'] === type),
    async refresh() {
      expectStatus(200, await api('post', '/netsuite/metadata/refresh'));
    },
    async config(recordType, options = {}) {
      const known = configs.get(recordType);
      if (known !== undefined) return known;
      const made = expectStatus(
        201,
        await api('post', '/sync-configs', { recordType, name: recordType, ...options }),
      );
      configs.set(recordType, made.id);
      return made.id;
    },
    async run(recordType, mode) {
      const id = await company.config(recordType);
      const started = expectStatus(
        202,
        await api('post', `/sync-configs/${id}/trigger`, mode === undefined ? {} : { mode }),
      );
      return until(async () => {
        const { body } = await api('get', `/sync-runs/${started.id}`);
        return ended.includes(body.status) ? body : undefined;
      });
    },
    async expectSuccess(recordType, mode, counts = {}, more = {}) {
      const run = await company.run(recordType, mode);
      expect(run).toMatchObject({ status: 'succeeded', error: null, counts, ...more });
      return run;
    },
    async expectPartial(recordType, mode, code, counts = {}, more = {}) {
      const run = await company.run(recordType, mode);
      expect({ ...run, code: run.error?.code }).toMatchObject({ status: 'partial', code, counts, ...more });
      return run;
    },
    async expectFailure(recordType, mode, code, more = {}) {
      const run = await company.run(recordType, mode);
      expect({ ...run, code: run.error?.code }).toMatchObject({ status: 'failed', code, ...more });
      return run;
    },
    async proof({ id }) {
      const { checks } = expectStatus(200, await api('get', `/sync-runs/${id}/proof`));
      return Object.fromEntries(checks.map((check: { check: string }) => [check.check, check]));
    },
    async publish(endpoints) {
      const draft = expectStatus(201, await api('post', '/api-schema', { name: 'Test', endpoints }));
      const begun = expectStatus(
        202,
        await api('post', `/api-schema/${draft.id}/publish`, { revision: draft.revision }),
      );
      return until(async () => {
        const { body } = await api('get', `/api-schema/${draft.id}`);
        if (body.status === 'published') return begun.version;
        if (body.publication?.status === 'failed') throw new Error(JSON.stringify(body.publication));
        return undefined;
      });
    },
    async readAll(resource) {
      const found = [];
      for (let page = 1; ; page += 1) {
        const { data, pagination } = expectStatus(200, await read(`/${resource}?pageSize=1000&page=${page}`));
        found.push(...data);
        if (page >= pagination.totalPages) return found;
      }
    },
    async stop() {
      await background.stop();
      await database.close();
      await wire.close();
      await erp.stop();
    },
  };
  return company;
}
