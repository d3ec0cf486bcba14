// `npm run demo`: everything a newcomer needs to see the service at work, on this machine alone. PostgreSQL from npm, a simulated
// ERP account with real data, an organization that connects to it, syncs, and publishes v1.
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import type { Lifecycle } from '../core/lifecycle.ts';
import { openLog } from '../core/log.ts';
import { closeDatabase, type OpenDatabase, openDatabase, type Service, startService } from '../service.ts';
import { type IdentityProviderServer, startIdentityProvider } from './identity-provider/identity-provider.ts';
import { keptSecrets } from './identity-provider/secrets.ts';
import { type DemoFile, demoKeys, readDemoFile, writeDemoFile } from './keys.ts';
import { managementClient } from './management-client.ts';
import { type NetsuiteAccount, startNetsuiteAccount } from './netsuite/account.ts';
import type { DayReport } from './netsuite/replay.ts';
import { addMembers, demoPeople, owner } from './people.ts';
import { type Progress, showProgress } from './progress.ts';
import { demoEndpoints } from './schema.ts';
import { connect, makeAgent, publishSchema, readMetadata, setPayUp, syncRecords } from './set-up.ts';

const shippedData = fileURLToPath(new URL('./data', import.meta.url));
const accountId = 'TSTDRV1234567';
/** The shipped data's days from here on are held back: business time brings one a minute. Other data are loaded whole. */
const replayFrom = '2011-08-22';

/** Tells what scheduled runs will bring next; the first days come while the set-up is still talking. */
function announceDay(day: string, { inserted, daysLeft }: DayReport): void {
  const left = daysLeft === 0 ? "The shop's days have run out: nothing new comes from now on." : `${daysLeft} days left.`;
  console.log(`The shop's ${day} came in: ${inserted.transaction} transactions. ${left}`);
}

/** At the port of last time when it is free, so that pasted addresses go on working. */
async function atKnownPort<T>(knownUrl: string | undefined, start: (port: number) => Promise<T>): Promise<T> {
  const port = knownUrl === undefined ? 0 : Number(new URL(knownUrl).port);
  return start(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return start(0);
  });
}

async function startAccount(
  opened: OpenDatabase,
  config: Config,
  known: DemoFile | undefined,
  progress: Progress,
): Promise<NetsuiteAccount> {
  if (opened.embedded === undefined) throw new Error('the demo brings its own PostgreSQL');
  progress.step('Starting the simulated NetSuite account');
  const options = {
    admin: opened.embedded.connection,
    database: 'netsuite_account',
    dataFolder: config.DEMO_DATA ?? shippedData,
    ...(config.DEMO_DATA === undefined && { replayFrom }),
    onDay: announceDay,
    accountId,
    onProgress: (_step: string, done: number, total: number) => progress.part(done, total),
  };
  return atKnownPort(known?.netsuiteUrl, (port) => startNetsuiteAccount({ ...options, port }));
}

async function startSignIn(config: Config, known: DemoFile | undefined): Promise<IdentityProviderServer> {
  const secrets = await keptSecrets(config.DATA_DIR);
  const options = { people: demoPeople, agentFor: owner.id, secrets, nowMs: systemClock.monotonicMs };
  return atKnownPort(known?.identityProviderUrl, (port) => startIdentityProvider({ ...options, port }));
}

