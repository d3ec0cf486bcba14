// A simulated OData service: its data, its HTTP servers, and what makes it misbehave.
import { createServer } from 'node:http';
import { type AccountClock, createAccountClock } from 'netsuite-simulator/account-clock';
import { systemClock } from 'netsuite-simulator/clock';
import type { ControlAccess } from 'netsuite-simulator/control-server';
import { closeServer, listen } from 'netsuite-simulator/listen';
import { type Controls, startControl } from './control.ts';
import { createFaults } from './faults.ts';
import { businessCentral } from './profiles/business-central.ts';
import { generic } from './profiles/generic.ts';
import type { Profile } from './profiles/profile.ts';
import { sap } from './profiles/sap.ts';
import { type Bulk, createRecords, type Records } from './records.ts';
import { createServiceHandler, createTokenHandler, type ServiceParts } from './service.ts';
import { type Credentials, createSignIn, TOKEN_PATH } from './sign-in.ts';
import { createStore, type Store } from './store.ts';

const PROFILES = { businessCentral, sap, generic };
export type ProfileName = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as ProfileName[];

export type ODataSimulatorOptions = {
  profile: ProfileName;
  /** Records to begin with, by entity set, in this order: how many, or how. */
  generate?: Readonly<Record<string, number | Bulk>>;
  /** Business Central's companies; the first one is the default everywhere. Default: 1. */
  companies?: number;
  /** A file that keeps the records; with one that has some, nothing is generated. */
  journal?: string;
  /** Password, client secret or header. Random by default. */
  secret?: string;
  /** Below that of the profile. */
  maxPageSize?: number;
  port?: number;
  tokenPort?: number;
  /** Opens the control interface. */
  control?: { port?: number };
};

export type ODataSimulator = Controls & {
  /** Ends with a slash. */
  readonly serviceRoot: string;
  readonly credentials: Credentials;
  /** The path from the service root to the entity sets: empty, or `companies(…)/`. */
  readonly companyPath: string;
  readonly control: ControlAccess | undefined;
  stop(): Promise<void>;
};

function fill(
  records: Records,
  profile: Profile,
  { companies = 1, generate = {} }: ODataSimulatorOptions,
): void {
  if (records.hasJournal) return;
  if (profile.companies !== undefined) records.generate({ table: profile.companies }, { count: companies });
  for (const [table, bulk] of Object.entries(generate))
    records.generate({ table }, typeof bulk === 'number' ? { count: bulk } : bulk);
}

const MAX_RECENT = 100;
const LOOPBACK = '127.0.0.1';

function describeState({ faults, clock, requests }: Misbehaviour): object {
  const listed = faults.list();
  const counts: Record<string, number> = {};
  for (const { kind } of requests) counts[kind] = (counts[kind] ?? 0) + 1;
  return {
    faults: listed.map(({ fault }) => fault),
    hits: listed.map(({ hits }) => hits),
    clock: { now: clock.now().toISOString(), skewSeconds: clock.skewSeconds() },
    requests: counts,
    recent: requests.slice(-MAX_RECENT).reverse(),
  };
}

type Misbehaviour = Pick<ServiceParts, 'faults' | 'requests' | 'pages'> & { clock: AccountClock };

/** Service and token endpoint, on ports of their own. */
async function startServers(store: Store, misbehaviour: Misbehaviour, options: ODataSimulatorOptions) {
  const tokenServer = createServer();
  const tokenOrigin = await listen(tokenServer, LOOPBACK, options.tokenPort ?? 0);
  const signIn = createSignIn(store.profile, misbehaviour.clock, tokenOrigin + TOKEN_PATH, options.secret);
  const parts: ServiceParts = { store, signIn, ...misbehaviour };
  tokenServer.on('request', createTokenHandler(parts, TOKEN_PATH));
  const server = createServer(createServiceHandler(parts));
  const url = await listen(server, LOOPBACK, options.port ?? 0);
  const stop = async (): Promise<void> => {
    await Promise.all([closeServer(server), closeServer(tokenServer)]);
  };
  return { url, signIn, stop };
}

/** Rejects with the system's error when a port is taken. */
export async function startODataSimulator(options: ODataSimulatorOptions): Promise<ODataSimulator> {
  const { maxPageSize = Infinity } = options;
  const known = PROFILES[options.profile];
  const profile: Profile = { ...known, maxPageSize: Math.min(known.maxPageSize, maxPageSize) };
  const clock = createAccountClock(() => systemClock.now());
  const store = createStore(profile);
  const records = createRecords(store, clock, options.journal);
  fill(records, profile, options);
  const misbehaviour: Misbehaviour = { faults: createFaults(), requests: [], pages: new Map(), clock };
  const { url, signIn, stop } = await startServers(store, misbehaviour, options);
  const controls: Controls = {
    tables: profile.sets.map(({ name }) => name),
    records,
    clock,
    putFaults: (...faults) => misbehaviour.faults.put(faults),
    reset() {
      misbehaviour.faults.put([]);
      misbehaviour.requests.length = 0;
      misbehaviour.pages.clear();
      clock.reset();
    },
    revokeTokens: () => signIn.revokeTokens(),
    requests: () => misbehaviour.requests,
    state: () => describeState(misbehaviour),
  };
  const control = options.control && (await startControl(controls, options.control.port ?? 0));
  return {
    ...controls,
    serviceRoot: `${url}${profile.root}`,
    credentials: signIn.credentials,
    companyPath: profile.companies === undefined ? '' : `${profile.companies}(${records.defaultCompany()})/`,
    control: control && { url: control.url, token: control.token },
    async stop() {
      await Promise.all([stop(), control?.stop()]);
    },
  };
}
