// Prepares a restored database for service. The database has the state of the backup, while the ERP, API
// clients, mailboxes and browsers have the state of the time of the loss. State that clients got after the
// backup must not be accepted as current, and mails that were already sent must not be sent again.
import type { Knex } from 'knex';
import { z } from 'zod';
import { recordRestore } from '../db/server-timeline.ts';
import { inTransaction } from '../db/transaction.ts';
import { queryInstant } from '../http/fields.ts';
import { releaseUnfinishedRequests } from '../http/idempotency.store.ts';
import { endSessionsBefore } from '../identity/sessions.store.ts';
import { markUnsentUnknown } from '../mail/index.ts';
import { skipVersionLabels } from '../platform/api-schemas/api-schemas.store.ts';
import { checkAccountsAgain } from '../platform/pay/provider/accounts.store.ts';
import { askErpFirst } from '../platform/pay/write-back/erp-documents.store.ts';
import { failWaitingSlots } from '../platform/subscriptions/deliveries.store.ts';
import { setScheduledSince } from '../platform/subscriptions/subscriptions.store.ts';
import { withdrawRestored } from '../platform/webhooks/messages.store.ts';
import { type RestoredRuns, resetWarehouseEpochs, restartSyncs } from '../sync/index.ts';
import { type Admin, defineCommand, option, RefusedCommand } from './command.ts';
import { auditOperator, listAllOrganizations, type NamedOrganization } from './operator.ts';
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

/** Restarts an organization's syncs, and changes the rest of it, but for its records, in one transaction. */
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
    const mails = await markUnsentUnknown(tx, id, since);
    const slots = await failWaitingSlots(tx, id, since);
    await setScheduledSince(tx, id, stopped);
    await skipVersionLabels(tx, id, skip);
    await checkAccountsAgain(tx, id);
    await askErpFirst(tx, id);
    await withdrawRestored(tx, id);
    const changes = {
      since: since.toISOString(),
      stopped: stopped.toISOString(),
      tables,
      runs,
      mails,
      slots,
      skippedVersions: skip,
    };
    await auditOperator(tx, id, 'restore.finish', ['organization', id], changes);
    return { slug, tables, runs, mails, slots };
  });
}

/** Rejects with RefusedCommand for a time in the future. */
async function readTimes(
  owner: Knex,
  input: { since?: Date | undefined; stopped?: Date | undefined },
): Promise<Times> {
  const now = await databaseNow(owner);
  const { since = now, stopped = now } = input;
  if (since > now || stopped > now) throw new RefusedCommand('--since and --stopped must be in the past');
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
  'mails not sent': mails,
  'slots not sent': slots,
});

export const finishRestoreCommand = defineCommand({
  name: 'finish-restore',
  summary: 'Prepares a restored database for service. Run it once, before the first process starts.',
  about: `State that clients got after the backup must not be accepted as current:
  - every table of records gets a new epoch: entity tags no longer match, and requests with change tokens get 410
  - sessions end, because some may have been signed out since the backup; people sign in again
  - requests with an Idempotency-Key that had started but written nothing may be repeated
  - mails and subscriptions that were unsent in the backup are not sent, because they may have been sent since; they show as unknown or failed
  - payments of the time since the backup are entered again from the payment provider, and the ERP is asked before a payment is written
  - subscriptions don't catch up on what was due before --stopped
  - the next ${'`'}--skip-versions${'`'} version labels are skipped, because versions published after the backup had them
  - syncs in progress end; each enabled sync gets a run that compares every id and every changing field with the ERP
Then it does the same as ${'`'}verify-restore${'`'}. Running it again repeats all of it. If processes have already served the restored database,
pass the time of the backup as --since. docs/backup.md describes what the command can't know: credentials that were revoked after the
backup are valid again.`,
  database: 'migrate',
  exclusive: true,
  input: z.strictObject({
    since: option(
      queryInstant.optional(),
      'instant',
      'when the backup was made; default: now, as nothing has been served from it yet',
    ),
    stopped: option(queryInstant.optional(), 'instant', 'when the lost service stopped; default: now'),
    skipVersions: option(
      number,
      'number',
      'number of version labels to skip; default: 10; 0 if no published version was lost',
    ),
  }),
  async run(admin, { skipVersions, ...input }) {
    const { owner, ctx, progress } = admin;
    const times = await readTimes(owner, input);
    const organizations = await listAllOrganizations(admin);
    // The epochs first, because stale entity tags and change tokens would yield wrong responses.
    const tables = new Map<string, number>();
    for (const { id, slug } of organizations) {
      tables.set(id, await resetWarehouseEpochs({ ...ctx, organizationId: id }));
      progress(`${slug}: new epochs`);
    }
    await recordRestore(owner);
    const sessions = await endSessionsBefore(owner, times.since);
    const requests = await releaseUnfinishedRequests(owner, times.since);
    const finished: Finished[] = [];
    for (const organization of organizations)
      finished.push(
        await finishOrganization(admin, organization, tables.get(organization.id) ?? 0, times, skipVersions),
      );
    const report = await verify(admin);
    const ended = `${sessions} sessions ended, ${requests} unfinished requests released.`;
    return {
      json: {
        since: times.since,
        stopped: times.stopped,
        sessions,
        requests,
        organizations: finished,
        verified: report,
      },
      text: [textTable(finished.map(shown)), ended, '', showReport(report)]
        .filter((part, index) => part !== '' || index > 0)
        .join('\n'),
      incomplete: report.problems.length > 0,
    };
  },
});
