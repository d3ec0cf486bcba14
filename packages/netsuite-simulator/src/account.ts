// A simulated NetSuite account to develop, test and demonstrate against: SuiteTalk REST on loopback over its
// own PostgreSQL database. The package's README.md and docs say what it does, what it derives and where it
// differs from a real account.
import { createServer, type RequestListener } from 'node:http';
import { createAccountClock } from './account-clock.ts';
import { createAsyncJobs } from './async/jobs.ts';
import { type AuditTrailEntry, createAuditTrail } from './audit-trail.ts';
import { loadBusinessTime } from './business-time.ts';
import { systemClock } from './clock.ts';
import { type ControlParts, createControl } from './control/control.ts';
import { startControlServer } from './control/control-server.ts';
import type { ControlAccess, ControlServer } from './control/guarded-server.ts';
import { createMisbehaviour, type Misbehaviour } from './control/misbehaviour.ts';
import {
  type AccountDatabase,
  type AdminConnection,
  openAccountDatabase,
} from './database/account-database.ts';
import { listCustomFields } from './database/custom-field-store.ts';
import { createFaultInjector, type Fault, type FaultInjector } from './faults.ts';
import { createGovernance, type Governance } from './governance.ts';
import { closeServer, listen } from './listen.ts';
import { DATA_TIME_ZONE } from './load/ledger.ts';
import { loadFolder, type OnLoadProgress } from './load/load-folder.ts';
import { type ProfileName, parseProfile } from './profile/profile-name.ts';
import { createReplay, type DayReport, type OnDay, type Replay } from './replay.ts';
import { createAccountApp, createRecordApp } from './server.ts';
import { type AccessTokens, createAccessTokens } from './sign-in/access-tokens.ts';
import { type AuthenticationClock, createAuthenticationClock } from './sign-in/authentication-clock.ts';
import { createIntegrations, type Integrations } from './sign-in/integrations.ts';
import { createTokenBasedCheck } from './sign-in/token-based.ts';
import {
  loadTokenCredentials,
  type TokenCredentials,
  type TokenCredentialsStore,
} from './sign-in/token-credentials.ts';
import { type Dataset, DEFAULT_DATASETS } from './suiteql/datasets.ts';
import { getDateFormat } from './suiteql/render.ts';
import { createSwitches, type Switches } from './switches.ts';
import { createRoleVisibility, type Features, type RoleVisibility } from './tables/role-visibility.ts';

export type NetsuiteAccountOptions = {
  /** A superuser on the cluster where the account's database is created. */
  admin: AdminConnection;
  /** The account's own database, e.g. `netsuite_account`; created if absent. */
  database: string;
  dataFolder: string;
  /**
   * What is generated in addition to the records of the folder, see `ProfileName`. Default: nothing. A start
   * with another value loads the data again.
   */
  profile?: ProfileName;
  /** In NetSuite's spelling, e.g. `TSTDRV1234567`. */
  accountId: string;
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: any free port. */
  port?: number;
  /** The users' time zone, which TO_CHAR and TO_DATE use. Default: Europe/London. */
  timeZone?: string;
  /** The users' date preference. Default: M/D/YYYY. */
  dateFormat?: string;
  /** Time limit of a query. Default: 15 minutes, the limit of requests to real accounts. */
  statementTimeoutMs?: number;
  onProgress?: OnLoadProgress;
  /**
   * YYYY-MM-DD: rows changed on or after this day are held back and entered day by day. A start with another
   * value loads the data again.
   */
  replayFrom?: string;
  /** Called after each day that was entered. */
  onDay?: OnDay;
  /** How many calls the account serves at once. Default: 5. */
  concurrencyLimit?: number;
  /** Added to every call. */
  latencyMs?: number;
  /** Behaviour that is unknown or differs between real accounts. */
  switches?: Partial<Switches>;
  /**
   * Default: multiple currencies and token-based authentication on, OneWorld off except in the profile
   * `oneworld`.
   */
  features?: Partial<Features>;
  /** The saved SuiteAnalytics datasets. Default: one of customers and one of open invoices. */
  datasets?: readonly Dataset[];
  /** Opens the control interface, at any free port unless one is given. Default: there is none. */
  control?: { port?: number };
};

