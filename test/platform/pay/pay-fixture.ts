// Fixture: one organization that takes payments at a local Stripe server and writes them into a simulated
// NetSuite account, with all faults that can occur in between, and a comparison of the three ledgers once
// everything has settled.
import {
  createIdentity,
  getCreatedId,
  readAnswer,
  requestToken,
  signAssertion,
} from '../../../packages/netsuite-simulator/test/test-account.ts';
import { createApp } from '../../../src/app.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import type { Ctx } from '../../../src/core/ctx.ts';
import type { JobWorker } from '../../../src/db/job-worker.ts';
import { sealSecrets } from '../../../src/platform/pay/provider/accounts.ts';
import { enqueueTask } from '../../../src/platform/pay/provider/tasks.store.ts';
import { startPayWork } from '../../../src/platform/pay/provider/worker.ts';
import { startWriteBack } from '../../../src/platform/pay/write-back/worker.ts';
import { type Answer, type Api, createApi } from '../../setup/api.ts';
import type { TestDatabase } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import type { Session } from '../../setup/stripe/objects.ts';
import { type StripeServer, startStripe } from '../../setup/stripe/server.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { setWarehouse } from './sandbox-fixture.ts';
import { type Books, openBooks } from './write-back/erp-books.ts';

const hour = 3_600_000;

/** Wall time plus an offset that the test advances. */
type MovedClock = Clock & { advance(ms: number): void };
function movedClock(): MovedClock {
  let ahead = 0;
  return {
    now: () => new Date(systemClock.now().getTime() + ahead),
    monotonicMs: () => systemClock.monotonicMs(),
    advance: (ms) => {
      ahead += ms;
    },
  };
}

export type PaymentLine = {
  readonly id: string;
  readonly status: string;
  readonly invoices: readonly string[];
  readonly received: number;
  readonly refunded: number;
  /** Amounts in pence. */
  readonly atStripe: { readonly received: number; readonly charges: number; readonly refunded: number };
  readonly document: string | null;
  readonly inErp: Readonly<Record<'payments' | 'total' | 'applied' | 'refunded', number>>;
  readonly recorded: { readonly applied: number; readonly unapplied: number };
};

const watchStatuses = `
  create table moves (at bigserial, of text, id uuid, before text, after text);
  create function note_move() returns trigger language plpgsql security definer as $$ begin
    if old.status <> new.status then insert into moves (of, id, before, after) values (tg_table_name, new.id, old.status, new.status); end if;
    return new;
  end $$;
  create trigger watched after update on pay_payments for each row execute function note_move();
  create trigger watched after update on pay_refunds for each row execute function note_move();
  create trigger watched after update on pay_payouts for each row execute function note_move();`;

