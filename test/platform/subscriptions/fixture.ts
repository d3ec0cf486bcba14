import supertest from 'supertest';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import { createLog } from '../../../src/core/log.ts';
import type { JobWorker } from '../../../src/db/job-worker.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { startMailSender } from '../../../src/mail/index.ts';
import {
  type RunnerOptions,
  type SubscriptionRunner,
  startSubscriptions,
} from '../../../src/platform/subscriptions/runner.ts';
import { type InvoiceRow, loadInvoices, withReads } from '../../public/fixture.ts';
import { type Answer, type Api, createApi } from '../../setup/api.ts';
import { type TestDatabase, testClock, testDatabase, testSettings } from '../../setup/database.ts';
import { makeKey, makeMember, makeOrganization } from '../../setup/organization.ts';
import { type Delivered, startMailServer } from '../../setup/smtp.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';

export const minuteMs = 60_000;
/** Start of the test clock, at a full minute. */
const startOfClock = (): Date => new Date(Math.ceil(Date.now() / minuteMs) * minuteMs + 60 * minuteMs);

export const someInvoices: readonly InvoiceRow[] = [
  {
    ...{ id: 1, tranid: 'INV-1', total: '1234.50', trandate: '2026-01-31' },
    ...{ entity: '7', entityName: 'Ann & <b>Co</b>', paid: true },
  },
  {
    ...{ id: 2, tranid: 'INV-2', total: '-15.30', trandate: '2026-02-01' },
    ...{ entity: '8', entityName: '=1+1', paid: false },
  },
  { id: 3, tranid: 'INV-3', total: '12345678901234567890.10' },
];

/** For the top level of a test file: a view, and after each test no subscriptions and no mails. */
export function useDeliveries(body: object = {}) {
  const site = useStarted(openSubscriptionSite);
  const view = { id: '' };
  beforeAll(async () => {
    view.id = await site.view(body);
  });
  beforeEach(() => {
    site.mails.delivered.length = 0;
  });
  afterEach(async () => {
    await site.stopSenders();
    await site.as((tx) => tx('subscriptions').delete());
    // A retry that waits would become due during another test.
    await site.as((tx) => tx('jobs').delete());
    await site.as((tx) => tx('outgoing_mails').delete());
  });
  return { site, view };
}

/** Stores the ERP's labels of the fields. */
async function insertFieldLabels(ctx: Ctx, organizationId: string): Promise<void> {
  const [head, type] = [
    { name: 'invoice', label: 'Invoice' },
    { type: 'text', syncable: true },
  ];
  const fields = [
    { name: 'tranid', label: 'Document number', ...type },
    { name: 'total', label: 'Amount', ...type },
    { name: 'trandate', label: 'Date', ...type },
    { name: 'entity', label: 'Customer', ...type },
    { name: 'paid', label: 'Paid', ...type },
  ];
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('erp_record_types').insert({
      ...{ organization_id: organizationId, name: 'invoice', position: 0, head },
      ...{ description: JSON.stringify({ ...head, fields }), described_at: '2026-03-02T10:00:00Z' },
    }),
  );
}

export type Delivery = {
  id: string;
  slot: string;
  recipient: string;
  status: string;
  error: string | null;
  messageId: string;
  records: number;
};

