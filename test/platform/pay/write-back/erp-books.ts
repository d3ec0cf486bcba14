// Fixture: an organization whose payments are written to a simulated NetSuite account with a few invoices,
// through a proxy that lets a test act before a request is forwarded or before its response is returned.

import { randomUUID } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDataFolder, signIn } from '../../../../packages/netsuite-simulator/test/test-account.ts';
import { secretBinding } from '../../../../src/connectors/secret-binding.ts';
import { inTransaction, type Tx } from '../../../../src/db/transaction.ts';
import { listErpStates } from '../../../../src/platform/pay/ledger/erp-states.store.ts';
import {
  enqueueErpDocument,
  enqueueWaitingDocuments,
  retryErpDocuments,
} from '../../../../src/platform/pay/write-back/erp-documents.store.ts';
import { type TestDatabase, testDatabase } from '../../../setup/database.ts';
import { accountId, type Erp, startErp } from '../../../setup/erp.ts';
import { makeDue } from '../../../setup/jobs.ts';
import { makeOrganization } from '../../../setup/organization.ts';
import { asSuperuser } from '../../../setup/superuser.ts';

/**
 * A proxy between the service and the account. `before` delays a request, and drops the connection when it
 * returns 'drop'; `after` delays the response.
 */
export type Wire = {
  before: (request: string) => unknown;
  after: (request: string) => unknown;
  readonly url: string;
  /** `POST customerPayment`, and so on; queries are `POST suiteql`. */
  readonly seen: string[];
  stop(): Promise<void>;
};

const describeRequest = ({ method, url = '' }: IncomingMessage): string =>
  `${method} ${url.split('?')[0]?.split('/').slice(5).join('/') ?? ''}`.replace('v1/', '');

async function startProxy(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const server = createServer(async (incoming, outgoing) => {
    const chunks = await incoming.toArray().catch(() => undefined);
    if (chunks === undefined) return; // the client disconnected before the body was complete
    const body = Buffer.concat(chunks);
    const name = describeRequest(incoming);
    wire.seen.push(name);
    if ((await wire.before(name)) === 'drop') return void outgoing.destroy();
    const { method, url: path, headers } = incoming;
    const onwards = httpRequest({ hostname, port, method, path, headers }, async (answer) => {
      const text = Buffer.concat(await answer.toArray().catch(() => []));
      await wire.after(name);
      if (!answer.complete) outgoing.destroy();
      else outgoing.writeHead(answer.statusCode ?? 0, answer.headers).end(text);
    });
    onwards.on('error', () => outgoing.destroy());
    onwards.end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const wire: Wire = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    before: () => undefined,
    after: () => undefined,
    seen: [],
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(() => done()))),
  };
  return wire;
}

type Owner = { organizationId: string; account: string };

async function setUpPay(tx: Tx, { organizationId, account }: Owner): Promise<void> {
  const own = { organization_id: organizationId };
  await tx('pay_accounts').insert({ ...own, id: account, provider: 'sandbox' });
  const writeBack = JSON.stringify({ account: null, refundAccount: '7' });
  const columns = { number: 'tranid', amountDue: 'foreignamountunpaid', customer: 'entity' };
  const invoices = JSON.stringify({ recordType: 'invoice', ...columns });
  const config = { ...own, account_id: account, currency: 'GBP', enabled: true };
  await tx('pay_configs').insert({ ...config, invoices, write_back: writeBack });
}