/** `database`: another one than usual, which `stop` closes. */
export async function openPayFixture(database?: TestDatabase) {
  const clock = movedClock();
  const [books, stripe] = await Promise.all([openBooks(database), startStripe({ clock })]);
  // Enough for the test's own requests in addition to the service, which enforces its own limit.
  books.erp.account.setConcurrencyLimit(50);
  const { ctx: base, address } = books.database;
  const settings = {
    ...base.settings,
    rateLimitPerMinute: 100_000_000,
    stripe: { apiUrl: stripe.url, timeoutMs: 15_000, retries: 0 },
  };
  const ctx: Ctx = { ...base, clock, settings };
  const tenant = { ...ctx, organizationId: books.organizationId };
  await asSuperuser(address, (client) => client.query(watchStatuses));
  const { secret } = await makeKey(ctx, books.organizationId, { permissions: ['write'] });
  await setWarehouse(tenant);
  const accountId = await setUp();
  let app = createApp(ctx);
  let running = start();
  let restarting = Promise.resolve();

  async function setUp(): Promise<string> {
    const api = createApi(createApp(ctx), secret);
    const answer = await api('post', '/netsuite/metadata/refresh');
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return books.as(async (tx) => {
      const account = await tx('pay_accounts').first<{ id: string }>('id');
      const sealed = sealSecrets(tenant, account.id, stripe.secrets);
      await tx('pay_accounts').update({ provider: 'stripe', ...sealed });
      const names = { number: 'tranid', amountDue: 'foreignamountunpaid', customer: 'entity' };
      const invoices = { recordType: 'invoice', ...names, currency: null };
      await tx('pay_configs').update({ invoices: JSON.stringify(invoices) });
      await enqueueTask(tx, books.organizationId, { accountId: account.id, kind: 'account', subject: '' });
      return account.id;
    });
  }

  const person = await createIdentity(books.erp.account);
  /** Retries on 401, since the account's clock may have moved since the token was issued. */
  async function byHand(path: string, body: object | undefined, method = 'POST'): Promise<string> {
    const { account } = books.erp;
    for (let attempt = 1; ; attempt += 1) {
      const now = Math.floor(clock.now().getTime() / 1_000);
      const client_assertion = signAssertion(account, person, { iat: now, exp: now + 300 });
      const { body: token } = await requestToken(account, { client_assertion });
      const headers = { authorization: `Bearer ${token.access_token}` };
      const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
      const answer = await fetch(`${account.url}/services/rest/record/v1/${path}`, sent);
      if (answer.status === 401 && attempt < 5) continue;
      return getCreatedId(await readAnswer(answer));
    }
  }

  function start(): { readonly pay: JobWorker; readonly back: JobWorker } {
    return {
      pay: startPayWork(ctx, { pollMs: hour }),
      back: startWriteBack(ctx, { pollMs: hour, firstWaitMs: 1, maxWaitMs: 1 }),
    };
  }
  const stopWorking = () => Promise.all([running.pay.stop(), running.back.stop()]);

  async function work(pollAccount = false): Promise<void> {
    // Locked rows are being worked on.
    const due = "clock_timestamp() - interval '1 second'";
    await books.as((tx) =>
      tx.raw(
        `update jobs set due_at = ${due} where kind = 'pay_erp_documents' and lease_id is null
           or key in (select key from jobs where kind = 'pay_tasks' and lease_id is null and (payload ->> 'kind' <> 'account' or ?) for update skip locked)`,
        [pollAccount],
      ),
    );
    await books.as((tx) =>
      tx.raw(
        `update pay_erp_documents set next_attempt_at = ${due} where id in (select id from pay_erp_documents for update skip locked)`,
      ),
    );
    await Promise.all([running.pay.waitUntilIdle(), running.back.waitUntilIdle()]);
  }

  const countLeft = (): Promise<number> =>
    books.as(async (tx) => {
      // The poll of the whole account always stays scheduled, but it must have succeeded.
      type Count = { count: string }[];
      const failing = "kind = 'pay_tasks' and (payload ->> 'kind' <> 'account' or error is not null)";
      const [tasks] = await tx('jobs').whereRaw(failing).count<Count>();
      const [documents] = await tx('pay_erp_documents').where({ status: 'PENDING' }).count<Count>();
      return Number(tasks?.count) + Number(documents?.count);
    });

  async function rest(): Promise<void> {
    for (let round = 0; round < 12; round += 1) {
      await work(true);
      if (round > 0 && (await countLeft()) === 0) return;
    }
    const tasks = await books.as((tx) =>
      tx('pay_tasks').whereNot({ kind: 'account' }).select('kind', 'subject', 'attempts', 'error'),
    );
    const documents = await books.as((tx) =>
      tx('pay_erp_documents').where({ status: 'PENDING' }).select('kind', 'attempts', 'problem'),
    );
    throw new Error(`tasks never finish: ${JSON.stringify({ tasks, documents })}`);
  }

  async function undoWhatCameBack(): Promise<void> {
    const waiting = await books.as((tx) =>
      tx('pay_erp_documents')
        .whereRaw("problem->>'code' = 'REFUND_CAME_BACK'")
        .select<{ payment_id: string; external_id: string }[]>('payment_id', 'external_id'),
    );
    for (const { external_id } of waiting) {
      const [record] = await books.ledger<{ id: string }>(
        'select id::text from ledger.transaction where externalid = $1',
        [external_id],
      );
      await byHand(`customerRefund/${record?.id}`, undefined, 'DELETE');
    }
    for (const id of new Set(waiting.map(({ payment_id }) => payment_id)))
      await createApi(app, secret)('post', `/pay/payments/${id}/retry-write-back`);
    await rest();
  }

  return {
    books,
    stripe,
    ctx: tenant,
    /** The one that is running. */
    app: () => app,
    /** Does by hand what the service requests for a returned refund that is already in the ERP. */
    undoWhatCameBack,
    clock: {
      ...clock,
      advance: (ms: number): void => {
        clock.advance(ms);
        books.erp.account.setAuthenticationTime(clock.now());
      },
    },
    api: (...call: Parameters<Api>) => createApi(app, secret)(...call),
    deliver: async (event: object): Promise<Answer> => {
      // The clock may advance while the event is in transit, which makes its signature too old; then send it
      // again, as Stripe does. After many such 400 responses the service responds 429.
      for (let attempt = 1; ; attempt += 1) {
        const { body, headers } = stripe.signed(event);
        const answer = await createApi(app, null)('post', `/pay/webhooks/stripe/${accountId}`, body, headers);
        if (![400, 429].includes(answer.status) || attempt === 5) return answer;
      }
    },
    /** Creates a record in the ERP as a person would; returns its id. Rejects when the ERP refuses it. */
    byHand: (type: 'invoice' | 'customerPayment', body: object): Promise<string> => byHand(type, body),
    /**
     * Stops the background workers wherever they are, and starts another application and workers on the same
     * database.
     */
    restart: () => {
      // Serialized: with two restarts at once, the first one's workers would keep running, unknown to `rest`.
      restarting = restarting.then(async () => {
        await stopWorking();
        app = createApp(ctx);
        running = start();
      });
      return restarting;
    },
    /** The background work of this process ends; that of other processes goes on. */
    stopWorking,
    /** Runs all waiting tasks now, without polling Stripe for all changes. */
    work: () => work(),
    /** Runs tasks until none is left. */
    rest,
    lines: () => readLines(books, stripe),
    /** Every status change in the database: table, id, before, after. */
    moves: () =>
      asSuperuser(address, async (client) => {
        const { rows } = await client.query<{ of: string; id: string; before: string; after: string }>(
          'select of, id, before, after from moves order by at',
        );
        return rows;
      }),
    stop: async () => {
      await stopWorking();
      await stripe.stop();
      await books.stop();
    },
  };
}