export type NetsuiteAccount = {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly accountId: string;
  /** Where the control interface is, if there is one. */
  readonly control: ControlAccess | undefined;
  /**
   * Creates an integration record, as an administrator does in NetSuite's set-up pages. Stored in the
   * account's database.
   */
  createIntegration(name: string): Promise<{ clientId: string }>;
  /**
   * Rejects with RangeError for an unknown client id, a certificate that NetSuite wouldn't accept, or a sixth
   * active certificate.
   */
  uploadCertificate(clientId: string, certificatePem: string): Promise<{ certificateId: string }>;
  /**
   * Stops new tokens; tokens already issued stay valid until they expire or `revokeTokens` is called. Rejects
   * with RangeError for an unknown id.
   */
  revokeCertificate(certificateId: string): Promise<void>;
  revokeTokens(): void;
  /**
   * Creates the credentials of a service that signs in by token. `fixed` replaces values that are otherwise
   * random.
   */
  createTokenCredentials(name: string, fixed?: Partial<TokenCredentials>): Promise<TokenCredentials>;
  /** Rejects with RangeError for an unknown token id. */
  revokeTokenCredentials(tokenId: string): Promise<void>;
  /**
   * Blocks or unblocks the integration with this consumer key. Rejects with RangeError for an unknown key.
   */
  setIntegrationEnabled(consumerKey: string, isOn: boolean): Promise<void>;
  /**
   * Sets the clock by which certificates, assertions, tokens and signatures are checked; null returns to wall
   * time.
   */
  setAuthenticationTime(at: Date | null): void;
  businessTime(): Date;
  /** Moves business time, first entering the held-back days that have begun by then. */
  setBusinessTime(at: Date): Promise<void>;
  /**
   * Enters the held-back days up to and including this one (YYYY-MM-DD) at once. Rejects with RangeError when
   * `day` is not a date.
   */
  advanceTo(day: string): Promise<DayReport[]>;
  /**
   * Enters one held-back day every `minutesPerDay` minutes (default 1) until none is left. Throws RangeError
   * unless it is above 0.
   */
  startReplay(options?: { minutesPerDay?: number }): void;
  pauseReplay(): void;
  /** How many days are still held back. */
  daysLeft(): number;
  /** Why requests were refused: the last thousand, oldest first. */
  audit(): readonly AuditTrailEntry[];
  /** Responds to the next matching requests with this fault. */
  injectFault(fault: Fault): void;
  clearFaults(): void;
  /** Throws RangeError unless it is a whole number of at least 1. */
  setConcurrencyLimit(limit: number): void;
  setLatency(latencyMs: number): void;
  setSwitches(switches: Partial<Switches>): void;
  setFeatures(features: Partial<Features>): void;
  /**
   * Shows or hides a table. A query on a hidden one is refused with `Record 'x' was not found.` Throws
   * RangeError for an unknown table.
   */
  setVisible(table: string, visible: boolean): void;
  /**
   * Shows or hides a column. A query on a hidden one is refused with `Unknown identifier`. Throws RangeError
   * for an unknown column.
   */
  setColumnVisible(table: string, column: string, visible: boolean): void;
  stop(): Promise<void>;
};

const STATEMENT_TIMEOUT_MS = 15 * 60_000;
/** Longer than clients keep idle connections, so that none is closed at the moment it is used. */
const KEEP_ALIVE_MS = 65_000;

/**
 * Loads the data if necessary and starts serving. Throws DataFolderError for a malformed folder, RangeError
 * for an invalid account id, time zone, profile, date format, concurrency limit or `replayFrom`, and an Error
 * when another process runs the account in this database.
 */
