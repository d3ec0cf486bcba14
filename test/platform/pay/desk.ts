// An organization that takes payments at the sandbox for invoices of a simulated ERP, with the same invoices as last synced, and the
// queue of pay at hand: it works when the test says so.
import type { Express } from 'express';
import supertest from 'supertest';
import { createApp } from '../../../src/app.ts';
import type { Ctx, TenantCtx } from '../../../src/core/ctx.ts';
import { newId } from '../../../src/core/id.ts';
import { openLog } from '../../../src/core/log.ts';
import type { QueueWork } from '../../../src/db/queue-work.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { letTimePass } from '../../../src/gateways/payments/sandbox/let-time-pass.ts';
import { giveUpPaying, payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { signatureHeader, signWebhook } from '../../../src/gateways/payments/sandbox/webhook-signature.ts';
import { startPayWork } from '../../../src/platform/pay/pay-work.ts';
import { startWriteBack } from '../../../src/platform/pay/write-back.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type Answer, type Api, apiOf, base } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Books, openBooks } from './erp-books.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

export const mapping = {
  recordType: 'invoice',
  number: 'tranid',
  amountDue: 'foreignamountunpaid',
  currency: 'currency',
  customer: 'entity',
};
export const configBody = (given: object = {}) => ({ provider: 'sandbox', currency: 'GBP', invoices: mapping, ...given });
export const returns = { successUrl: 'http://127.0.0.1:1/paid', cancelUrl: 'http://127.0.0.1:1/no' };

export type Desk = {
  readonly books: Books;
  readonly app: Express;
  readonly ctx: TenantCtx;
  readonly api: Api;
  /** Of the key that `api` calls with. */
  readonly secret: string;
  readonly lines: string[];
  accountId: string;
  /** Throws unless the answer is good. */
  call(...args: Parameters<Api>): Promise<Answer['body']>;
  checkOut(invoices: readonly object[], given?: object): Promise<Answer['body']>;
  pay(checkout: { url: string }, card?: string): Promise<unknown>;
  giveUp(checkout: { url: string }): Promise<unknown>;
  /** As the sandbox tells it. */
  tell(event: object, headers?: Record<string, string>): Promise<supertest.Response>;
  /** What is due is asked of the provider, and these subjects too; then what the ERP is owed is written. The account's own is ''. */
  work(...subjects: readonly string[]): Promise<void>;
  paymentOf(checkout: { paymentId: string }): Promise<Answer['body']>;
  /** Puts an invoice where the last sync would have left it. */
  sync(id: string, due: string): Promise<unknown>;
  /** As if the last run could not take in what the ERP says of it now. */
  reject(id: string): Promise<unknown>;
  sql<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
};

/** The warehouse after a complete run: the fields that pay reads. */
export async function setWarehouse(ctx: TenantCtx): Promise<void> {
  await createTenantSchema(ctx, ctx.organizationId);
  const schema = tenantSchema(ctx.organizationId);
  await ctx.db.data.query(
    `create table ${schema}.invoice_1 (id bigint primary key, c1 text collate "C", c2 numeric, c3 text collate "C", c4 text collate "C", c5 text collate "C");
     insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
       values ('invoice', 'integer', 1, 0, gen_random_uuid(), 'invoice_1', now());
     insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position)
       values ('invoice', 'c1', 'tranid', 'value', 'text', 'live', 1), ('invoice', 'c2', 'foreignamountunpaid', 'value', 'number', 'live', 2),
         ('invoice', 'c3', 'entity', 'value', 'text', 'live', 3), ('invoice', 'c4', 'currency', 'value', 'text', 'live', 4),
         ('invoice', 'c5', 'currency', 'label', 'text', 'live', 5)`,
  );
}

const tokenOf = ({ url }: { url: string }): string => url.split('/').at(-1) ?? '';

type Opened = {
  readonly books: Books;
  readonly ctx: TenantCtx;
  readonly app: Express;
  readonly api: Api;
  readonly secret: string;
  readonly lines: string[];
};

function makeDesk({ books, ctx, app, api, secret, lines }: Opened, payWork: QueueWork, writeBack: QueueWork): Desk {
  const sql = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(ctx, work);
  const call: Desk['call'] = async (...args) => {
    const answer = await api(...args);
    if (answer.status >= 300) throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const desk: Desk = {
    books,
    app,
    ctx,
    api,
    secret,
    lines,
    accountId: '',
    call,
    sql,
    checkOut: (invoices, given = {}) => call('post', '/pay/checkout', { customerId: '1', invoices, ...returns, ...given }),
    pay: (checkout, card = 'approved') => payByCard(ctx, tokenOf(checkout), card),
    giveUp: (checkout) => giveUpPaying(ctx, tokenOf(checkout)),
    tell: async (event, headers) => {
      const body = Buffer.from(JSON.stringify(event));
      const signed = { [signatureHeader]: signWebhook(ctx, desk.accountId, body) };
      return supertest(app)
        .post(`${base}/pay/webhooks/sandbox/${desk.accountId}`)
        .set({ 'content-type': 'application/json', ...signed, ...headers })
        .send(body.toString());
    },
    work: async (...subjects) => {
      await sql((tx) =>
        tx('pay_tasks')
          .whereIn('subject', subjects)
          .update({ due_at: new Date(0) }),
      );
      await letTimePass(ctx, never);
      await payWork.settled();
      await writeBack.settled();
    },
    paymentOf: ({ paymentId }) => call('get', `/pay/payments/${paymentId}`),
    sync: (id, due) =>
      ctx.db.data.query(
        `insert into ${tenantSchema(ctx.organizationId)}.invoice_1 values ($1::bigint, 'INV', $2, '1', '1', 'GBP')
         on conflict (id) do update set c2 = excluded.c2`,
        [id, due],
      ),
    reject: (id) =>
      ctx.db.data.query(
        `insert into ${tenantSchema(ctx.organizationId)}.rejections (record_type, id, code, message, run_id) values ('invoice', $1, 'X', 'x', $2)`,
        [id, newId()],
      ),
    stop: async () => {
      await payWork.stop();
      await writeBack.stop();
      await books.stop();
    },
  };
  return desk;
}

export async function openDesk(): Promise<Desk> {
  const books = await openBooks();
  const lines: string[] = [];
  const ctx: Ctx = { ...books.database.ctx, log: openLog('debug', { write: (line: string) => void lines.push(line) }) };
  const tenant: TenantCtx = { ...ctx, organizationId: books.organizationId };
  const app = createApp(ctx);
  const { secret } = await makeKey(ctx, books.organizationId, { permissions: ['write'] });
  const opened = { books, ctx: tenant, app, api: apiOf(app, secret), secret, lines };
  await setWarehouse(tenant);
  const options = { pollMs: hour };
  const desk = makeDesk(opened, startPayWork(ctx, options), startWriteBack(ctx, options));
  await desk.call('post', '/netsuite/metadata/refresh');
  // Set up anew, as a first PUT does it.
  await desk.sql((tx) => tx('pay_configs').delete());
  await desk.sql((tx) => tx('pay_accounts').delete());
  const { webhookUrl } = await desk.call('put', '/pay/config', configBody());
  desk.accountId = webhookUrl.split('/').at(-1);
  return desk;
}

export const eventOf = (kind: 'session' | 'payout', id: string) => ({ id: newId(), type: 'test', object: { kind, id } });
