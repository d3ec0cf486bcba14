// A NetSuite account to develop, test and demonstrate against: SuiteTalk REST on loopback over a PostgreSQL database of its own.
// What it does, what it derives and where it differs from the real one is told in README.md beside this file.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../core/clock.ts';
import { type AuditEntry, makeAudit } from './audit.ts';
import { openBusinessTime } from './business-time.ts';
import { type AccountDatabase, type AdminConnection, openDatabase } from './database/open-database.ts';
import { type Fault, makeFaults } from './faults.ts';
import { DATA_TIME_ZONE } from './load/ledger.ts';
import { loadFolder, type Progress } from './load/load-folder.ts';
import { makeServer } from './server.ts';
import { makeAccessTokens } from './sign-in/access-tokens.ts';
import { makeIntegrations } from './sign-in/integrations.ts';
import { dateFormat } from './suiteql/render.ts';
import { makeRoleView } from './tables/role-view.ts';

export type NetsuiteAccountOptions = {
  /** A superuser on the cluster where the account's own database is made. */
  admin: AdminConnection;
  /** The account's own database, e.g. `netsuite_account`; made if absent. */
  database: string;
  dataFolder: string;
  /** As NetSuite writes it, e.g. `TSTDRV1234567`. */
  accountId: string;
  /** 127.0.0.1 unless told. */
  host?: string;
  /** Any free port unless told. */
  port?: number;
  /** The users' time zone, in which TO_CHAR and TO_DATE work; Europe/London unless told. */
  timeZone?: string;
  /** The users' date preference; M/D/YYYY unless told. */
  dateFormat?: string;
  /** How long a query may run; a minute unless told. */
  statementTimeoutMs?: number;
  onProgress?: Progress;
};

export type NetsuiteAccount = {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly accountId: string;
  /** What an administrator does in NetSuite's set-up pages. Kept in the account's database. */
  createIntegration(name: string): Promise<{ clientId: string }>;
  /** Throws RangeError for a certificate that NetSuite wouldn't take. */
  uploadCertificate(clientId: string, certificatePem: string): Promise<{ certificateId: string }>;
  /** No new tokens by it; those already given run out by themselves or by revokeTokens. */
  revokeCertificate(certificateId: string): Promise<void>;
  revokeTokens(): void;
  businessTime(): Date;
  setBusinessTime(at: Date): Promise<void>;
  /** Why requests were refused, oldest first, the last thousand. */
  audit(): readonly AuditEntry[];
  /** The next requests that match are answered as told. */
  injectFault(fault: Fault): void;
  /** A role that can't see a table: `Record 'x' was not found.` */
  setVisible(table: string, visible: boolean): void;
  /** A feature that is off: `Unknown identifier`. */
  setColumnVisible(table: string, column: string, visible: boolean): void;
  stop(): Promise<void>;
};

const STATEMENT_TIMEOUT_MS = 60_000;
/** Longer than callers keep idle connections, so that none is closed just as it is used. */
const KEEP_ALIVE_MS = 65_000;

/** Throws DataFolderError for a malformed folder, and RangeError for an account id, time zone or date format that isn't one. */
export async function startNetsuiteAccount(options: NetsuiteAccountOptions): Promise<NetsuiteAccount> {
  if (!/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)?$/.test(options.accountId)) throw new RangeError(`${options.accountId} is no account id.`);
  const timeZone = new Intl.DateTimeFormat('en', { timeZone: options.timeZone ?? DATA_TIME_ZONE }).resolvedOptions().timeZone;
  const format = dateFormat(options.dateFormat ?? 'M/D/YYYY');
  const database = await openDatabase(options.admin, options.database, {
    timeZone, dateOrder: format.order, statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
  });
  try {
    return await runAccount(options, database, timeZone, format);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function runAccount(options: NetsuiteAccountOptions, database: AccountDatabase, timeZone: string, format: ReturnType<typeof dateFormat>): Promise<NetsuiteAccount> {
  const clock = systemClock;
  const load = await loadFolder(database.setup, options.dataFolder, options.onProgress ?? (() => undefined));
  const time = await openBusinessTime(database.setup, clock, load.lastChange, load.loaded);
  const audit = makeAudit(clock);
  const faults = makeFaults(audit);
  const role = makeRoleView();
  const tokens = makeAccessTokens(clock, options.accountId);
  const integrations = makeIntegrations(database.setup, clock);
  const query = { pool: database.reader, role, timeZone, dateFormat: format, businessTime: time.now };
  const app = makeServer({ accountId: options.accountId, clock, audit, faults, tokens, integrations, query });
  const host = options.host ?? '127.0.0.1';
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, app);
  await listen(server, host, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    accountId: options.accountId,
    createIntegration: integrations.create,
    uploadCertificate: integrations.uploadCertificate,
    revokeCertificate: integrations.revokeCertificate,
    revokeTokens: tokens.revokeAll,
    businessTime: time.now,
    setBusinessTime: time.set,
    audit: audit.entries,
    injectFault: faults.inject,
    setVisible: role.setVisible,
    setColumnVisible: role.setColumnVisible,
    stop: once(async () => {
      await close(server);
      await database.close();
    }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}
