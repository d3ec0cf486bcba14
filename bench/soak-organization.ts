// What goes on behind the reads of a soak: an organization whose syncs run against the simulated ERP again and again, and whose
// invitations go out by mail. Everything that doesn't end well is an error.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Call, managementClient } from '../src/demo/management-client.ts';
import { connect, readMetadata } from '../src/demo/set-up.ts';
import type { MailServer } from '../test/setup/smtp.ts';
import { type ErpProcess, startErpProcess } from './erp-process.ts';
import { newOrganization } from './organization.ts';
import type { Database } from './workplace.ts';

const recordTypes = ['customer', 'item', 'invoice', 'creditMemo'];
const shippedData = fileURLToPath(new URL('../src/demo/data', import.meta.url));
const anything = z.unknown();
const Identified = z.object({ id: z.string() });
const Roles = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) });
const Run = z.object({ status: z.string(), error: z.object({ message: z.string() }).nullable() });
const patienceMs = 120_000;
/** An organization sends a thousand invitations a day at most, and this stays below. */
const mailEveryMs = (minutes: number): number => Math.max(1_500, (minutes * 60_000) / 900);
/** Between the end of one round of syncs and the next. */
const restMs = 2_000;

export const startErp = ({ adminAddress }: Database): Promise<ErpProcess> =>
  startErpProcess({ admin: adminAddress, database: 'netsuite_account', dataFolder: shippedData, accountId: 'TSTDRV1234567' });

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function ended(call: Call, runId: string): Promise<void> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const { status, error } = await call('GET', `/sync-runs/${runId}`, Run);
    if (status === 'succeeded') return;
    if (['failed', 'partial', 'cancelled'].includes(status)) throw new Error(`a sync ended ${status}: ${error?.message ?? ''}`);
    if (performance.now() > untilMs) throw new Error(`a sync is ${status} after ${patienceMs} ms`);
    await sleep(100);
  }
}

export type Background = { readonly runs: number; readonly mails: number; readonly delivered: number; readonly errors: readonly string[] };

export type SoakCompany = {
  readonly id: string;
  readonly key: string;
  /** Syncs and invites until told to stop; what it did and what went wrong. */
  work(mail: MailServer, minutes: number): { stop(): Promise<Background> };
};

export async function openSoakCompany({ ctx }: Database, url: string, erp: ErpProcess): Promise<SoakCompany> {
  const { id, key } = await newOrganization(ctx);
  const call = managementClient(url, key);
  await connect(call, erp);
  await readMetadata(call);
  const { data: roles } = await call('GET', `/organizations/${id}/roles`, Roles);
  const roleId = roles.find(({ name }) => name === 'viewer')?.id;
  const configs: string[] = [];
  for (const recordType of recordTypes)
    configs.push((await call('POST', '/sync-configs', Identified, { recordType, name: recordType })).id);
  const sync = async (): Promise<void> => {
    const runs = await Promise.all(configs.map((config) => call('POST', `/sync-configs/${config}/trigger`, Identified, {})));
    for (const run of runs) await ended(call, run.id);
  };
  await sync();
  return {
    id,
    key,
    work(mail, minutes) {
      const errors: string[] = [];
      const counts = { runs: 0, mails: 0 };
      const deliveredBefore = mail.delivered.length;
      let over = false;
      const again = async (everyMs: number, what: () => Promise<unknown>): Promise<void> => {
        while (!over) {
          await what().catch((error: unknown) => errors.push(String(error)));
          await sleep(everyMs);
        }
      };
      const syncing = again(restMs, async () => {
        await sync();
        counts.runs += configs.length;
      });
      const inviting = again(mailEveryMs(minutes), async () => {
        counts.mails += 1;
        const email = `guest-${deliveredBefore}-${counts.mails}@bench.example`;
        await call('POST', `/organizations/${id}/invitations`, anything, { email, roleId });
      });
      const arrived = (): number => mail.delivered.length - deliveredBefore;
      return {
        async stop() {
          over = true;
          await Promise.all([syncing, inviting]);
          const untilMs = performance.now() + patienceMs;
          while (arrived() < counts.mails && performance.now() < untilMs) await sleep(100);
          return { ...counts, delivered: arrived(), errors };
        },
      };
    },
  };
}