function tour(file: DemoFile, { settings, agent, issuer }: IdentityProviderServer, dataDir: string): string {
  const { baseUrl, tenantId, apiKey, managementKey, version, agentId, netsuiteUrl } = file;
  const grant = `-d grant_type=client_credentials -d scope=portal:read -d resource=${settings.audience}`;
  const token = `$(curl -s -u '${agent.id}:${agent.secret}' ${grant} '${agent.tokenUrl}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;
  const api = `${baseUrl}/api/public/${version}`;
  const platform = `${baseUrl}/api/platform/v1`;
  const managing = `curl -s -H 'Authorization: Bearer ${managementKey}' -H 'Content-Type: application/json'`;
  const headers = `-H 'Authorization: Bearer ${apiKey}' -H 'x-tenant-id: ${tenantId}'`;
  return `
The service is at ${baseUrl}

  tenant id        ${tenantId}
  API key          ${apiKey}   (reads)
  management key   ${managementKey}   (reads and writes)
  simulated ERP    ${netsuiteUrl}
  sign-in by       ${issuer}   (the demo's identity provider)
  all of this      ${dataDir}/demo.json

Try it:

  curl ${headers} '${api}/invoices?pageSize=2'
  curl ${headers} '${api}/invoices?amountDue_gt=0&date_after=2011-08-15&sort=amountDue&order=desc&pageSize=3&fields=number,date,customerName,amountDue'
  curl ${headers} '${api}/customers?pageSize=2'
  curl -H 'Authorization: Bearer ${managementKey}' '${baseUrl}/api/platform/v1/whoami'

Ask the agent (docs/agents.md has more):

  CONVERSATION=$(${managing} '${platform}/agents/${agentId}/conversations' -d '{}' | sed 's/.*"id":"\\([^"]*\\)","agentId.*/\\1/') \\
    && ${managing} -N -H 'Accept: text/event-stream' "${platform}/conversations/$CONVERSATION/messages" -d '{"content":"How many invoices are open?"}'

Pay an invoice on a test page: docs/pay.md has the commands.

Mails, invitations for one, are written to ${dataDir}/outbox as .eml files.

Sign in as owner@, editor@, viewer@ or newcomer@demo.example, without a password:

  ${baseUrl}/auth/login

Or as an agent that reads for the owner, with a token of the identity provider:

  curl -H "Authorization: Bearer ${token}" '${baseUrl}/api/platform/v1/whoami'

Reference pages:

  public interface       ${baseUrl}/api/public/openapi/${version}/preview#tenant=${tenantId}
  management interface   ${baseUrl}/api/platform/v1/openapi/preview

Stop with Ctrl-C; the data stay in ${dataDir}.
`;
}

async function setUp(service: Service, account: NetsuiteAccount, known: DemoFile | undefined, progress: Progress) {
  const { ctx, url, localUrl } = service;
  const keys = await demoKeys(ctx, known);
  await addMembers(ctx, keys.tenantId);
  const call = managementClient(localUrl, keys.managementKey);
  progress.step('Connecting to the account by OAuth 2.0');
  await connect(call, account);
  progress.step('Reading its metadata');
  await readMetadata(call);
  await syncRecords(ctx, keys.tenantId, call, progress);
  await setPayUp(call);
  const version = await publishSchema(ctx, keys.tenantId, call, progress);
  const agentId = await makeAgent(call, version);
  return { baseUrl: url, ...keys, version, resources: demoEndpoints.map(({ name }) => name), agentId, netsuiteUrl: account.url };
}

/** Serves once v1 answers; prints what to try. What it opens is closed by `life`. */
export async function startDemo(config: Config, life: Lifecycle): Promise<void> {
  if (config.NODE_ENV === 'production') throw new Error('the demo is not for production');
  const progress = showProgress(process.stdout);
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
  try {
    progress.step('Starting PostgreSQL');
    const own = { DATA_DIR: config.DATA_DIR, DATABASE_URL: undefined, WAREHOUSE_URL: undefined };
    const opened = await life.open(() => openDatabase(own), closeDatabase);
    const known = await readDemoFile(config.DATA_DIR);
    const account = await life.open(
      () => startAccount(opened, config, known, progress),
      (running) => running.stop(),
    );
    const identityProvider = await life.open(
      () => startSignIn(config, known),
      (running) => running.stop(),
    );
    progress.step('Starting the service');
    const settings = {
      ...config.settings,
      allowSignup: true,
      oidc: identityProvider.settings,
      erp: { ...config.settings.erp, allowedHosts: [new URL(account.url).host, ...config.settings.erp.allowedHosts] },
      // A payout a minute, as a day of the shop passes in one.
      sandbox: { ...config.settings.sandbox, payoutEveryMs: 60_000 },
      // A demo is one process with its ERP beside it: what a killed one was working on need not wait for another, nor the ERP be spared.
      sync: { ...config.settings.sync, leaseMs: 4_000, renewMs: 1_000, retryBaseMs: 500, retryMaxMs: 5_000 },
    };
    const log = openLog(config.LOG_LEVEL === 'info' ? 'warn' : config.LOG_LEVEL);
    const service = await life.open(
      () => startService({ ...config, ALLOW_PRIVATE_ERP_HOSTS: true, settings }, opened, log),
      (running) => running.stop(),
    );
    identityProvider.serve(service.ctx.settings.publicUrl);
    const file: DemoFile = { ...(await setUp(service, account, known, progress)), identityProviderUrl: identityProvider.issuer };
    progress.end();
    await writeDemoFile(config.DATA_DIR, file);
    console.log(tour(file, identityProvider, config.DATA_DIR));
    console.log(
      account.daysLeft() === 0
        ? "The shop's days have run out: nothing new comes from now on.\n"
        : `A day of the shop passes each minute, and a run of each sync brings it in: ${account.daysLeft()} days to come.\n`,
    );
    account.startBusinessTime();
  } finally {
    progress.end();
  }
}
