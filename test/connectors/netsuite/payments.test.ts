// Payments over HTTP: the exact requests to NetSuite, how its records are read, and how its refusals are
// classified.
import { beforeEach, describe, expect, it } from 'vitest';
import type { PaymentWriter } from '../../../src/connectors/payment-writer.ts';
import {
  type Answer,
  createConnectorAt,
  errorResponse,
  expectErpError,
  refuses,
  rowsResponse,
  type Seen,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const order = {
  externalId: 'portal-payment-1',
  customerId: '107',
  currency: 'EUR',
  amount: '1234567890123.40',
  applications: [
    { invoiceId: '60', amount: '0.10' },
    { invoiceId: '61', amount: '15.30' },
  ],
  memo: 'Online payment',
  account: null,
};
const isQuery = ({ path }: Seen): boolean => path.includes('/query/');
const writeResponse: Answer = (seen, response) =>
  seen.method === 'GET' || isQuery(seen)
    ? rowsResponse(
        seen.query.includes('FROM currency')
          ? [
              { id: '1', symbol: 'GBP' },
              { id: '4', symbol: 'EUR' },
            ]
          : [{ id: '900' }],
      )
    : response
        .writeHead(204, { location: 'https://x.example/services/rest/record/v1/customerpayment/900' })
        .end();
const writer = (): PaymentWriter => {
  const { payments } = createConnectorAt(wire.url);
  if (payments === undefined) throw new Error('NetSuite takes payments');
  return payments;
};
/** The first write, as it was sent. */
const sent = () => wire.seen.find((seen) => seen.method !== 'GET' && !isQuery(seen));

beforeEach(() => {
  wire.answer = writeResponse;
});

describe('a payment', () => {
  it("is sent with exact digits, the currency's id, and the header that refuses misspelt names", async () => {
    expect(await writer().createPayment(order, signal)).toBe('900');
    expect(sent()?.headers).toMatchObject({
      'x-netsuite-propertynamevalidation': 'Error',
      'content-type': 'application/json',
    });
    expect(sent()).toMatchObject({ method: 'POST', path: '/services/rest/record/v1/customerPayment' });
    expect(sent()?.body).toBe(
      '{"customer":{"id":"107"},"externalId":"portal-payment-1","memo":"Online payment","currency":{"id":"4"},"payment":1234567890123.40,"undepFunds":true,' +
        '"apply":{"items":[{"doc":{"id":"60"},"apply":true,"amount":0.10},{"doc":{"id":"61"},"apply":true,"amount":15.30}]}}',
    );
  });

  it('is sent with an account if one is given, and without a currency where the role sees none', async () => {
    wire.answer = ({ query }) =>
      query.includes('FROM currency')
        ? refuses(400, 'INVALID_PARAMETER', "Record 'currency' was not found.")
        : writeResponse;
    await writer().createPayment({ ...order, account: '6', applications: [] }, signal);
    expect(JSON.parse(sent()?.body ?? '')).toEqual({
      customer: { id: '107' },
      externalId: 'portal-payment-1',
      memo: 'Online payment',
      payment: 1234567890123.4,
      undepFunds: false,
      account: { id: '6' },
    });
  });

  it('is unapplied from an invoice with apply: false, and reduced with an amount', async () => {
    const left = [
      { invoiceId: '60', amount: '0.00' },
      { invoiceId: '61', amount: '2.50' },
    ];
    await writer().updateApplications('900', left, signal);
    expect(sent()).toMatchObject({ method: 'PATCH', path: '/services/rest/record/v1/customerPayment/900' });
    expect(sent()?.body).toBe(
      '{"apply":{"items":[{"doc":{"id":"60"},"apply":false},{"doc":{"id":"61"},"apply":true,"amount":2.50}]}}',
    );
  });

  const record = {
    id: '900',
    customer: { id: '107', refName: 'ACME' },
    currency: { id: '4' },
    payment: 20.5,
    unapplied: 5.1,
    apply: {
      items: [
        { apply: true, doc: { id: '60' }, amount: 15.4 },
        { apply: false, doc: { id: '61' }, due: 7 },
        { apply: true, doc: { id: '62' }, amount: 0 },
      ],
    },
  };
  const show = (body: object): void => {
    wire.answer = ({ method }) => (method === 'GET' ? body : writeResponse);
  };
  it('is read with what it is applied to, without open documents that it could be applied to', async () => {
    show(record);
    const read = {
      id: '900',
      customerId: '107',
      currency: 'EUR',
      amount: '20.5',
      applications: [{ invoiceId: '60', amount: '15.4' }],
      unapplied: '5.1',
    };
    expect(await writer().readPayment('900', signal)).toEqual(read);
    expect(await writer().findPayment('portal-payment-1', signal)).toEqual(read);
    expect(wire.seen.at(-3)?.query).toBe(
      "SELECT t.id FROM transaction t WHERE t.type = 'CustPymt' AND t.externalid = 'portal-payment-1' ORDER BY t.id ASC",
    );
    await expect(writer().findPayment("x' OR '1", signal)).rejects.toThrow(RangeError);
  });

  it.each([
    ['more applications than it shows', { ...record, apply: { items: [], hasMore: true } }],
    ['an amount with more digits than a number holds', { ...record, payment: 123456789012.3457 }],
    ['no customer', { ...record, customer: undefined }],
  ])('is not trusted with %s', async (_name, body) => {
    show(body);
    await expectErpError(writer().readPayment('900', signal), 'answer', 'ANSWER_INCONSISTENT');
  });

  it('is null when it was deleted, and an error with its own fix when it cannot be shown', async () => {
    wire.answer = refuses(
      400,
      'USER_ERROR',
      'Error while accessing a resource. Transaction type specified is incorrect.',
    );
    expect(await writer().readPayment('900', signal)).toBeNull();
    wire.answer = refuses(400, 'USER_ERROR', 'This record is locked.');
    await expectErpError(writer().readPayment('900', signal), 'query', 'RECORD_UNREADABLE', {
      fix: expect.stringContaining('locked'),
    });
  });

  it('is an unreadable response when the Location header is missing', async () => {
    wire.answer = (seen, response) => (isQuery(seen) ? writeResponse : response.writeHead(204).end());
    await expectErpError(writer().createPayment(order, signal), 'answer');
  });
});

it('a refund is applied to the payment, with the given account and method', async () => {
  await writer().createRefund(
    { ...order, amount: '5.10', paymentId: '900', account: '7', method: '3' },
    signal,
  );
  expect(sent()?.path).toBe('/services/rest/record/v1/customerRefund');
  expect(sent()?.body).toContain(
    '"account":{"id":"7"},"paymentMethod":{"id":"3"},"apply":{"items":[{"doc":{"id":"900"},"apply":true,"amount":5.10}]}}',
  );
});

describe('a refused write', () => {
  const invalidField = (field: string) =>
    `Error while accessing a resource. Invalid Field Value 9 for the following field: ${field}`;
  const exists = 'Error while accessing a resource. This record already exists.';
  const forbidden = 'You do not have permissions to set a value for element account.';
  const notListed = "Record type 'customerPayment' does not exist.";
  it.each([
    [400, 'USER_ERROR', exists, 'query', 'ALREADY_EXISTS'],
    [400, 'USER_ERROR', 'The posting period Mar 2026 is closed.', 'query', 'PERIOD_CLOSED'],
    [400, 'USER_ERROR', 'You cannot edit transactions in a locked period', 'query', 'PERIOD_CLOSED'],
    [400, 'USER_ERROR', 'This customer is on credit hold.', 'query', 'CUSTOMER_ON_HOLD'],
    [400, 'USER_ERROR', 'The customer is inactive.', 'query', 'CUSTOMER_INACTIVE'],
    [400, 'INVALID_CONTENT', invalidField('customer'), 'query', 'CUSTOMER_UNKNOWN', 'customer'],
    [400, 'INVALID_CONTENT', invalidField('account'), 'query', 'ACCOUNT_UNKNOWN', 'account'],
    [400, 'USER_ERROR', 'Please enter value(s) for: Account', 'query', 'VALUE_MISSING'],
    [400, 'USER_ERROR', forbidden, 'forbidden', 'PERMISSION_MISSING'],
    [400, 'USER_ERROR', 'Record has been changed', 'down', 'RECORD_CHANGED'],
    [400, 'USER_ERROR', 'Something else.', 'query', 'WRITE_REFUSED'],
    [403, 'INSUFFICIENT_PERMISSION', 'Permission Violation', 'forbidden', 'PERMISSION_MISSING'],
    [404, 'NONEXISTENT_ID', notListed, 'query', 'WRITE_REFUSED'],
    [401, 'INVALID_LOGIN', 'Invalid login attempt.', 'credentials', 'INVALID_LOGIN'],
    [429, 'CONCURRENCY_LIMIT_EXCEEDED', 'Request blocked.', 'throttled', 'CONCURRENCY_LIMIT_EXCEEDED'],
    [500, 'UNEXPECTED_ERROR', 'An unexpected error occurred.', 'down', 'UNEXPECTED_ERROR'],
    [502, '', '<html>', 'down', 'SERVER_ERROR'],
  ])('%i %s, %s is %s %s, with a fix', async (status, theirCode, detail, kind, code, path?: string) => {
    const body = {
      ...errorResponse(status, theirCode, detail),
      'o:errorDetails': [
        { detail, 'o:errorCode': theirCode, ...(path !== undefined && { 'o:errorPath': path }) },
      ],
    };
    wire.answer = (seen) => (isQuery(seen) ? writeResponse : sends(status, theirCode === '' ? detail : body));
    await expectErpError(writer().createPayment(order, signal), kind, code, {
      fix: expect.stringMatching(/\w{3}/),
    });
  });
});
