// What a new timeline of the database server changes, and that exactly one of several callers changes it. The
// tests write another timeline as the last one into the table; test/scale has real failovers.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { findLastFailover } from '../../src/db/server-timeline.ts';
import { enqueueMail, layoutMail } from '../../src/mail/index.ts';

import { claimMail } from '../mail/claim-mail.ts';
import { useOrganization } from '../setup/use-organization.ts';

const minuteMs = 60_000;
const site = useOrganization();
let tenant: TenantCtx;
beforeAll(() => {
  tenant = { ...site.ctx, organizationId: site.id };
});
beforeEach(() => site.admin('server_timelines').delete());
afterEach(() => site.admin('outgoing_mails').delete());

const content = layoutMail({ title: 'Hello', paragraphs: ['Hello'] });
/** `timeline`: the one on which it was queued; null: before timelines were recorded. */
async function mail(columns: { timeline?: string | null; next_attempt_at?: Date } = {}): Promise<string> {
  const to = { address: 'ada@example.test' };
  const id = await site.sql((tx) =>
    enqueueMail(tx, tenant, { kind: 'test', to, subject: 'Hello', ...content }),
  );
  if (Object.keys(columns).length > 0) await site.admin('outgoing_mails').where({ id }).update(columns);
  return id;
}
const claim = () => claimMail(site.ctx);
const statuses = async (): Promise<Record<string, string>> => {
  const rows = await site.admin('outgoing_mails').select<{ id: string; status: string }[]>('id', 'status');
  return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
};
type Timeline = {
  timeline: string;
  seen_at: Date;
  survived_at: Date | null;
  alive_at: Date;
  restored: boolean;
};
const timelines = (): Promise<Timeline[]> => site.admin('server_timelines').orderBy('id').select('*');
const formerTimeline = (aliveAt = new Date(Date.now() - minuteMs)) =>
  site.admin('server_timelines').insert({ timeline: '000000AA', seen_at: new Date(0), alive_at: aliveAt });

describe('the first start', () => {
  it('on a new or an existing database only records the timeline', async () => {
    const earlier = await mail({ timeline: null });
    expect(await claim()).toBe(earlier);
    const seen = { seen_at: expect.any(Date), alive_at: expect.any(Date) };
    expect(await timelines()).toMatchObject([
      { timeline: '00000001', ...seen, survived_at: null, restored: false },
    ]);
    expect(await site.sql(findLastFailover)).toBeUndefined();
  });

  it('of several processes at once records it once', async () => {
    await Promise.all(Array.from({ length: 6 }, claim));
    expect(await timelines()).toHaveLength(1);
  });
});

describe('a new timeline', () => {
  it('makes exactly the mails unknown that were due, once, whoever sees it first', async () => {
    await formerTimeline();
    const soon = new Date(Date.now() + 60 * minuteMs);
    const due = [await mail({ timeline: '000000AA' }), await mail({ timeline: null })];
    const later = await mail({ timeline: '000000AA' });
    await site.admin('jobs').where({ key: later }).update({ due_at: soon });
    const queuedSince = await mail();
    const claimed = await Promise.all(Array.from({ length: 6 }, claim));
    expect(claimed.filter((id) => id !== undefined)).toEqual([queuedSince]);
    expect(await statuses()).toEqual({
      ...Object.fromEntries(due.map((id) => [id, 'unknown'])),
      [later]: 'queued',
      [queuedSince]: 'sending',
    });
    expect((await timelines()).map(({ timeline }) => timeline)).toEqual(['000000AA', '00000001']);
    const reasons = await site
      .admin('outgoing_mails')
      .where({ status: 'unknown' })
      .select('body', 'last_error');
    for (const row of reasons)
      expect(row).toEqual({ body: expect.any(String), last_error: expect.stringContaining('failed over') });
  });

  it('is compared with the last time at which the earlier one was in use, when the server was restarted since', async () => {
    const alive = new Date(Date.now() - 7 * minuteMs);
    await formerTimeline(alive);
    const failover = await site.sql(findLastFailover);
    expect(failover?.usedUntil).toEqual(alive);
    expect((await timelines())[1]?.survived_at).toEqual(alive);
    expect(Number(failover?.seenAt)).toBeGreaterThan(Number(alive));
    expect(await site.sql(findLastFailover)).toEqual(failover);
  });

  it('has every payment account listed from a day before, and the ERP asked for every payment that is not written yet', async () => {
    const own = { organization_id: site.id };
    const [account, payment] = [createId(), createId()];
    await site.admin('pay_accounts').insert({ ...own, id: account, provider: 'sandbox' });
    const paid = { account_id: account, customer_id: '1', currency: 'GBP', amount_minor: 1 };
    await site.admin('pay_payments').insert({ ...own, id: payment, ...paid });
    const document = { id: createId(), payment_id: payment, kind: 'payment', external_id: 'x' };
    await site.admin('pay_erp_documents').insert({ ...own, ...document });
    const alive = new Date(Date.now() - 7 * minuteMs);
    await formerTimeline(alive);
    await claim();
    expect(await site.admin('pay_accounts').first('looked_until')).toEqual({
      looked_until: new Date(alive.getTime() - 24 * 60 * minuteMs),
    });
    expect(await site.admin('jobs').where({ kind: 'pay_tasks' }).select('payload')).toEqual([
      { payload: { accountId: account, kind: 'account', subject: '' } },
    ]);
    expect(await site.admin('pay_erp_documents').first('attempts')).toEqual({ attempts: 1 });
  });
});

it('the time at which a timeline was in use moves on while the service asks its queues, at most every ten seconds', async () => {
  await claim();
  const [first] = await timelines();
  await claim();
  expect(await timelines()).toEqual([first]);
  await site.admin('server_timelines').update({ alive_at: new Date(Date.now() - minuteMs) });
  await claim();
  const [moved] = await timelines();
  expect(Number(moved?.alive_at)).toBeGreaterThanOrEqual(Number(first?.alive_at));
});
