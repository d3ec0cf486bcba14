// Fixtures for tests of whole processes: a simulated ERP account in another database than the service's, an
// organization, and HTTP clients that wait for a bounded time and record how long requests took.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { DatabaseAddress } from '../../src/db/connect.ts';
import { writeAccountData } from '../chaos/account-data.ts';
import { openWire } from '../chaos/wire.ts';
import { type Answer, base, type Method } from '../setup/api.ts';
import { testSettings } from '../setup/database.ts';
import { type Call, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization, makeSession } from '../setup/organization.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';
import { endpointsFor } from './endpoints.ts';
import { createProcessCtx } from './process-ctx.ts';

export type Reply = Pick<Answer, 'status' | 'body'> & {
  readonly headers: Headers;
  readonly text: string;
  readonly ms: number;
};

type HeaderValues = Record<string, string>;

/** Longer than any response may take. */
const patienceMs = 90_000;

/** Rejects when there is no complete response in time. */
export async function ask(
  url: string,
  method: Method = 'get',
  body?: unknown,
  headers: HeaderValues = {},
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

export type ErpSite = Awaited<ReturnType<typeof openErpSite>>;

/**
 * A small company's account, in the PostgreSQL of the test run, and a proxy in front of it that a test may
 * pause.
 */
export async function openErpSite() {
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
    /** Changes by people in the account, unknown to the service. */
    change: (sql: string) => asSuperuser(erp.database, (client) => client.query(sql)),
    close: async () => {
      await wire.close();
      await erp.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** `openErpSite` for one test file, at its top level. */
export function useErpSite(): ErpSite {
  const site = {} as ErpSite;
  beforeAll(async () => void Object.assign(site, await openErpSite()));
  afterAll(() => site.close());
  return site;
}

export type Company = Awaited<ReturnType<typeof makeCompany>>;

/** 60 requests a minute each: together enough for two callers that poll every 50 ms for any time. */
const keysInTurn = 60;

/**
 * `made`: an organization that exists already; by default a new one, whose tables need a database of the
 * present version.
 */
export async function makeCompany(
  address: DatabaseAddress,
  made?: { readonly id: string; readonly ownerId: string },
) {
  const ctx = createProcessCtx(address, testSettings, { control: 2, data: 2 });
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
    /** Creates an API key with write access. */
    newKey,
    /** A session of its owner. */
    newSession: () => makeSession(ctx, ownerId, id),
    /**
     * Calls the management interface of a process, with another API key each time, so that no rate limit is
     * exceeded.
     */
    call: (url: string, method: Method, path: string, body?: unknown, headers: HeaderValues = {}) =>
      ask(`${url}${base}${path}`, method, body, { authorization: authorization(), ...headers }),
    /**
     * The same, always with that key: a repeated request with an Idempotency-Key must use the same credential.
     */
    callAs: (
      key: number,
      url: string,
      method: Method,
      path: string,
      body?: unknown,
      headers: HeaderValues = {},
    ) =>
      ask(`${url}${base}${path}`, method, body, { authorization: `Bearer ${keys[key]?.secret}`, ...headers }),
    read: (url: string, path: string, headers: HeaderValues = {}) =>
      ask(`${url}/api/public${path}`, 'get', undefined, {
        authorization: `Bearer ${keys[0]?.secret}`,
        'x-tenant-id': id,
        ...headers,
      }),
    close: () => ctx.db.close(),
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
    return body?.status === 'published';
  });

/** A company on a running process, with synced customers and invoices and a published version. */
export async function openPublished(address: DatabaseAddress, url: string, site: ErpSite) {
  const company = await makeCompany(address);
  const configs = await connectCompany(company, url, site);
  for (const id of configs.values()) {
    const { status, error } = await sync(company, url, id);
    if (status !== 'succeeded') throw new Error(`${status} ${JSON.stringify(error)}`);
  }
  return { company, configs, version: await publish(company, url) };
}
export type Published = Awaited<ReturnType<typeof openPublished>>;
