// The background work of the soak test: an organization whose syncs run against the simulated ERP over and
// over, and which sends invitations by mail. Every run that doesn't succeed and every failed call is recorded
// as an error.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createManagementClient, type ManagementCall } from '../demo/management-client.ts';
import { connectNetsuite, ensureMetadata } from '../demo/set-up.ts';
import type { MailServer } from '../test/setup/smtp.ts';
import { type ErpProcess, startErpProcess } from './erp-process.ts';
import { createBenchOrganization } from './organization.ts';
import type { Database } from './workspace.ts';

const recordTypes = ['customer', 'item', 'invoice', 'creditMemo'];
const shippedData = fileURLToPath(new URL('../demo/data', import.meta.url));
const anything = z.unknown();
const Identified = z.object({ id: z.string() });
const Roles = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) });
const Run = z.object({ status: z.string(), error: z.object({ message: z.string() }).nullable() });
const timeoutMs = 120_000;
/** An organization may send a thousand invitations a day; this stays below. */
const mailEveryMs = (minutes: number): number => Math.max(1_500, (minutes * 60_000) / 900);
/** Between the end of one round of syncs and the start of the next. */
const pauseMs = 2_000;

export const startErp = ({ adminAddress }: Database): Promise<ErpProcess> =>
  startErpProcess({
    admin: adminAddress,
    database: 'netsuite_account',
    dataFolder: shippedData,
    accountId: 'TSTDRV1234567',
  });

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function waitForSuccess(call: ManagementCall, runId: string): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const { status, error } = await call('GET', `/sync-runs/${runId}`, Run);
    if (status === 'succeeded') return;
    if (['failed', 'partial', 'cancelled'].includes(status))
      throw new Error(`A sync ended ${status}: ${error?.message ?? ''}`);
    if (performance.now() > untilMs) throw new Error(`A sync is still ${status} after ${timeoutMs} ms`);
    await sleep(100);
  }
}

export type BackgroundResult = {
  readonly runs: number;
  readonly mails: number;
  readonly delivered: number;
  readonly errors: readonly string[];
};

export type SoakOrganization = {
  readonly id: string;
  readonly key: string;
  /** Syncs and sends invitations until `stop`, which resolves with the counts and errors. */
  startWork(mail: MailServer, minutes: number): { stop(): Promise<BackgroundResult> };
};

export async function createSoakOrganization(
  { ctx }: Database,
  url: string,
  erp: ErpProcess,
): Promise<SoakOrganization> {
  const { id, key } = await createBenchOrganization(ctx);
  const call = createManagementClient(url, key);
  await connectNetsuite(call, erp);
  await ensureMetadata(call);
  const { data: roles } = await call('GET', `/organizations/${id}/roles`, Roles);
  const roleId = roles.find(({ name }) => name === 'viewer')?.id;
  const configs: string[] = [];
  for (const recordType of recordTypes)
    configs.push((await call('POST', '/sync-configs', Identified, { recordType, name: recordType })).id);
  const sync = async (): Promise<void> => {
    const runs = await Promise.all(
      configs.map((config) => call('POST', `/sync-configs/${config}/trigger`, Identified, {})),
    );
    for (const run of runs) await waitForSuccess(call, run.id);
  };
  await sync();
  const invite = (email: string): Promise<unknown> =>
    call('POST', `/organizations/${id}/invitations`, anything, { email, roleId });
  return {
    id,
    key,
    startWork: (mail, minutes) => startWork({ sync, runsPerSync: configs.length, invite, mail, minutes }),
  };
}

type Work = {
  sync(): Promise<void>;
  runsPerSync: number;
  invite(email: string): Promise<unknown>;
  mail: MailServer;
  minutes: number;
};

function startWork({ sync, runsPerSync, invite, mail, minutes }: Work): {
  stop(): Promise<BackgroundResult>;
} {
  const errors: string[] = [];
  const counts = { runs: 0, mails: 0 };
  const deliveredBefore = mail.delivered.length;
  let stopped = false;
  const repeat = async (everyMs: number, what: () => Promise<unknown>): Promise<void> => {
    while (!stopped) {
      await what().catch((error: unknown) => errors.push(String(error)));
      await sleep(everyMs);
    }
  };
  const syncing = repeat(pauseMs, async () => {
    await sync();
    counts.runs += runsPerSync;
  });
  const inviting = repeat(mailEveryMs(minutes), async () => {
    counts.mails += 1;
    await invite(`guest-${deliveredBefore}-${counts.mails}@bench.example`);
  });
  const countDelivered = (): number => mail.delivered.length - deliveredBefore;
  return {
    async stop() {
      stopped = true;
      await Promise.all([syncing, inviting]);
      const untilMs = performance.now() + timeoutMs;
      while (countDelivered() < counts.mails && performance.now() < untilMs) await sleep(100);
      return { ...counts, delivered: countDelivered(), errors };
    },
  };
}
