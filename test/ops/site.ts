// Fixtures for tests of whole processes: a simulated ERP account in another database than the service's, an
// organization, and HTTP clients that wait for a bounded time and record how long requests took.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { inject } from 'vitest';
import { createAccountLimits } from '../../src/core/account-limits.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { createKeyring } from '../../src/core/keyring.ts';
import { createLog } from '../../src/core/log.ts';
import { createTrackedWork } from '../../src/core/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../../src/db/connect.ts';
import { writeAccountData } from '../chaos/account-data.ts';
import { openWire, type Wire } from '../chaos/wire.ts';
import { type Answer, base, type Method } from '../setup/api.ts';
import { testSettings } from '../setup/database.ts';
import { type Call, type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization, makeSession } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { endpointsFor } from './endpoints.ts';

export type Reply = Pick<Answer, 'status' | 'body'> & {
  readonly headers: Headers;
  readonly text: string;
  readonly ms: number;
};

/** Longer than any response may take. */
const patienceMs = 90_000;

/** Rejects when there is no complete response in time. */
export async function ask(
  url: string,
  method: Method = 'get',
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const startedMs = performance.now();
  const response = await fetch(url, {
    method: method.toUpperCase(),
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(patienceMs),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true && !text.includes('\n');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
    ms: performance.now() - startedMs,
  };
}

export type ErpSite = {
  readonly erp: Erp;
  readonly wire: Wire;
  readonly environment: Record<string, string>;
  /** Changes by people in the account, unknown to the service. */
  change(sql: string): Promise<void>;
  close(): Promise<void>;
};

/**
 * A small company's account, in the PostgreSQL of the test run, and a proxy in front of it that a test may
 * pause.
 */
export async function openErpSite(): Promise<ErpSite> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-books-'));
  await writeAccountData(folder, { large: false });
  const erp = await startErp(folder);
  const wire = await openWire(erp.account.url);
  return {
    erp,
    wire,
    environment: {
      ALLOW_PRIVATE_ERP_HOSTS: 'true',
      ALLOWED_ERP_HOSTS: `${wire.host},${erp.host}`,
      ENCRYPTION_KEY: `test:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'info',
    },
    change: async (sql) => {
      const client = new Client({ ...inject('pg'), database: erp.database });
      await client.connect();
      await client.query(sql).finally(() => client.end());
    },
    close: async () => {
      await wire.close();
      await erp.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Company = {
  readonly id: string;
  /** Creates an API key with write access. */
  newKey(): Promise<{ id: string; secret: string }>;
  /** A session of its owner. */
  newSession(): Promise<{ id: string; headers: Record<string, string> }>;
  /**
   * Calls the management interface of a process, with another API key each time, so that no rate limit is
   * exceeded.
   */
  call(
    url: string,
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  /**
   * The same, always with that key: a repeated request with an Idempotency-Key must use the same credential.
   */
  callAs(
    key: number,
    url: string,
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  read(url: string, path: string, headers?: Record<string, string>): Promise<Reply>;
  close(): Promise<void>;
};

/** 60 requests a minute each: together enough for two callers that poll every 50 ms for any time. */
const keysInTurn = 60;

/**
 * `made`: an organization that exists already; by default a new one, whose tables need a database of the
 * present version.
 */
export async function makeCompany(
  address: DatabaseAddress,
  made?: { readonly id: string; readonly ownerId: string },
): Promise<Company> {
  const db = openDb(address, address, { control: 2, data: 2 }, 5_000);
  const ctx: Ctx = {
    db,
    clock: systemClock,
    log: createLog('silent'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'unused', bytes: Buffer.alloc(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
    settings: testSettings,
  };
  const { id, ownerId } = made ?? (await makeOrganization(ctx));
  const newKey = () => makeKey(ctx, id, { permissions: ['write'] });
  const keys = await Promise.all(Array.from({ length: keysInTurn }, newKey));
  let turn = 0;
  const authorization = (): string => {
    turn += 1;
    return `Bearer ${keys[turn % keys.length]?.secret}`;
  };
  return {
    id,
    newKey,
    newSession: () => makeSession(ctx, ownerId, id),
    call: (url, method, path, body, headers = {}) =>
      ask(`${url}${base}${path}`, method, body, { authorization: authorization(), ...headers }),
    callAs: (key, url, method, path, body, headers = {}) =>
      ask(`${url}${base}${path}`, method, body, { authorization: `Bearer ${keys[key]?.secret}`, ...headers }),
    read: (url, path, headers = {}) =>
      ask(`${url}/api/public${path}`, 'get', undefined, {
        authorization: `Bearer ${keys[0]?.secret}`,
        'x-tenant-id': id,
        ...headers,
      }),
    close: () => db.close(),
  };
}

const wellDone = (reply: Reply): Reply['body'] => {
  if (reply.status < 200 || reply.status > 299) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body;
};

/** Connects the organization to the account and returns the ids of the sync configurations by record type. */
export async function connectCompany(
  company: Company,
  url: string,
  { erp, wire }: ErpSite,
): Promise<Map<string, string>> {
  const call: Call = (method, path, body) => company.call(url, method, path, body);
  await erp.connect(call, wire.url);
  wellDone(await company.call(url, 'post', '/netsuite/metadata/refresh'));
  const configs = new Map<string, string>();
  for (const recordType of ['customer', 'invoice'])
    configs.set(
      recordType,
      wellDone(await company.call(url, 'post', '/sync-configs', { name: recordType, recordType })).id,
    );
  return configs;
}

/** A run as the API returns it. */
type ShownRun = Answer['body'];
const ended = ['succeeded', 'partial', 'failed', 'cancelled'];

/** Ignores temporary failures. */
export const findRun = async (company: Company, url: string, id: string): Promise<ShownRun | undefined> => {
  const reply = await company.call(url, 'get', `/sync-runs/${id}`).catch(() => undefined);
  return reply?.status === 200 ? reply.body : undefined;
};
export const startRun = async (
  company: Company,
  url: string,
  configId: string | undefined,
  body: object = {},
): Promise<string> => wellDone(await company.call(url, 'post', `/sync-configs/${configId}/trigger`, body)).id;
export const waitForEnd = (company: Company, url: string, id: string): Promise<ShownRun> =>
  until(async () => {
    const run = await findRun(company, url, id);
    return run !== undefined && ended.includes(run.status) ? run : undefined;
    // A run with two failed attempts because of the database waits 10 and 30 seconds by design.
  }, 200_000);
export const sync = async (
  company: Company,
  url: string,
  configId: string | undefined,
  body: object = {},
): Promise<ShownRun> => waitForEnd(company, url, await startRun(company, url, configId, body));

async function beginPublishing(company: Company, url: string): Promise<Reply['body']> {
  const draft = wellDone(
    await company.call(url, 'post', '/api-schema', {
      name: 'Records',
      endpoints: endpointsFor(['customer', 'invoice']),
    }),
  );
  wellDone(await company.call(url, 'post', `/api-schema/${draft.id}/publish`, { revision: draft.revision }));
  return draft;
}

/** Returns the id of the draft that is being published. */
export const startPublishing = async (company: Company, url: string): Promise<string> =>
  (await beginPublishing(company, url)).id;

/** Publishes a version with both record types. */
export async function publish(company: Company, url: string): Promise<string> {
  const draft = await beginPublishing(company, url);
  await isPublished(company, url, draft.id);
  return draft.version;
}
export const isPublished = (company: Company, url: string, id: string): Promise<true> =>
  until(async () => {
    const { body } = await company.call(url, 'get', `/api-schema/${id}`);
    if (body?.publication?.status === 'failed') throw new Error(JSON.stringify(body.publication));
    return body?.status === 'published' ? true : undefined;
  });
