// A rolling upgrade: processes of the version before have their work and their leases in tables of their own, and
// claim with functions that they find in the database. Each piece of work is in one place at a time.
import { beforeEach, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { claimJob, enqueueJob, type JobKind } from '../../src/db/jobs.ts';
import { claimRun } from '../../src/sync/queue/runs.store.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization({ each: true });

type Work = {
  readonly table: string;
  /** How a process of the version before claims, with `now() + interval '1 minute'` as the end of the lease. */
  readonly claim: string;
  readonly key: string;
  readonly lease: string;
  insert(id: string): Promise<object>;
};
const own = () => ({ organization_id: site.id });
const minute = "interval '1 minute'";

const kinds: Partial<Record<JobKind, Work>> = {
  mails: {
    table: 'outgoing_mails',
    claim: `claim_outgoing_mail(gen_random_uuid(), ${minute})`,
    key: 'id',
    lease: 'lease_until',
    insert: async (id) => ({ id, kind: 'x', recipient: 'x', message_id: id, subject: 'x', body: 'x' }),
  },
  agent_checks: {
    table: 'agents',
    claim: `claim_agent_checks(1, ${minute})`,
    key: 'id',
    lease: 'lease_until',
    insert: async (id) => {
      await site.admin('api_schemas').insert({ ...own(), id, version: 'v9', created_by: site.owner.id });
      return { id, name: id, model: 'offline', api_version: 'v9' };
    },
  },
  sandbox_events: {
    table: 'sandbox_events',
    claim: `claim_sandbox_event(${minute})`,
    key: 'id',
    lease: 'next_attempt_at',
    insert: async (id) => ({ id, account_id: id, body: '{}' }),
  },
  pay_tasks: {
    table: 'pay_tasks',
    claim: `claim_pay_task(gen_random_uuid(), ${minute})`,
    key: "account_id || '/payment/x'",
    lease: 'lease_until',
    insert: async (id) => {
      await site.admin('pay_accounts').insert({ ...own(), id, provider: 'sandbox' });
      return { account_id: id, kind: 'payment', subject: 'x' };
    },
  },
  sync_runs: {
    table: 'sync_runs',
    claim: `claim_sync_run('older', ${minute})`,
    key: 'sync_config_id',
    lease: 'lease_until',
    insert: async (id) => {
      const config = { id, name: 'x', record_type: 'invoice', mode: 'full', deletions: 'none' };
      await site.admin('sync_configs').insert({ ...own(), ...config });
      return { id, sync_config_id: id, record_type: 'invoice', mode: 'full', trigger: 'manual' };
    },
  },
};

describe.each(Object.entries(kinds) as [JobKind, Work][])(
  '%s',
  (kind, { table, claim, key, lease, insert }) => {
    let id: string;
    const adopt = () => site.ctx.db.control.raw('select adopt_older_work()');
    const claimAsBefore = async (): Promise<number> =>
      (await site.ctx.db.control.raw<{ rows: object[] }>(`select * from ${claim}`)).rows.length;
    const claimNow = async (): Promise<string | undefined> =>
      kind === 'sync_runs'
        ? (await claimRun(site.ctx, 'newer', 60_000))?.runId
        : (await claimJob(site.ctx, kind, 60_000))?.key;
    const where = (tx = site.admin) => tx(table).where(own());
    beforeEach(async () => {
      id = createId();
      // Of earlier tests: claims at once may have adopted their work a second time, which no one could start.
      await site.admin(table).delete();
      await site.admin('jobs').where({ kind }).delete();
      await where().insert({ ...own(), ...(await insert(id)) });
    });

    it('that a process of the version before enqueued is claimed once, by either version', async () => {
      await adopt();
      const [row] = await where().select(site.admin.raw(`(${key})::text as key`));
      const expected: string = kind === 'pay_tasks' ? `${id}/payment/x` : row.key;
      const claims = await Promise.all([claimNow(), claimAsBefore(), claimNow(), claimAsBefore()]);
      expect(claims.filter((claimed) => claimed === expected || claimed === 1)).toHaveLength(1);
      expect(await claimNow()).toBeUndefined();
      expect(await claimAsBefore()).toBe(0);
    });

    it('that such a process holds is claimed when its lease has ended, and not before', async () => {
      expect(await claimAsBefore()).toBe(1);
      await adopt();
      expect(await claimNow()).toBeUndefined();
      // A minute later.
      await where().update({ [lease]: new Date(0) });
      await site
        .admin('jobs')
        .where(own())
        .update({ due_at: new Date(0) });
      await adopt();
      expect(await claimNow()).toBeDefined();
      expect(await claimAsBefore()).toBe(0);
    });

    it('that this version enqueued is claimed by one of the version before when no other lives', async () => {
      if (kind !== 'sandbox_events' && kind !== 'pay_tasks')
        await site.sql((tx) => enqueueJob(tx, { kind, organizationId: site.id, key: id }));
      expect(await claimAsBefore()).toBe(1);
      expect(await claimNow()).toBeUndefined();
    });
  },
);