export type PayFixture = Awaited<ReturnType<typeof openPayFixture>>;

type Column = 'id' | 'status' | 'received' | 'refunded' | 'applied' | 'unapplied';
type StoredLine = Record<Column, string> & { document: string | null; invoices: string[] };

async function readLines(books: Books, stripe: StripeServer): Promise<PaymentLine[]> {
  const stored = await books.as(async (tx) => {
    const { rows } = await tx.raw<{ rows: StoredLine[] }>(`
      select p.id, p.status, p.received_minor as received, p.refunded_minor as refunded, d.status as document,
        coalesce(d.applied_minor, 0) as applied, coalesce(d.unapplied_minor, 0) as unapplied,
        (select array_agg(i.record_id) from pay_payment_invoices i where i.payment_id = p.id) as invoices
      from pay_payments p left join pay_erp_documents d on d.payment_id = p.id and d.kind = 'payment'`);
    return rows;
  });
  const inErp = await books.ledger<
    Record<'externalid' | 'payments' | 'total' | 'applied' | 'refunded', string>
  >(`
    select p.externalid, count(distinct p.id) as payments, round(100 * sum(distinct p.foreigntotal)) as total,
      round(100 * coalesce(sum(a.amount) filter (where a.credit = p.id), 0)) as applied,
      round(100 * coalesce(sum(a.amount) filter (where a.invoice = p.id), 0)) as refunded
    from ledger.transaction p left join ledger.application a on p.id in (a.credit, a.invoice)
    where p.type = 'CustPymt' and p.externalid is not null group by p.externalid`);
  const erpPayments = new Map(inErp.map((row) => [row.externalid, row]));
  const booked = stripe.ledger.books();
  return stored.map((row) => {
    const erp = erpPayments.get(`portal-payment-${row.id}`);
    return {
      id: row.id,
      status: row.status,
      invoices: row.invoices,
      received: Number(row.received),
      refunded: Number(row.refunded),
      atStripe: booked.get(row.id) ?? { received: 0, charges: 0, refunded: 0 },
      document: row.document,
      inErp: {
        payments: Number(erp?.payments ?? 0),
        total: Number(erp?.total ?? 0),
        applied: Number(erp?.applied ?? 0),
        refunded: Number(erp?.refunded ?? 0),
      },
      recorded: { applied: Number(row.applied), unapplied: Number(row.unapplied) },
    };
  });
}

/** The session of a checkout URL. */
export const findSession = ({ stripe }: PayFixture, url: string): Session | undefined => {
  const found = stripe.ledger.objects.get(url.split('/').at(-1) ?? '');
  return found?.object === 'checkout.session' ? found : undefined;
};