/** `database`: another one, with the machine's clock, which the caller closes. */
export async function openSubscriptionSite(given: { readonly database?: TestDatabase } = {}) {
  const clock = testClock(startOfClock());
  const mails = await startMailServer();
  const settings = {
    publicUrl: 'https://portal.example.test',
    mail: { ...testSettings.mail, smtpUrl: mails.url },
  };
  const database = given.database ?? (await testDatabase({ settings, clock }));
  const lines: string[] = [];
  const ctx: Ctx = {
    ...database.ctx,
    log: createLog('trace', { write: (line: string) => void lines.push(line) }),
  };
  const makeApi = async (createdBy?: string): Promise<Api> => {
    const scopes = { permissions: ['write'], ...(createdBy !== undefined && { createdBy }) };
    return createApi(app, (await makeKey(ctx, organization.id, scopes)).secret);
  };
  const app = createApp(ctx);
  const organization = await makeOrganization(ctx, { name: 'Aster & Sons' });
  const owner = await makeApi();
  await loadInvoices(ctx, organization.id, someInvoices);
  await insertFieldLabels(ctx, organization.id);
  const runners: SubscriptionRunner[] = [];
  let senders: JobWorker[] = [];
  const create = async (api: Api, path: string, body: object): Promise<{ id: string }> => {
    const answer = await api('post', path, body);
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  };
  const deliveries = async (id: string): Promise<Delivery[]> =>
    (await owner('get', `/subscriptions/${id}/deliveries?pageSize=100`)).body.data;
  const mailsTo = (address: string): Delivered[] => mails.delivered.filter(({ to }) => to.includes(address));
  const listStatuses = (found: readonly Delivery[]) => found.map(({ status }) => status);
  const site = {
    ctx,
    database,
    clock,
    app,
    mails,
    lines,
    organization,
    owner,
    as: <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      inTransaction({ db: ctx.db, organizationId: organization.id }, work),
    /** Starts another runner on the same database; `close` stops it. */
    run: (options: RunnerOptions = {}, own = ctx): SubscriptionRunner => {
      const runner = startSubscriptions(withReads(own), { pollMs: 100, ...options });
      runners.push(runner);
      return runner;
    },
    /** Runs one process until nothing is due, and stops it. It polls once, not again when a retry becomes due. */
    tick: async (options: RunnerOptions = {}): Promise<void> => {
      const runner = startSubscriptions(withReads(ctx), { pollMs: 60 * minuteMs, ...options });
      await runner.tick();
      await runner.stop();
    },
    /**
     * Starts a mail sender with long timeouts: a mail whose final response is late would get the status
     * `unknown`.
     */
    send: (smtpUrl = mails.url): JobWorker => {
      const limits = { connectMs: 30_000, envelopeMs: 30_000, dataMs: 30_000, stopMs: 200 };
      const sender = startMailSender(
        { ...ctx, settings: { ...ctx.settings, mail: { ...ctx.settings.mail, smtpUrl } } },
        { pollMs: 50, leaseMs: 60_000, retryDelaysMs: Array.from({ length: 50 }, () => 50), limits },
      );
      senders.push(sender);
      return sender;
    },
    stopSenders: async () => {
      for (const sender of senders) await sender.stop();
      senders = [];
    },
    member: async (role: string | readonly string[]) => {
      const { id } = await makeMember(ctx, organization.id, role);
      return { id, api: await makeApi(id) };
    },
    view: async (body: object = {}, api = owner): Promise<string> => {
      const columns = ['tranid', 'entity.name', 'trandate', 'total'];
      const sort = [{ field: 'tranid', direction: 'asc' }];
      const view = { name: 'Open invoices', recordType: 'invoice', columns, sort, ...body };
      return (await create(api, '/views', view)).id;
    },
    subscribe: (body: { viewId: string } & Record<string, unknown>, api = owner) =>
      create(api, '/subscriptions', {
        ...{ schedule: '* * * * *', recipients: ['ada@example.test'] },
        ...body,
      }),
    deliveries,
    /** Waits until the deliveries have these statuses, in any order. */
    settled: (id: string, statuses: readonly string[]): Promise<Delivery[]> =>
      until(async () => {
        const found = await deliveries(id);
        return listStatuses(found).sort().join() === [...statuses].sort().join() && found;
      }).catch(async () => {
        throw new Error(`not ${statuses.join()}: ${JSON.stringify(await deliveries(id))}`);
      }),
    /** Runs what is due, starts a mail sender, and waits until the deliveries have these statuses. */
    deliver: async (id: string, statuses: readonly string[] = ['sent']): Promise<Delivery[]> => {
      await site.tick();
      site.send();
      return site.settled(id, statuses);
    },
    mailsTo,
    /** The first mail to this address; `file` is the text of its attachment. */
    readMail: (address = 'ada@example.test') => {
      const { subject = '', html = '', text = '', attachments = [] } = mailsTo(address)[0]?.mail ?? {};
      const [content] = attachments.map((each) => Buffer.from(each.content as ArrayBuffer).toString('utf8'));
      return { subject, html, text, attachments, file: content ?? '' };
    },
    /** The address in the List-Unsubscribe header of the newest mail to this address. */
    findLink: (address: string): string =>
      /^<([^>]+)>$/.exec(
        mailsTo(address)
          .at(-1)
          ?.mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '',
      )?.[1] ?? '',
    visit: async (
      method: 'get' | 'post',
      link: string,
      headers: Record<string, string> = {},
      body?: string,
    ): Promise<Answer> => {
      const request = supertest(app)[method](link.replace(settings.publicUrl, '')).set(headers);
      return body === undefined ? request : request.send(body);
    },
    close: async () => {
      for (const runner of runners) await runner.stop();
      for (const sender of senders) await sender.stop();
      await mails.close();
      if (given.database === undefined) await database.close();
    },
  };
  return site;
}
export type SubscriptionSite = Awaited<ReturnType<typeof openSubscriptionSite>>;
/** The names by which test/access knows them. */
export { openSubscriptionSite as subscriptionFixture, type SubscriptionSite as Fixture };
