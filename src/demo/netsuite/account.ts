// A NetSuite account to develop, test and demonstrate against: SuiteTalk REST on loopback over a PostgreSQL database of its own.
// What it does, what it derives and where it differs from the real one is told in README.md beside this file.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../core/clock.ts';
import { type AuditEntry, makeAudit } from './audit.ts';
import { type BusinessTime, openBusinessTime } from './business-time.ts';
import { type AccountDatabase, type AdminConnection, openDatabase } from './database/open-database.ts';
import { type Fault, type Faults, makeFaults } from './faults.ts';
import { type Governance, makeGovernance } from './governance.ts';
import { DATA_TIME_ZONE } from './load/ledger.ts';
import { loadFolder, type Progress } from './load/load-folder.ts';
import { type DayReport, type OnDay, openReplay, type Replay } from './replay.ts';
import { makeServer } from './server.ts';
import { type AccessTokens, makeAccessTokens } from './sign-in/access-tokens.ts';
import { type AuthenticationClock, makeAuthenticationClock } from './sign-in/authentication-clock.ts';
import { type Integrations, makeIntegrations } from './sign-in/integrations.ts';
import { makeTokenBasedCheck } from './sign-in/token-based.ts';
import { openTokenCredentials, type TokenCredentials, type TokenCredentialsStore } from './sign-in/token-credentials.ts';
import { dateFormat } from './suiteql/render.ts';
import { makeSwitches, type Switches } from './switches.ts';
import { type Features, makeRoleView, type RoleView } from './tables/role-view.ts';

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
  /** YYYY-MM-DD: rows changed from the beginning of this day on are held back, and come day by day. Another value loads anew. */
  replayFrom?: string;
  /** After each day that came. */
  onDay?: OnDay;
  /** How many calls the account serves at once; 5 unless told. */
  concurrencyLimit?: number;
  /** How long every call takes at least. */
  latencyMs?: number;
  /** What isn't known of real accounts. */
  switches?: Partial<Switches>;
  /** Several currencies and token-based authentication unless told; OneWorld only if told. */
  features?: Partial<Features>;
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
  /** What a service that signs in by token is given. `fixed` replaces values that are otherwise random. */
  createTokenCredentials(name: string, fixed?: Partial<TokenCredentials>): Promise<TokenCredentials>;
  revokeTokenCredentials(tokenId: string): Promise<void>;
  /** Blocks the integration of this consumer key, or lets it in again. */
  setIntegrationOn(consumerKey: string, isOn: boolean): Promise<void>;
  /** The clock of everything that has to do with signing in; null goes back to wall time. */
  setAuthenticationTime(at: Date | null): void;
  businessTime(): Date;
  /** Days held back that have begun by then come first. */
  setBusinessTime(at: Date): Promise<void>;
  /** Brings the days held back up to this one (YYYY-MM-DD) at once. */
  advanceTo(day: string): Promise<DayReport[]>;
  /** From now on a day comes every so many minutes, one unless told, until none is left. */
  startBusinessTime(options?: { minutesPerDay?: number }): void;
  stopBusinessTime(): void;
  /** How many days are held back. */
  daysLeft(): number;
  /** Why requests were refused, oldest first, the last thousand. */
  audit(): readonly AuditEntry[];
  /** The next requests that match are answered as told. */
  injectFault(fault: Fault): void;
  clearFaults(): void;
  setConcurrencyLimit(limit: number): void;
  setLatency(latencyMs: number): void;
  setSwitches(switches: Partial<Switches>): void;
  setFeatures(features: Partial<Features>): void;
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
    timeZone,
    dateOrder: format.order,
    statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
  });
  try {
    return await runAccount(options, database, timeZone, format);
  } catch (error) {
    await database.close();
    throw error;
  }
}

const USUAL_FEATURES: Features = { oneWorld: false, multipleCurrencies: true, tokenBasedAuthentication: true };

async function runAccount(
  options: NetsuiteAccountOptions,
  database: AccountDatabase,
  timeZone: string,
  format: ReturnType<typeof dateFormat>,
): Promise<NetsuiteAccount> {
  const { accountId, dataFolder: folder, replayFrom, onProgress = () => undefined, onDay = () => undefined } = options;
  const load = await loadFolder(database.setup, { folder, replayFrom, onProgress });
  const audit = makeAudit(systemClock);
  const switches = makeSwitches(options.switches);
  const time = await openBusinessTime(database.setup, systemClock, load.startsAt);
  const replay = await openReplay({ pool: database.setup, time, switches, audit, onDay });
  const features = { ...USUAL_FEATURES, ...options.features };
  const role = makeRoleView(features);
  const faults = makeFaults(audit);
  const governance = makeGovernance(switches, options);
  const clock = makeAuthenticationClock(systemClock);
  const credentials = await openTokenCredentials(database.setup, systemClock);
  const isOn = () => features.tokenBasedAuthentication;
  const tokens = makeAccessTokens(clock, accountId, makeTokenBasedCheck({ accountId, clock, credentials, switches, isOn }));
  const integrations = makeIntegrations(database.setup, clock);
  const query = { pool: database.reader, role, switches, timeZone, dateFormat: format, businessTime: time.now };
  const writes = { pool: database.setup, timeZone, switches, businessTime: time.now };
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    makeServer({ accountId, clock, audit, faults, tokens, integrations, governance, query, writes }),
  );
  return {
    url: await listen(server, options.host ?? '127.0.0.1', options.port ?? 0),
    accountId,
    ...signInSettings(integrations, tokens, credentials, clock),
    ...timeSettings(time, replay),
    ...behaviour({ faults, governance, switches, features, role }),
    audit: audit.entries,
    stop: once(async () => {
      await replay.stop();
      await close(server);
      await database.close();
    }),
  };
}

const signInSettings = (
  integrations: Integrations,
  tokens: AccessTokens,
  credentials: TokenCredentialsStore,
  clock: AuthenticationClock,
) => ({
  createIntegration: integrations.create,
  uploadCertificate: integrations.uploadCertificate,
  revokeCertificate: integrations.revokeCertificate,
  revokeTokens: tokens.revokeAll,
  createTokenCredentials: credentials.create,
  revokeTokenCredentials: credentials.revoke,
  setIntegrationOn: credentials.setIntegrationOn,
  setAuthenticationTime: clock.set,
});

const timeSettings = (time: BusinessTime, replay: Replay) => ({
  businessTime: time.now,
  setBusinessTime: replay.moveTo,
  advanceTo: replay.advanceTo,
  startBusinessTime: replay.start,
  stopBusinessTime: replay.pause,
  daysLeft: replay.daysLeft,
});

type Behaviour = { faults: Faults; governance: Governance; switches: Switches; features: Features; role: RoleView };
const behaviour = ({ faults, governance, switches, features, role }: Behaviour) => ({
  injectFault: faults.inject,
  clearFaults: faults.clear,
  setConcurrencyLimit: governance.setLimit,
  setLatency: governance.setLatency,
  setSwitches(wanted: Partial<Switches>): void {
    Object.assign(switches, wanted);
  },
  setFeatures(wanted: Partial<Features>): void {
    Object.assign(features, wanted);
    role.setFeatures(wanted);
  },
  setVisible: role.setVisible,
  setColumnVisible: role.setColumnVisible,
});

/** Resolves to where the server can be reached. */
function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const { port: actual } = server.address() as AddressInfo;
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${actual}`);
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
