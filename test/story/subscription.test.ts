// A view of the demo's invoices sent by mail: two people are subscribed, both get a mail at the scheduled
// minute, one of them unsubscribes by the link in the mail, and the next slot sends one mail. Real ERP
// account, real sync, real SMTP server; the clock is the test's.
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobWorker } from '../../src/db/job-worker.ts';
import { startMailSender } from '../../src/mail/index.ts';
import { type SubscriptionRunner, startSubscriptions } from '../../src/platform/subscriptions/runner.ts';
import { type Scheduler, startScheduler } from '../../src/sync/index.ts';
import { withReads } from '../public/fixture.ts';
import type { Api } from '../setup/api.ts';
import { testClock } from '../setup/database.ts';
import { makeSession } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const clock = testClock(new Date());
const site = useOrganization({
  name: 'Wholesale & Co',
  erp: {},
  mail: true,
  settings: { publicUrl: 'https://portal.example.test' },
  alter: (ctx) => ({ ...ctx, clock }),
});
let scheduler: Scheduler;
let runner: SubscriptionRunner;
let sender: JobWorker;

beforeAll(() => {
  // The ERP uses the machine's time, and checks when an assertion was signed.
  scheduler = startScheduler(site.database.ctx);
  runner = startSubscriptions(withReads(site.ctx));
  sender = startMailSender(site.ctx);
});
afterAll(() => Promise.all([runner.stop(), sender.stop(), scheduler.stop()]));

