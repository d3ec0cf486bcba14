// The service on a database of its own for one test file, and an organization in it whose members call the
// management interface with keys and sessions of theirs.
import type { Express } from 'express';
import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx, ReadEngine } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { type Api, createApi, signedInApi } from './api.ts';
import { type TestDatabase, type TestDatabaseOptions, testDatabase, testSettings } from './database.ts';
import { type DnsServer, startDns } from './dns.ts';
import { type Erp, startErp } from './erp.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from './organization.ts';
import { type MailServer, startMailServer } from './smtp.ts';

export type Person = {
  readonly id: string;
  readonly email: string;
  readonly api: Api;
  readonly secret: string;
  readonly keyId: string;
};

export async function openOrganization(ctx: Ctx, app: Express, given: { name?: string } = {}) {
  const { id: organizationId, slug, ownerId } = await makeOrganization(ctx, given);
  const at = `/organizations/${organizationId}`;
  const withKey = async (id: string, email: string): Promise<Person> => {
    const { id: keyId, secret } = await makeKey(ctx, organizationId, {
      permissions: ['write'],
      createdBy: id,
    });
    return { id, email, api: createApi(app, secret), secret, keyId };
  };
  const sql = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction({ db: ctx.db, organizationId }, work);
  const owner = await withKey(ownerId, '');
  const roles: { id: string; name: string }[] = (await owner.api('get', `${at}/roles`)).body.data;
  return {
    id: organizationId,
    slug,
    /** Path of the organization. */
    at,
    owner,
    /** Calls with the owner's key. */
    api: owner.api,
    /** Works in a transaction that sees this organization. */
    sql,
    /** Id of a built-in role. */
    role: (name: string): string => roles.find((role) => role.name === name)?.id ?? '',
    /** A member with a built-in role by name, or with a role that has only these permissions. */
    join: async (role: string | readonly string[]): Promise<Person> => {
      const { id, email } = await makeMember(ctx, organizationId, role);
      return withKey(id, email);
    },
    /** A member without a key. */
    joinBare: (role: string | readonly string[]) => makeMember(ctx, organizationId, role),
    session: async (userId: string): Promise<Api> =>
      signedInApi(app, ctx, (await makeSession(ctx, userId, organizationId)).cookie),
    readRoleId: (userId: string): Promise<string> =>
      sql(
        async (tx) =>
          (await tx('memberships').where({ user_id: userId }).first<{ role_id: string }>('role_id')).role_id,
      ),
    /** The current permissions of a secret. */
    readPermissions: async (secret: string): Promise<string[]> =>
      (await createApi(app, secret)('get', '/whoami')).body.permissions,
  };
}
export type Organization = Awaited<ReturnType<typeof openOrganization>>;

type Options = Omit<TestDatabaseOptions, 'logLevel'> & {
  /** A new organization before each test, instead of one for the file. */
  readonly each?: boolean;
  readonly name?: string;
  /** Starts a simulated account that the service may reach; nothing is connected yet. */
  readonly erp?: Parameters<typeof startErp>[1];
  /** Starts a DNS server that the service asks. */
  readonly dns?: boolean;
  /** Starts a mail server that the service sends to. */
  readonly mail?: boolean;
  /** Log lines are added to it. */
  readonly lines?: string[];
  readonly reads?: (ctx: Ctx) => ReadEngine;
  readonly alter?: (ctx: Ctx) => Ctx;
};

export type OrganizationSite = Organization & {
  readonly ctx: Ctx;
  readonly database: TestDatabase;
  readonly app: Express;
  /** The database with the login of the superuser. */
  readonly admin: Knex;
  /** Only with the option `erp`. */
  readonly erp: Erp;
  /** Only with the option `dns`. */
  readonly dns: DnsServer;
  /** Only with the option `mail`. */
  readonly mails: MailServer;
  /** A new organization takes the place of the one of this site. */
  renew(): Promise<unknown>;
  /** Another organization of the same service. */
  another(given?: { name?: string }): Promise<Organization>;
};

/** For the top level of a test file: all is there when its own hooks and tests run, and closed after them. */
export function useOrganization({
  each,
  name,
  erp,
  dns,
  mail,
  lines,
  reads,
  alter,
  ...options
}: Options = {}) {
  const site = {} as OrganizationSite;
  const given = name === undefined ? {} : { name };
  const closing: (() => Promise<unknown>)[] = [];
  const opened = <T>(thing: T, close: () => Promise<unknown>): T => {
    closing.unshift(close);
    return thing;
  };
  const renew = async () => Object.assign(site, await openOrganization(site.ctx, site.app, given));

  beforeAll(async () => {
    const account = erp && (await startErp(undefined, erp));
    if (account !== undefined) opened(account, () => account.stop());
    const names = dns === true ? await startDns() : undefined;
    if (names !== undefined) opened(names, () => names.stop());
    const mails = mail === true ? await startMailServer() : undefined;
    if (mails !== undefined) opened(mails, () => mails.close());
    const settings = {
      ...(account !== undefined && { erp: { ...testSettings.erp, allowedHosts: [account.host] } }),
      ...(names !== undefined && { dnsServers: [names.address] }),
      ...(mails !== undefined && { mail: { ...testSettings.mail, smtpUrl: mails.url } }),
      ...options.settings,
    };
    const database = await testDatabase({ ...options, settings });
    opened(database, () => database.close());
    const log = lines && createLog('trace', { write: (line: string) => void lines.push(line) });
    const logging: Ctx = log === undefined ? database.ctx : { ...database.ctx, log };
    const ctx = alter === undefined ? logging : alter(logging);
    opened(ctx, () => ctx.work.waitUntilIdle('portal-figures'));
    opened(ctx, () => ctx.work.waitUntilIdle('publications'));
    const app = createApp(ctx, reads === undefined ? {} : { reads: reads(ctx) });
    const admin = openKnex(database.address, null, 2);
    opened(admin, () => admin.destroy());
    const another = (other = {}) => openOrganization(ctx, app, other);
    Object.assign(site, { ctx, database, app, admin, another, renew, erp: account, dns: names, mails });
    if (each !== true) await renew();
  });
  if (each === true) beforeEach(renew);
  afterAll(async () => {
    for (const close of closing) await close();
  });
  return site;
}