export async function startNetsuiteAccount(options: NetsuiteAccountOptions): Promise<NetsuiteAccount> {
  if (!/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)?$/.test(options.accountId))
    throw new RangeError(
      `${options.accountId} is not a NetSuite account id, such as TSTDRV1234567 or 1234567_SB1.`,
    );
  const timeZone = new Intl.DateTimeFormat('en', {
    timeZone: options.timeZone ?? DATA_TIME_ZONE,
  }).resolvedOptions().timeZone;
  const format = getDateFormat(options.dateFormat ?? 'M/D/YYYY');
  const database = await openAccountDatabase(options.admin, options.database, {
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

const DEFAULT_FEATURES: Features = {
  oneWorld: false,
  multipleCurrencies: true,
  tokenBasedAuthentication: true,
};

async function loadRole(
  setup: AccountDatabase['setup'],
  features: Features,
  profile: ProfileName | undefined,
): Promise<RoleVisibility> {
  const role = createRoleVisibility(features, profile);
  role.setCustomFields(await listCustomFields(setup));
  return role;
}

type SignInParts = Pick<NetsuiteAccountOptions, 'accountId'> & {
  clock: AuthenticationClock;
  switches: Switches;
  features: Features;
};

async function createSignIn(
  setup: AccountDatabase['setup'],
  { accountId, clock, switches, features }: SignInParts,
) {
  const credentials = await loadTokenCredentials(setup, systemClock);
  const isOn = () => features.tokenBasedAuthentication;
  const check = createTokenBasedCheck({ accountId, clock, credentials, switches, isOn });
  const tokens = createAccessTokens(clock, accountId, check);
  return { credentials, tokens, integrations: createIntegrations(setup, clock) };
}

type BookParts = {
  profile: ProfileName | undefined;
  switches: Switches;
  audit: ReturnType<typeof createAuditTrail>;
};

/** Loads the data folder, and prepares entering the days that it holds back. */
async function openBooks(
  setup: AccountDatabase['setup'],
  options: NetsuiteAccountOptions,
  { profile, switches, audit }: BookParts,
) {
  const { dataFolder: folder, replayFrom } = options;
  const { onProgress = () => undefined, onDay = () => undefined } = options;
  const load = await loadFolder(setup, { folder, replayFrom, profile, onProgress });
  const time = await loadBusinessTime(setup, systemClock, load.startsAt);
  return { time, replay: await createReplay({ pool: setup, time, switches, audit, onDay }) };
}

type AppParts = BookParts &
  Pick<ControlParts, 'governance' | 'tokens' | 'integrations' | 'daysLeft'> & {
    role: RoleVisibility;
    faults: FaultInjector;
    timeZone: string;
    dateFormat: ReturnType<typeof getDateFormat>;
    /** That of the sign-in, and that of the records. */
    clock: AuthenticationClock;
    accountClock: ReturnType<typeof createAccountClock>;
  };

function createApp(
  { accountId, control, datasets = DEFAULT_DATASETS }: NetsuiteAccountOptions,
  database: AccountDatabase,
  parts: AppParts,
) {
  const { profile, switches, audit, role, faults, governance, clock, tokens, integrations } = parts;
  const { timeZone, dateFormat, accountClock, daysLeft } = parts;
  const query = {
    pool: database.reader,
    role,
    switches,
    timeZone,
    dateFormat,
    businessTime: accountClock.now,
  };
  const writes = { pool: database.setup, timeZone, switches, businessTime: accountClock.now, profile };
  const misbehaviour = control && createMisbehaviour(accountId, query, writes, systemClock);
  const recordApp = createRecordApp({ query, writes, audit });
  const jobs = createAsyncJobs({ app: recordApp, switches, clock: systemClock, now: accountClock.now });
  const shared = { accountId, governance, tokens, integrations, query, writes, misbehaviour };
  const app = createAccountApp({ ...shared, clock, audit, faults, jobs, datasets });
  const controlParts = { ...shared, clock: accountClock, daysLeft };
  return { app, jobs, controlParts };
}

async function runAccount(
  options: NetsuiteAccountOptions,
  database: AccountDatabase,
  timeZone: string,
  format: ReturnType<typeof getDateFormat>,
): Promise<NetsuiteAccount> {
  const { accountId } = options;
  const profile = parseProfile(options.profile);
  const audit = createAuditTrail(systemClock);
  const switches = createSwitches(options.switches);
  const { time, replay } = await openBooks(database.setup, options, { profile, switches, audit });
  const features = { ...DEFAULT_FEATURES, oneWorld: profile === 'oneworld', ...options.features };
  const role = await loadRole(database.setup, features, profile);
  const faults = createFaultInjector(audit);
  const governance = createGovernance(switches, options);
  const clock = createAuthenticationClock(systemClock);
  const signIn = { accountId, clock, switches, features };
  const { credentials, tokens, integrations } = await createSignIn(database.setup, signIn);
  const accountClock = createAccountClock(time.now);
  const parts = { profile, audit, switches, role, faults, governance, clock, tokens, integrations };
  const served = { timeZone, dateFormat: format, accountClock, daysLeft: replay.daysLeft, ...parts };
  const { app, jobs, controlParts } = createApp(options, database, served);
  const { url, control, stop } = await openListeners(app, controlParts, options);
  return {
    url,
    accountId,
    control: control && { url: control.url, token: control.token },
    ...signInSettings(integrations, tokens, credentials, clock),
    ...timeSettings(accountClock.now, replay),
    ...behaviourSettings({ faults, governance, switches, features, role }),
    audit: audit.entries,
    stop: once(async () => {
      await replay.stop();
      await stop();
      await jobs.stop();
      await database.close();
    }),
  };
}

type Listeners = { url: string; control: ControlServer | undefined; stop(): Promise<void> };

/** Starts serving the account, and its control interface if it has one: both or neither. */
async function openListeners(
  app: RequestListener,
  {
    misbehaviour,
    ...parts
  }: Omit<ControlParts, 'accountUrl' | 'misbehaviour'> & { misbehaviour: Misbehaviour | undefined },
  { host = '127.0.0.1', port = 0, control: controlOptions = {} }: NetsuiteAccountOptions,
): Promise<Listeners> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, app);
  const url = await listen(server, host, port);
  let control: ControlServer | undefined;
  const stop = async (): Promise<void> => {
    await control?.stop();
    await closeServer(server);
    await misbehaviour?.earlier.close();
  };
  try {
    if (misbehaviour)
      control = await startControlServer(
        createControl({ ...parts, misbehaviour, accountUrl: url }),
        controlOptions.port ?? 0,
      );
    return { url, control, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
  setIntegrationEnabled: credentials.setIntegrationEnabled,
  setAuthenticationTime: clock.set,
});

const timeSettings = (businessTime: () => Date, replay: Replay) => ({
  businessTime,
  setBusinessTime: replay.moveTo,
  advanceTo: replay.advanceTo,
  startReplay: replay.start,
  pauseReplay: replay.pause,
  daysLeft: replay.daysLeft,
});

type Behaviour = {
  faults: FaultInjector;
  governance: Governance;
  switches: Switches;
  features: Features;
  role: RoleVisibility;
};
const behaviourSettings = ({ faults, governance, switches, features, role }: Behaviour) => ({
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

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}