async function insertPayment(
  tx: Tx,
  { organizationId, account, customer }: Owner & { customer: string },
  invoices: readonly (readonly [id: string, pence: number])[],
): Promise<string> {
  const [id, own] = [randomUUID(), { organization_id: organizationId }];
  const pence = invoices.reduce((sum, [, each]) => sum + each, 0);
  const money = { currency: 'GBP', amount_minor: pence, received_minor: pence };
  const state = { status: 'SUCCEEDED', succeeded_at: new Date() };
  const at = { account_id: account, customer_id: customer, provider_payment_id: `pay_${id.slice(0, 8)}` };
  await tx('pay_payments').insert({ ...own, ...money, ...state, ...at, id });
  const rows = invoices.map(([recordId, each], position) => ({
    ...{ ...own, payment_id: id, position, record_id: recordId, number: 'x' },
    ...{ amount_minor: each, due_minor: each, read_at: new Date() },
  }));
  await tx('pay_payment_invoices').insert(rows);
  await enqueueErpDocument(tx, { organizationId, paymentId: id, refundId: null });
  return id;
}

const paymentTotals = `SELECT count(DISTINCT p.id) AS payments, round(max(p.foreigntotal) * 100) AS total,
    round(100 * COALESCE(sum(a.amount) FILTER (WHERE a.credit = p.id), 0)) AS applied,
    round(100 * COALESCE(sum(a.amount) FILTER (WHERE a.invoice = p.id), 0)) AS refunded,
    count(a) FILTER (WHERE a.invoice = p.id) AS refunds
  FROM ledger.transaction p LEFT JOIN ledger.application a ON p.id IN (a.credit, a.invoice)
  WHERE p.type = 'CustPymt' AND p.externalid = $1`;

