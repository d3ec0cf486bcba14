// `npm run demo`: shows the service at work on this machine alone. Starts PostgreSQL from npm, a simulated
// ERP account with real data and an identity provider; then an organization connects to the account, syncs
// its records and publishes v1.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { AccountInUse, type DayReport, type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import type { Config } from '../src/config.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import type { Settings } from '../src/core/settings.ts';
import type { Lifecycle } from '../src/core/work/lifecycle.ts';
import { closeDatabase, type OpenedDatabase, openDatabase } from '../src/open-database.ts';
import { CannotRun } from '../src/run-command.ts';
import { type Service, startService } from '../src/service.ts';
import { type CustomerToken, mintCustomerToken } from './customer-token.ts';
import { syncEveryRecordType } from './every-record-type.ts';
import { openClientStore } from './identity-provider/client-store.ts';
import { type IdentityProviderServer, startIdentityProvider } from './identity-provider/identity-provider.ts';
import { loadOrCreateSecrets } from './identity-provider/secrets.ts';
import { type DemoFile, ensureDemoKeys, readDemoFile, restoreBudget, writeDemoFile } from './keys.ts';
import { createManagementClient } from './management-client.ts';
import { addMembers, demoPeople, owner } from './people.ts';
import { enablePortal } from './portal.ts';
import { createProgressDisplay, type ProgressDisplay } from './progress.ts';
import { demoEndpoints } from './schema.ts';
import {
  configurePayments,
  connectNetsuite,
  ensureAgent,
  ensureMetadata,
  publishSchema,
  syncRecords,
} from './set-up.ts';
import { accountId, shippedData } from './shipped-data.ts';

/**
 * The shipped data are held back from this day on; the replay enters one day a minute. Other data
 * (`DEMO_DATA`) are loaded at once.
 */
const replayFrom = '2011-08-22';

/** Prints what the next scheduled runs will sync. */
function logDay(day: string, { inserted, daysLeft }: DayReport): void {
  const left =
    daysLeft === 0
      ? 'That was the last day of the data: no new transactions from now on.'
      : `${daysLeft} days left.`;
  console.log(`Entered ${day}: ${inserted.transaction} transactions. ${left}`);
}

/**
 * Starts at the port of the previous run if it is free, so that copied addresses keep working; at any free
 * port otherwise.
 */
async function startAtPreviousPort<T>(
  knownUrl: string | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  const port = knownUrl === undefined ? 0 : Number(new URL(knownUrl).port);
  return start(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return start(0);
  });
}

const rivalTimeoutMs = 5_000;

/**
 * Which demo runs in this folder already: the one of its file if that answers to its key, otherwise one that
 * is still starting.
 */
async function describeRival({ DATA_DIR }: Config, known: DemoFile | undefined): Promise<CannotRun> {
  const isServing =
    known !== undefined &&
    (await fetch(`${known.baseUrl}/api/platform/v1/whoami`, {
      headers: { authorization: `Bearer ${known.managementKey}` },
      signal: AbortSignal.timeout(rivalTimeoutMs),
    }).then(
      ({ status }) => status === 200 || status === 429,
      () => false,
    ));
  return new CannotRun(
    isServing
      ? `The demo is already running at ${known.baseUrl}. Its keys are in ${DATA_DIR}/demo.json. To start another one, set DATA_DIR to another folder.`
      : `Another process is starting the demo in ${DATA_DIR}. Wait until it says that the service is ready, or stop it with Ctrl-C.`,
  );
}

async function startAccount(
  opened: OpenedDatabase,
  config: Config,
  known: DemoFile | undefined,
  { progress, verbose }: { progress: ProgressDisplay; verbose: boolean },
): Promise<NetsuiteAccount> {
  if (opened.embedded === undefined)
    throw new Error('The demo needs its embedded PostgreSQL, which was not started.');
  progress.startStep('Starting the simulated NetSuite account');
  const options = {
    admin: opened.embedded.connection,
    database: 'netsuite_account',
    dataFolder: config.DEMO_DATA ?? shippedData,
    ...(config.ERP_PROFILE !== 'none' && { profile: config.ERP_PROFILE }),
    ...(config.DEMO_DATA === undefined && { replayFrom }),
    ...(verbose && { onDay: logDay }),
    accountId,
    onProgress: (_step: string, done: number, total: number) => progress.showPart(done, total),
  };
  return startAtPreviousPort(known?.netsuiteUrl, (port) =>
    startAtPreviousPort(known?.erpControl?.url, (controlPort) =>
      startNetsuiteAccount({ ...options, port, control: { port: controlPort } }),
    ),
  );
}

async function startDemoIdentityProvider(
  config: Config,
  known: DemoFile | undefined,
): Promise<IdentityProviderServer> {
  const secrets = await loadOrCreateSecrets(config.DATA_DIR);
  const clients = await openClientStore(path.join(config.DATA_DIR, 'identity-provider-clients.json'));
  const options = {
    people: demoPeople,
    agentFor: owner.id,
    secrets,
    clients,
    nowMs: systemClock.monotonicMs,
  };
  return startAtPreviousPort(known?.identityProviderUrl, (port) =>
    startIdentityProvider({ ...options, port }),
  );
}