async function good(...args: Parameters<Api>): Promise<Awaited<ReturnType<Api>>['body']> {
  const answer = await site.api(...args);
  expect(answer.status, `${args[0]} ${args[1]} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

type Delivery = { recipient: string; status: string; records: number; messageId: string };
const settled = (id: string, wanted: readonly string[]): Promise<Delivery[]> =>
  until(async () => {
    const { data } = await good('get', `/subscriptions/${id}/deliveries`);
    const statuses = data.map(({ status }: Delivery) => status).sort();
    return statuses.join() === [...wanted].sort().join() ? data : undefined;
  });
/** Sets the clock and waits until the runner has polled. */
async function timeBecomes(instant: string, offsetMs = 0): Promise<void> {
  clock.advance(Date.parse(instant) + offsetMs - clock.now().getTime());
  await runner.tick();
}

describe('a view by mail', () => {
  let id: string;
  let total: number;

  it('is saved over the synced invoices', async () => {
    await site.erp.connect(site.api);
    await good('post', '/netsuite/metadata/refresh');
    const config = await good('post', '/sync-configs', {
      name: 'Invoices',
      recordType: 'invoice',
      fields: ['tranid', 'trandate', 'entity', 'currency', 'foreignamountunpaid'],
    });
    const run = await good('post', `/sync-configs/${config.id}/trigger`, {});
    await until(async () => (await good('get', `/sync-runs/${run.id}`)).status === 'succeeded');
    const view = await good('post', '/views', {
      name: 'Unpaid invoices',
      recordType: 'invoice',
      columns: ['tranid', 'trandate', 'entity.name', 'foreignamountunpaid'],
      filters: [{ field: 'foreignamountunpaid', operator: 'gt', value: 0 }],
      sort: [{ field: 'foreignamountunpaid', direction: 'desc' }],
    });
    total = (await good('get', `/views/${view.id}/records`)).pagination.total;
    expect(total).toBeGreaterThan(50);
    const recipients = ['ada@example.test', 'grace@example.test'];
    // The test's clock is frozen while the database's runs: there must be no scheduled minute between the
    // two.
    const schedule = clock.now().getUTCHours() < 12 ? '0 19 * * *' : '0 7 * * *';
    const made = await good('post', '/subscriptions', {
      viewId: view.id,
      schedule,
      timezone: 'Europe/London',
      recipients,
    });
    id = made.id;
  });

  it('is sent to both at the scheduled minute and not before', async () => {
    const { nextRunAt } = await good('get', `/subscriptions/${id}`);
    await timeBecomes(nextRunAt, -1_000);
    expect((await good('get', `/subscriptions/${id}/deliveries`)).data).toEqual([]);
    await timeBecomes(nextRunAt);
    const deliveries = await settled(id, ['sent', 'sent']);
    expect(site.mails.delivered.map(({ to }) => to[0]).sort()).toEqual([
      'ada@example.test',
      'grace@example.test',
    ]);
    const { viewId } = await good('get', `/subscriptions/${id}`);
    const [first] = (await good('get', `/views/${viewId}/records?pageSize=1`)).data;
    for (const { mail, to } of site.mails.delivered) {
      const delivery = deliveries.find(({ recipient }) => recipient === to[0]);
      expect(mail).toMatchObject({ messageId: delivery?.messageId, attachments: [] });
      expect(delivery?.records).toBe(total);
      expect(mail.subject).toBe(`Unpaid invoices: ${total.toLocaleString('en-US')} records`);
      expect(mail.html).toContain(`The first 50 of ${total.toLocaleString('en-US')} records. As of `);
      expect(mail.html?.match(/<tr><td/g)?.length).toBeGreaterThanOrEqual(50);
      expect(mail.text).toContain(`${first.tranid}`);
      expect(mail.text).toContain(first['entity.name']);
      const due = Number(first.foreignamountunpaid).toLocaleString('en-GB', {
        minimumFractionDigits: 2,
        maximumFractionDigits: 3,
      });
      expect(due).toMatch(/^\d+,\d{3}\.\d{2,3}$/);
      for (const part of [mail.html, mail.text]) {
        expect(part).toContain(`${due} GBP`);
        expect(part).toContain(`Download all ${total.toLocaleString('en-US')} records`);
        expect(part).toContain(`https://portal.example.test/api/platform/v1/views/${viewId}/records`);
      }
    }
    // A member who is signed in opens the link: their browser saves all records.
    const { token } = await makeSession(site.ctx, site.owner.id);
    const saved = await supertest(site.app)
      .get(`/api/platform/v1/views/${viewId}/records`)
      .set('cookie', `__Host-portal_session=${token}`)
      .set('accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8');
    expect([saved.status, saved.headers['content-disposition']]).toEqual([
      200,
      expect.stringContaining('Unpaid invoices.csv'),
    ]);
    expect(saved.text.trimEnd().split('\r\n')).toHaveLength(total + 1);
    await timeBecomes(nextRunAt, 30_000);
    expect((await good('get', `/subscriptions/${id}/deliveries`)).pagination.total).toBe(2);
  });

  it('ends for the recipient who follows the unsubscribe link; the next slot sends one mail and reports who was skipped', async () => {
    const [ada] = site.mails.delivered.filter(({ to }) => to[0] === 'ada@example.test');
    const link =
      /<https:\/\/portal\.example\.test(\/unsubscribe\?token=[\w-]{43})>/.exec(
        ada?.raw.replaceAll(/\r\n\s/g, ' ') ?? '',
      )?.[1] ?? '';
    const answer = await supertest(site.app).post(link).type('form').send('List-Unsubscribe=One-Click');
    expect([answer.status, answer.headers['location']]).toEqual([200, undefined]);
    const { recipients, nextRunAt } = await good('get', `/subscriptions/${id}`);
    expect(recipients.map(({ email, status }: { email: string; status: string }) => [email, status])).toEqual(
      [
        ['ada@example.test', 'unsubscribed'],
        ['grace@example.test', 'active'],
      ],
    );
    await timeBecomes(nextRunAt);
    const deliveries = await settled(id, ['sent', 'sent', 'sent', 'skipped']);
    expect(
      deliveries
        .slice(0, 2)
        .map(({ recipient, status }) => [recipient, status])
        .sort(),
    ).toEqual([
      ['ada@example.test', 'skipped'],
      ['grace@example.test', 'sent'],
    ]);
    expect(site.mails.delivered.filter(({ to }) => to[0] === 'grace@example.test')).toHaveLength(2);
    expect(site.mails.delivered).toHaveLength(3);
  });
});