/** `given`: another database than usual, which `stop` closes. */
export async function openBooks(given?: TestDatabase) {
  const files = await createDataFolder();
  const [erp, database] = await Promise.all([startErp(files.folder), given ?? testDatabase()]);
  const wire = await startProxy(erp.account.url);
  const { ctx } = database;
  const { id: organizationId } = await makeOrganization(ctx);
  const as = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction({ db: ctx.db, organizationId }, work);
  const keys = await erp.account.createTokenCredentials('Portal Service');
  const { consumerKey, consumerSecret, tokenId, tokenSecret } = keys;
  const connection = {
    settings: { accountId, baseUrl: wire.url, authentication: { method: 'tba', consumerKey, tokenId } },
    secrets: { consumerSecret, tokenSecret },
  };
  const account = randomUUID();
  await as(async (tx) => {
    const binding = secretBinding(organizationId, 'netsuite', 'erp-secrets');
    await tx('erp_connections').insert({
      ...{ organization_id: organizationId, kind: 'netsuite', account_id: accountId },
      settings: JSON.stringify(connection.settings),
      secrets: ctx.keyring.encrypt(JSON.stringify(connection.secrets), binding),
    });
    await setUpPay(tx, { organizationId, account });
  });
  const ledger = <Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> =>
    asSuperuser(erp.database, async (client) => (await client.query<Row>(sql, [...values])).rows);
  const byHand = callByHand(erp, await signIn(erp.account));
  return {
    erp,
    wire,
    database,
    organizationId,
    /** The connection as stored, with its secrets. */
    connection,
    as,
    /** Queries the account's ledger. */
    ledger,
    /** Writes into the account as a person would, not as the service; returns the new record's id. */
    byHand,
    /** A payment of an invoice that a person enters, in whole pounds. */
    payByHand: (doc: string, payment: number): Promise<string> => {
      const apply = { items: [{ doc, apply: true, amount: payment }] };
      return byHand('POST', 'customerPayment', { customer: '1', payment, apply });
    },
    /** The open amount of each invoice, in pence. */
    open: async (...ids: readonly string[]): Promise<number[]> => {
      const rows = await ledger<{ id: string; due: string }>(
        'SELECT id::text, round(foreignamountunpaid * 100)::text AS due FROM ledger.transaction WHERE id = ANY($1)',
        [ids],
      );
      return ids.map((id) => Number(rows.find((row) => row.id === id)?.due));
    },
    /**
     * A payment in the account's ledger: number of records, and total, applied and refunded amounts in pence,
     * and number of refunds.
     */
    inErp: async (paymentId: string) => {
      const [row] = await ledger<Record<string, string>>(paymentTotals, [`portal-payment-${paymentId}`]);
      const read = (name: string): number => Number(row?.[name]);
      const pence = { total: read('total'), applied: read('applied'), refunded: read('refunded') };
      return { payments: read('payments'), ...pence, refunds: read('refunds') };
    },
    /** Creates a customer; returns its id. */
    customer: (): Promise<string> =>
      byHand('POST', 'customer', { companyName: `Customer ${randomUUID()}`, subsidiary: { id: '1' } }),
    /** Creates an invoice over this amount; returns its id. */
    invoice: (pence: number, customer = '1'): Promise<string> =>
      byHand('POST', 'invoice', {
        entity: { id: customer },
        item: { items: [{ item: '10', amount: pence / 100 }] },
      }),
    /** Inserts a payment that has just succeeded, with these amounts per invoice; returns its id. */
    pay: (invoices: readonly (readonly [id: string, pence: number])[], { customer = '1' } = {}) =>
      as((tx) => insertPayment(tx, { organizationId, account, customer }, invoices)),
    /**
     * Inserts a payment of another organization without an ERP connection; returns a function that reads its
     * state.
     */
    neighbour: async () => {
      const other = await makeOrganization(ctx);
      const asOther = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
        inTransaction({ db: ctx.db, organizationId: other.id }, work);
      const id = await asOther(async (tx) => {
        const owner = { organizationId: other.id, account: randomUUID(), customer: '1' };
        await setUpPay(tx, owner);
        return insertPayment(tx, owner, [['1', 100]]);
      });
      return async () => (await asOther((tx) => listErpStates(tx, other.id, [id]))).get(id);
    },
    /** Inserts a refund that has just succeeded; returns its id. */
    refund: (paymentId: string, pence: number): Promise<string> =>
      as(async (tx) => {
        const id = randomUUID();
        const of = { organization_id: organizationId, payment_id: paymentId };
        await tx('pay_refunds').insert({ ...of, id, status: 'SUCCEEDED', amount_minor: pence });
        await enqueueErpDocument(tx, { organizationId, paymentId, refundId: id });
        return id;
      }),
    setWriteBack: (writeBack: object | false) =>
      as(async (tx) => {
        await tx('pay_configs').update({ write_back: JSON.stringify(writeBack) });
        if (writeBack !== false) await enqueueWaitingDocuments(tx, organizationId);
      }),
    /** The payment's state in the ERP, with `unapplied` in pence. */
    state: async (paymentId: string): Promise<object> => {
      const state = (await as((tx) => listErpStates(tx, organizationId, [paymentId]))).get(paymentId);
      if (state === undefined) return { status: 'OFF' };
      const { unappliedMinor, ...rest } = state;
      return { ...rest, unapplied: Number(unappliedMinor) };
    },
    /** Requests another attempt, as a person would; returns the number of documents. */
    retry: (paymentId: string): Promise<number> =>
      as((tx) => retryErpDocuments(tx, organizationId, paymentId)),
    /** Makes all pending documents due now. */
    makeDue: () =>
      as(async (tx) => {
        const next_attempt_at = tx.raw("clock_timestamp() - interval '1 second'");
        const due = { next_attempt_at, holds_account_until: null };
        await tx('pay_erp_documents').where({ status: 'PENDING' }).update(due);
        await makeDue(tx, 'pay_erp_documents');
      }),
    stop: async () => {
      await wire.stop();
      await erp.stop();
      await database.close();
      await files.remove();
    },
  };
}

export type Books = Awaited<ReturnType<typeof openBooks>>;

function callByHand({ account }: Erp, token: string) {
  return async (method: string, path: string, sent?: object): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const init = sent === undefined ? { method, headers } : { method, headers, body: JSON.stringify(sent) };
    const response = await fetch(`${account.url}/services/rest/record/v1/${path}`, init);
    if (response.status !== 204) throw new Error(`${response.status} ${await response.text()}`);
    return response.headers.get('location')?.split('/').at(-1) ?? '';
  };
}