/** A shell command that prints an agent's access token. */
function agentTokenCommand({ settings, agent }: IdentityProviderServer): string {
  const grant = `-d grant_type=client_credentials -d scope=portal:read -d resource=${settings.audience}`;
  return `curl -s -u '${agent.id}:${agent.secret}' ${grant} '${agent.tokenUrl}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'`;
}

/**
 * Commands of a customer's token; empty when the version was published before the demo had scopable fields.
 */
function customerText({ tenantId, baseUrl, version }: DemoFile, minted: CustomerToken | undefined): string {
  if (minted === undefined) return '';
  return `
Read as one customer: this token, valid for an hour, sees the invoices, credit memos and master data of ${minted.customerName} alone (docs/record-access.md):

  curl -H 'Authorization: Bearer ${minted.token}' -H 'x-tenant-id: ${tenantId}' '${baseUrl}/api/public/${version}/invoices?pageSize=2'
`;
}

/** Commands that read as the key: lists, a filtered list, a summary. */
const readingText = (api: string, headers: string): string =>
  [
    '/invoices?pageSize=2',
    '/invoices?amountDue_gt=0&date_after=2011-08-15&sort=amountDue&order=desc&pageSize=3&fields=number,date,customerName,amountDue',
    '/invoices/summary?sum=amountDue&by=customerName&by=currency&sort=-sum.amountDue&limit=3',
    '/customers?pageSize=2',
  ]
    .map((address) => `  curl ${headers} '${api}${address}'`)
    .join('\n');

/** Its first page signs in where no others can reach it: with HOST=0.0.0.0, for one, it doesn't. */
export const consoleText = ({ url, hasDemoSignIn }: Pick<Service, 'url' | 'hasDemoSignIn'>): string =>
  `The console is at ${url}${hasDemoSignIn ? '   (its first page signs you in)' : ''}`;

const agentText = (platform: string, managing: string, agentId: DemoFile['agentId']): string =>
  `Ask the agent (docs/agents.md has more):

  CONVERSATION=$(${managing} '${platform}/agents/${agentId}/conversations' -d '{}' | sed 's/.*"id":"\\([^"]*\\)","agentId.*/\\1/') \\
    && ${managing} -N -H 'Accept: text/event-stream' "${platform}/conversations/$CONVERSATION/messages" -d '{"content":"How many invoices are open?"}'
`;

/** Everything to try, for `--verbose`. */
function verboseText(
  file: DemoFile,
  token: CustomerToken | undefined,
  identityProvider: IdentityProviderServer,
  dataDir: string,
): string {
  const { baseUrl, tenantId, apiKey, managementKey, version, agentId, netsuiteUrl, erpControl } = file;
  const agentToken = `$(${agentTokenCommand(identityProvider)})`;
  const [api, platform] = [`${baseUrl}/api/public/${version}`, `${baseUrl}/api/platform/v1`];
  const managing = `curl -s -H 'Authorization: Bearer ${managementKey}' -H 'Content-Type: application/json'`;
  const headers = `-H 'Authorization: Bearer ${apiKey}' -H 'x-tenant-id: ${tenantId}'`;
  return `
  tenant id        ${tenantId}
  API key          ${apiKey}   (reads)
  management key   ${managementKey}   (reads and writes)
  simulated ERP    ${netsuiteUrl}
  its control page ${erpControl?.url}/#token=${erpControl?.token}
  sign-in          ${identityProvider.issuer}   (the demo's identity provider)
  MCP              ${baseUrl}/mcp   (clients open a page to sign you in)
  all of this      ${dataDir}/demo.json

Try it:

${readingText(api, headers)}
  curl -H 'Authorization: Bearer ${managementKey}' '${baseUrl}/api/platform/v1/whoami'
${customerText(file, token)}
${agentText(platform, managing, agentId)}
Pay an invoice on a test page: docs/pay.md has the commands.

Mails (such as invitations) are written to ${dataDir}/outbox as .eml files.

Sign in as another of the demo's people, without a password (owner@, editor@, viewer@ or newcomer@demo.example):

  ${baseUrl}/auth/login?prompt=login

Or as an agent that reads on the owner's behalf, with a token from the identity provider:

  curl -H "Authorization: Bearer ${agentToken}" '${baseUrl}/api/platform/v1/whoami'

Reference pages:

  public interface       ${baseUrl}/api/public/openapi/${version}/preview#tenant=${tenantId}
  management interface   ${baseUrl}/api/platform/v1/openapi/preview
`;
}

/** What the start prints last, the address at the end. */
const readyText = (service: Service, dataDir: string, daysLeft: number): string => `
${
  daysLeft === 0
    ? 'The data hold no more days: no new transactions from now on.'
    : `The account enters one more day of transactions each minute, and the scheduled syncs load it: ${daysLeft} days to come.`
}
Keys and addresses are in ${dataDir}/demo.json; mails are written to ${dataDir}/outbox.
Commands to try are in README.md; npm run demo -- --verbose prints more.
Stop with Ctrl-C; the data are kept in ${dataDir}.

The portal of its customers is at ${service.url}/portal/demo
${consoleText(service)}`;

