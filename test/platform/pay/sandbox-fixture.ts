// Fixture: an organization that takes payments at the sandbox for invoices of a simulated ERP, with the same
// invoices as synced data. The payment queue runs only when the test calls `work`.
import type { Express } from 'express';
import supertest from 'supertest';
import { createApp } from '../../../src/app.ts';
import type { Ctx, TenantCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { createLog } from '../../../src/core/log.ts';
import type { JobWorker } from '../../../src/db/job-worker.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { cancelPaySession, payByCard } from '../../../src/gateways/payments/sandbox/pay-session.ts';
import { processDueChanges } from '../../../src/gateways/payments/sandbox/process-due-changes.ts';
import { signatureHeader, signWebhook } from '../../../src/gateways/payments/sandbox/webhook-signature.ts';
import { startPayWork } from '../../../src/platform/pay/provider/worker.ts';
import { startWriteBack } from '../../../src/platform/pay/write-back/worker.ts';
import { createTenantSchema, tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type Answer, type Api, base, createApi } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { type Books, openBooks } from './write-back/erp-books.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

export const mapping = {
  recordType: 'invoice',
  number: 'tranid',
  amountDue: 'foreignamountunpaid',
  currency: 'currency',
  customer: 'entity',
};
export const configBody = (given: object = {}) => ({
  provider: 'sandbox',
  currency: 'GBP',
  invoices: mapping,
  ...given,
});
export const returns = { successUrl: 'http://127.0.0.1:1/paid', cancelUrl: 'http://127.0.0.1:1/no' };

/** Creates the warehouse as after a complete run, with the fields that payments read. */
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

const parseToken = ({ url }: { url: string }): string => url.split('/').at(-1) ?? '';

type FixtureParts = {
  readonly books: Books;
  readonly ctx: TenantCtx;
  readonly app: Express;
  readonly api: Api;
  readonly secret: string;
  readonly lines: string[];
};

function createDesk(
  { books, ctx, app, api, secret, lines }: FixtureParts,
  payWork: JobWorker,
  writeBack: JobWorker,
) {
  const sql = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => inTransaction(ctx, work);
  const call = async (...args: Parameters<Api>): Promise<Answer['body']> => {
    const answer = await api(...args);
    if (answer.status >= 300)
      throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const fixture = {
    books,
    app,
    ctx,
    api,
    /** Secret of the API key that `api` uses. */
    secret,
    lines,
    accountId: '',
    /** Throws unless the response is a success. */
    call,
    sql,
    checkOut: (invoices: readonly object[], given: object = {}) =>
      call('post', '/pay/checkout', { customerId: '1', invoices, ...returns, ...given }),
    tryCheckOut: (invoices: readonly object[], given: object = {}) =>
      api('post', '/pay/checkout', { customerId: '1', invoices, ...returns, ...given }),
    pay: (checkout: { url: string }, card = 'approved') => payByCard(ctx, parseToken(checkout), card),
    giveUp: (checkout: { url: string }) => cancelPaySession(ctx, parseToken(checkout)),
    /** Posts a signed webhook event, as the sandbox does. */
    deliverEvent: async (event: object, headers?: Record<string, string>): Promise<supertest.Response> => {
      const body = Buffer.from(JSON.stringify(event));
      const signed = { [signatureHeader]: signWebhook(ctx, fixture.accountId, body) };
      return supertest(app)
        .post(`${base}/pay/webhooks/sandbox/${fixture.accountId}`)
        .set({ 'content-type': 'application/json', ...signed, ...headers })
        .send(body.toString());
    },
    /**
     * Runs the due tasks and those of these subjects ('' for the account's own), then writes due documents
     * into the ERP.
     */
    work: async (...subjects: readonly string[]) => {
      await sql((tx) =>
        tx('jobs')
          .whereRaw("kind = 'pay_tasks' and payload ->> 'subject' = any(?)", [[...subjects]])
          .update({ due_at: new Date(0), requests: tx.raw('requests + 1') }),
      );
      await processDueChanges(ctx, never);
      await payWork.waitUntilIdle();
      await writeBack.waitUntilIdle();
    },
    /** Replaces the configuration; throws unless that is a success. */
    configure: (given: object = {}) => call('put', '/pay/config', configBody(given)),
    /** Pays, and runs what is due for the payment. */
    settle: async (checkout: { url: string; paymentId: string }, card?: string) => {
      await fixture.pay(checkout, card);
      await fixture.work(checkout.paymentId);
    },
    readPayment: ({ paymentId }: { paymentId: string }) => call('get', `/pay/payments/${paymentId}`),
    /** Stores an invoice in the warehouse, as the last sync would have. */
    sync: (id: string, due: string) =>
      ctx.db.data.query(
        `insert into ${tenantSchema(ctx.organizationId)}.invoice_1 values ($1::bigint, 'INV', $2, '1', '1', 'GBP')
         on conflict (id) do update set c2 = excluded.c2`,
        [id, due],
      ),
    /** As if the last run had rejected the invoice's current state. */
    reject: (id: string) =>
      ctx.db.data.query(
        `insert into ${tenantSchema(ctx.organizationId)}.rejections (record_type, id, code, message, run_id) values ('invoice', $1, 'X', 'x', $2)`,
        [id, createId()],
      ),
    stop: async () => {
      await payWork.stop();
      await writeBack.stop();
      await books.stop();
    },
  };
  return fixture;
}

export type SandboxFixture = ReturnType<typeof createDesk>;

export async function openSandboxFixture(): Promise<SandboxFixture> {
  const books = await openBooks();
  const lines: string[] = [];
  const ctx: Ctx = {
    ...books.database.ctx,
    log: createLog('debug', { write: (line: string) => void lines.push(line) }),
  };
  const tenant: TenantCtx = { ...ctx, organizationId: books.organizationId };
  const app = createApp(ctx);
  const { secret } = await makeKey(ctx, books.organizationId, { permissions: ['write'] });
  const opened = { books, ctx: tenant, app, api: createApi(app, secret), secret, lines };
  await setWarehouse(tenant);
  const options = { pollMs: hour };
  const fixture = createDesk(opened, startPayWork(ctx, options), startWriteBack(ctx, options));
  await fixture.call('post', '/netsuite/metadata/refresh');
  // Remove the stored configuration, so that the PUT below is a first one.
  await fixture.sql((tx) => tx('pay_configs').delete());
  await fixture.sql((tx) => tx('pay_accounts').delete());
  const { webhookUrl } = await fixture.call('put', '/pay/config', configBody());
  fixture.accountId = webhookUrl.split('/').at(-1);
  return fixture;
}

export const createEvent = (kind: 'session' | 'payout', id: string) => ({
  id: createId(),
  type: 'test',
  object: { kind, id },
});
