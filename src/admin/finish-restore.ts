// Makes a restored database fit for service. It knows only what it held when it was saved; ERP, callers, mail boxes and browsers have
// gone on since. What they hold of the time after must not be taken for what is here now, and what left must not leave again.
import type { Knex } from 'knex';
import { z } from 'zod';
import { inTransaction } from '../db/transaction.ts';
import { queryInstant } from '../http/fields.ts';
import { freeBegunRequests } from '../http/idempotency.ts';
import { endSessionsBefore } from '../identity/sessions.store.ts';
import { giveUpUnsent } from '../mail/index.ts';
import { skipVersionLabels } from '../platform/api-schemas/api-schemas.store.ts';
import { giveUpWaitingSlots } from '../platform/subscriptions/deliveries.store.ts';
import { scheduleFrom } from '../platform/subscriptions/subscriptions.store.ts';
import { type RestoredRuns, renewWarehouse, restartSyncs } from '../sync/index.ts';
import { type Admin, defineCommand, option, RefusedCommand } from './command.ts';
import { allOrganizations, auditOperator, type NamedOrganization } from './operator.ts';
import { textTable } from './text-table.ts';
import { showReport, verify } from './verify-restore.ts';

type Times = { readonly since: Date; readonly stopped: Date };
type Finished = {
  readonly slug: string;
  readonly tables: number;
  readonly runs: RestoredRuns;
  readonly mails: number;
  readonly slots: number;
};

async function databaseNow(owner: Knex): Promise<Date> {
  const { rows } = await owner.raw<{ rows: { now: Date }[] }>('select clock_timestamp() as now');
  return rows[0]?.now ?? new Date(0);
}

/** Everything of one organization outside its schema of records: all of it, or nothing. */
async function finishOrganization(
  { ctx }: Admin,
  { id, slug }: NamedOrganization,
  tables: number,
  { since, stopped }: Times,
  skip: number,
): Promise<Finished> {
  const tenant = { ...ctx, organizationId: id };
  const runs = await restartSyncs(tenant, since);
  return inTransaction(tenant, async (tx) => {
    const mails = await giveUpUnsent(tx, id, since);
    const slots = await giveUpWaitingSlots(tx, id, since);
    await scheduleFrom(tx, id, stopped);
    await skipVersionLabels(tx, id, skip);
    const changes = { since: since.toISOString(), stopped: stopped.toISOString(), tables, runs, mails, slots, skippedVersions: skip };
    await auditOperator(tx, id, { action: 'restore.finish', target: { type: 'organization', id }, changes });
    return { slug, tables, runs, mails, slots };
  });
}

async function timesOf(owner: Knex, given: { since?: Date | undefined; stopped?: Date | undefined }): Promise<Times> {
  const now = await databaseNow(owner);
  const { since = now, stopped = now } = given;
  if (since > now || stopped > now) throw new RefusedCommand('--since and --stopped must lie in the past');
  return { since, stopped };
}

const number = z
  .string()
  .regex(/^\d{1,3}$/, 'must be a whole number from 0 to 999')
  .default('10')
  .transform(Number);

const shown = ({ slug, tables, runs, mails, slots }: Finished) => ({
  organization: slug,
  'new epochs': tables,
  'runs cancelled': runs.cancelled,
  'runs released': runs.released,
  'runs queued': runs.queued,
  'mails given up': mails,
  'slots given up': slots,
});

export const finishRestore = defineCommand({
  name: 'finish-restore',
  summary: 'Makes a restored database fit for service. Run it once, before the first process starts.',
  about: `What the world holds of the time after the backup must not be taken for what is here now:
  - every table of records gets a new epoch: no entity tag fits any more, and change tokens are answered 410
  - sessions end: some may have been signed out since; people sign in again
  - requests under an Idempotency-Key that had begun and written nothing may be made again
  - mails and subscriptions that were unsent in the backup are not sent: they may have left since. They show as unknown or failed
  - subscriptions don't catch up on what was due before --stopped
  - the next ${'`'}--skip-versions${'`'} version labels are left out, since versions published after the backup had them
  - syncs that were under way end; each that is on gets a run, which compares every id and every changing field with the ERP
Then it does what ${'`'}verify-restore${'`'} does. Given again it does all of it again. If processes have served the restored database already, say
until when its rows are the backup's by --since. What it can't know is in docs/backup.md: what was revoked after the backup lives again.`,
  database: 'migrate',
  alone: true,
  given: z.strictObject({
    since: option(queryInstant.optional(), 'instant', 'when the backup was made; now unless told: nothing has been served from it yet'),
    stopped: option(queryInstant.optional(), 'instant', 'when the lost service stopped; now unless told'),
    skipVersions: option(number, 'number', 'version labels left out; 10 unless told, 0 if nothing published was lost'),
  }),
  async run(admin, { skipVersions, ...given }) {
    const { owner, ctx, say } = admin;
    const times = await timesOf(owner, given);
    const organizations = await allOrganizations(admin);
    // First of all what would give wrong answers.
    const tables = new Map<string, number>();
    for (const { id, slug } of organizations) {
      tables.set(id, await renewWarehouse({ ...ctx, organizationId: id }));
      say(`${slug}: new epochs`);
    }
    const sessions = await endSessionsBefore(owner, times.since);
    const requests = await freeBegunRequests(owner, times.since);
    const finished: Finished[] = [];
    for (const organization of organizations)
      finished.push(await finishOrganization(admin, organization, tables.get(organization.id) ?? 0, times, skipVersions));
    const report = await verify(admin);
    const ended = `${sessions} sessions ended, ${requests} begun requests freed.`;
    return {
      json: { since: times.since, stopped: times.stopped, sessions, requests, organizations: finished, verified: report },
      text: [textTable(finished.map(shown)), ended, '', showReport(report)].filter((part, index) => part !== '' || index > 0).join('\n'),
      left: report.problems.length > 0,
    };
  },
});