type Parts = {
  service: Service;
  account: NetsuiteAccount;
  known: DemoFile | undefined;
  progress: ProgressDisplay;
  syncsAll: boolean;
  /** Whether the account has a profile. */
  hasBooks: boolean;
};

async function setUp({ service, account, known, progress, syncsAll, hasBooks }: Parts) {
  const { ctx, url, localUrl } = service;
  const keys = await ensureDemoKeys(ctx, known);
  await addMembers(ctx, keys.tenantId);
  const call = createManagementClient(localUrl, keys.managementKey);
  progress.startStep('Connecting to the account by OAuth 2.0');
  await connectNetsuite(call, account);
  progress.startStep('Reading its metadata');
  await ensureMetadata(call);
  await syncRecords(ctx, keys.tenantId, { call, progress, hasBooks });
  await configurePayments(call);
  const version = await publishSchema(ctx, keys.tenantId, call, progress);
  const agentId = await ensureAgent(ctx, call, version);
  progress.startStep('Opening the portal of its customers');
  await restoreBudget(ctx, keys);
  await enablePortal(ctx, keys.tenantId, { call, hasBooks, agentId });
  const customerToken = await mintCustomerToken({ url: localUrl, ...keys, version });
  const restore = () => restoreBudget(ctx, keys);
  if (syncsAll) await syncEveryRecordType({ ctx, organizationId: keys.tenantId, call, progress }, restore);
  await restore();
  return {
    baseUrl: url,
    ...keys,
    version,
    customerToken,
    resources: demoEndpoints.map(({ name }) => name),
    agentId,
    netsuiteUrl: account.url,
    erpControl: account.control,
  };
}

/** `oidc` is the demo's own identity provider, `erpHost` the host of its simulated account. */
const demoSettings = (settings: Settings, oidc: Settings['oidc'], erpHost: string): Settings => ({
  ...settings,
  allowSignup: true,
  oidc,
  erp: {
    ...settings.erp,
    allowedHosts: [erpHost, ...settings.erp.allowedHosts],
    allowPrivateHosts: true,
  },
  // One payout a minute: the replay enters one day a minute.
  sandbox: { ...settings.sandbox, payoutEveryMs: 60_000 },
  // The demo runs alone with its own ERP: a killed process's runs may be resumed within seconds, and the ERP
  // needs no sparing.
  sync: { ...settings.sync, leaseMs: 4_000, renewMs: 1_000, retryBaseMs: 500, retryMaxMs: 5_000 },
});

const openAccount = (
  life: Lifecycle,
  ...[opened, config, known, shown]: Parameters<typeof startAccount>
): Promise<NetsuiteAccount> =>
  life.open(
    () =>
      startAccount(opened, config, known, shown).catch(async (error: unknown) => {
        throw error instanceof AccountInUse ? await describeRival(config, known) : error;
      }),
    (running) => running.stop(),
  );

/**
 * Starts everything, sets the organization up until v1 is served, and prints where it is; with `verbose`
 * also each step, what to try and each day that the account enters. `life` closes what
 * was opened. Throws `CannotRun` when another process runs the demo in this folder, and an Error when
 * NODE_ENV is production, and when a start or a set-up step fails.
 */
export async function startDemo(config: Config, life: Lifecycle, verbose: boolean): Promise<void> {
  if (config.NODE_ENV === 'production')
    throw new Error(
      'The demo is not for production. Unset NODE_ENV=production, or start the service with npm start.',
    );
  const progress = createProgressDisplay(process.stdout, verbose);
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
  try {
    progress.startStep('Starting PostgreSQL');
    const own = { DATA_DIR: config.DATA_DIR };
    const opened = await life.open(() => openDatabase(own), closeDatabase);
    const known = await readDemoFile(config.DATA_DIR);
    const account = await openAccount(life, opened, config, known, { progress, verbose });
    const identityProvider = await life.open(
      () => startDemoIdentityProvider(config, known),
      (running) => running.stop(),
    );
    progress.startStep('Starting the service');
    const settings = demoSettings(config.settings, identityProvider.settings, new URL(account.url).host);
    const log = createLog(config.LOG_LEVEL === 'info' ? 'warn' : config.LOG_LEVEL);
    const service = await life.open(
      () =>
        startService({ ...config, settings }, opened, log, { ...owner, businessTime: account.businessTime }),
      (running) => running.stop(),
    );
    identityProvider.startServing(service.ctx.settings.publicUrl);
    const syncsAll = config.DEMO_RECORD_TYPES === 'all';
    const hasBooks = config.ERP_PROFILE !== 'none';
    const { customerToken, ...made } = await setUp({ service, account, known, progress, syncsAll, hasBooks });
    const file: DemoFile = { ...made, identityProviderUrl: identityProvider.issuer };
    progress.end();
    await writeDemoFile(config.DATA_DIR, file);
    if (verbose) console.log(verboseText(file, customerToken, identityProvider, config.DATA_DIR));
    console.log(readyText(service, config.DATA_DIR, account.daysLeft()));
    account.startReplay();
  } finally {
    progress.end();
  }
}
