// Visitors pay their invoices: what the form offers, what it refuses, and what the payment's page says until the ERP has
// the money. Against the sandbox and a simulated account.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ReadingCtx } from '../../src/core/ctx.ts';
import { decryptMail } from '../../src/mail/enqueue.ts';
import { startReceipts } from '../../src/portal/index.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { openSandboxFixture } from '../platform/pay/sandbox-fixture.ts';
import { publishVersion } from '../public/fixture.ts';
import { openStream } from '../setup/event-stream.ts';
import { listenLocally, openSocket } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';
import { openPayingPortal, type PayingPortal, payForm } from './paying.ts';
import type { VisitorBrowser } from './visiting.ts';

const fixture = useStarted(() => openSandboxFixture());
const writtenBack = { writeBack: { account: null, refundAccount: '7' } };
let ann: VisitorBrowser;
let bob: VisitorBrowser;

let sync: PayingPortal['sync'];
let visit: PayingPortal['visit'];

beforeAll(async () => {
  await fixture.configure(writtenBack);
  ({ sync, visit } = await openPayingPortal(fixture));
  [ann, bob] = [await visit('ann@aster.example'), await visit('bob@aster.example')];
});

const pay = (browser: VisitorBrowser, amounts: Readonly<Record<string, string | null>>) =>
  browser.post('/pay', payForm(amounts));
/** Starts a payment; its path, its id, and where it can be paid. */
async function start(browser: VisitorBrowser, amounts: Readonly<Record<string, string | null>>) {
  const answer = await pay(browser, amounts);
  expect([answer.status, answer.text.match(/role="alert">([^<]*)/)?.[1]]).toEqual([303, undefined]);
  const [, path = '', paymentId = ''] =
    /(\/payments\/([\w-]{36}))\?begin=1$/.exec(answer.headers['location'] ?? '') ?? [];
  const { text } = await browser.get(`${path}?begin=1`);
  const url = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(text)?.[1] ?? '';
  return { path, paymentId, url };
}
const textOf = async (browser: VisitorBrowser, path: string): Promise<string> =>
  (await browser.get(path)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

it('pays several invoices, one in part; the receipt comes by mail, and the ERP gets the money', async () => {
  const [first, second] = [await fixture.books.invoice(10_000), await fixture.books.invoice(2_550)];
  await sync([
    { id: first, due: 100 },
    { id: second, due: 25.5 },
  ]);
  expect((await ann.get('/')).text).toContain(`href="${ann.base}/pay"`);
  const page = await ann.get(`/pay?invoice=${second}`);
  expect(page.text).toMatch(new RegExp(`value="${second}" id="pay-\\d+" checked`));
  expect(await textOf(ann, '/pay')).toContain(`INV-${first} 15 Jan 2026`);
  const started = await start(ann, { [first]: '40', [second]: null });
  expect(await textOf(ann, started.path)).toContain(
    'Payment of £65.50 Not confirmed yet The payment provider hasn’t confirmed a payment.',
  );
  await fixture.settle(started);
  const [said, again] = [await textOf(ann, started.path), await textOf(bob, '/payments')];
  expect(said).toContain('Thank you! The payment has arrived.');
  expect(said).toMatch(/Invoices \S+ £40\.00 \S+ £25\.50 Total £65\.50/);
  expect(said).toContain('It is in the books.');
  expect(again).toMatch(/\S+, \S+ Paid £65\.50/);
  expect(await fixture.books.open(first, second)).toEqual([6_000, 0]);
  expect(await fixture.books.inErp(started.paymentId)).toMatchObject({ payments: 1, total: 6_550 });
  expect((await fixture.readPayment(started)).visitor).toBe('ann@aster.example');
  const { portal } = (await fixture.api('get', '/overview')).body;
  expect(portal.paid7Days).toEqual([{ currency: 'GBP', payments: 1, amount: '65.50' }]);

  const engine: ReadingCtx = { ...fixture.ctx, reads: createReadEngine(fixture.ctx) };
  const receipts = startReceipts(engine, { pollMs: 3_600_000 });
  onTestFinished(() => receipts.stop());
  await receipts.waitUntilIdle();
  const mails = await fixture.sql((tx) => tx('outgoing_mails').where({ kind: 'receipt' }));
  expect(mails.map(({ recipient, subject }) => [recipient, subject])).toEqual([
    ['Ann@aster.example', expect.stringMatching(/^Receipt: £65\.50 paid to /)],
  ]);
  const { text } = await decryptMail(fixture.ctx, mails[0], undefined);
  expect(text).toMatch(/\S+ +£40\.00\n\S+ +£25\.50\nTotal +£65\.50/);
  expect(text).toContain(`${ann.origin}${ann.base}${started.path}`);
  expect(await fixture.sql((tx) => tx('jobs').where({ kind: 'receipts' }))).toEqual([]);
});

describe('what is being paid', () => {
  it('can be paid once, by one of two people who try at the same time', async () => {
    const id = await fixture.books.invoice(5_000);
    await sync([{ id, due: 50 }]);
    const answers = await Promise.all([ann, bob, ann, bob].map((one) => pay(one, { [id]: null })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 422, 422, 422]);
    const [refused] = answers.filter(({ status }) => status === 422);
    expect(refused?.text).toContain('Another payment already covers this invoice.');
    expect(await textOf(bob, '/pay')).toMatch(/Started and not paid yet £50\.00 .*Being paid/);
    const href = /href="[^"]*(\/payments\/[\w-]{36})"/.exec((await bob.get('/pay')).text)?.[1] ?? '';
    expect((await bob.post(`${href}/end`, {})).status).toBe(303);
    expect(await textOf(ann, href)).toContain('This payment was ended, and nothing has been charged.');
    await fixture.settle(await start(bob, { [id]: null }));
    expect(await fixture.books.open(id)).toEqual([0]);
  });

  it('lowers what can be paid, to the cent', async () => {
    const id = await fixture.books.invoice(3_000);
    await sync([{ id, due: 30 }]);
    const { path } = await start(ann, { [id]: '10.01' });
    expect(await textOf(bob, '/pay')).toContain('£19.99 of £30.00');
    expect((await pay(bob, { [id]: '20' })).text).toContain('Less than this is left to pay.');
    expect((await pay(bob, { [id]: null })).status).toBe(303);
    expect((await pay(bob, { [id]: '0.01' })).text).toContain('Another payment already covers this invoice.');
    await ann.post(`${path}/end`, {});
  });

  it('is refused when the ERP has it as paid meanwhile', async () => {
    const id = await fixture.books.invoice(2_000);
    await sync([{ id, due: 20 }]);
    await fixture.books.payByHand(id, 20);
    const { status, text } = await pay(ann, { [id]: null });
    expect([status, text]).toEqual([
      422,
      expect.stringContaining('This invoice has been paid in the meantime.'),
    ]);
  });
});

describe('the form', () => {
  it('says what is wrong with it, and keeps what was typed', async () => {
    const id = await fixture.books.invoice(1_000);
    await sync([{ id, due: 10 }]);
    expect((await pay(ann, {})).text).toContain('Choose at least one invoice.');
    for (const typed of ['1,2.3,4', '0', 'all', '']) {
      const { status, text } = await pay(ann, { [id]: typed });
      expect([typed, status]).toEqual([typed, 422]);
      expect(text).toContain('Enter an amount above zero, such as 100.00.');
      expect(text).toContain(`name="amount.${id}" value${typed === '' ? ' ' : `="${typed}"`}`);
    }
    expect((await pay(ann, { 999999: null })).text).toContain(
      'Something has changed since this page was loaded.',
    );
  });

  it('offers invoices in its currency alone, without decimals where the currency has none', async () => {
    await sync([
      { id: '901', due: 1200, currency: 'JPY' },
      { id: '902', due: 12, currency: 'British pound' },
    ]);
    expect(await textOf(ann, '/pay')).toMatch(/INV-902.*1 open invoice is in another currency/);
    await fixture.configure({ currency: 'JPY' });
    onTestFinished(() => fixture.configure(writtenBack));
    const { text } = await ann.get('/pay');
    expect(text).toContain('name="amount.901" value="1200"');
    expect(text).not.toContain('INV-902');
    expect((await pay(ann, { 901: '12.5' })).text).toContain('such as 100.');
  });

  it('starts at most ten payments of a customer', async () => {
    const id = await fixture.books.invoice(10_000);
    await sync([{ id, due: 100 }]);
    const started: string[] = [];
    for (;;) {
      const answer = await pay(ann, { [id]: '1' });
      if (answer.status !== 303) {
        expect(answer.text).toContain('Too many payments have been started.');
        break;
      }
      started.push(/\/payments\/[\w-]{36}/.exec(answer.headers['location'] ?? '')?.[0] ?? '');
    }
    expect(started.length).toBeLessThanOrEqual(10);
    for (const path of started) await ann.post(`${path}/end`, {});
  });

  it('is 503 while the ERP does not respond, and nothing is charged', async () => {
    const id = await fixture.books.invoice(1_000);
    await sync([{ id, due: 10 }]);
    fixture.books.wire.before = () => 'drop';
    onTestFinished(() => void (fixture.books.wire.before = () => undefined));
    const { status, text } = await pay(ann, { [id]: null });
    expect([status, text]).toEqual([
      503,
      expect.stringContaining('Payments can’t be started at the moment.'),
    ]);
  });
});

it('is in the navigation, after what a sidebar names', async () => {
  const items = [{ label: 'Help', kind: 'link', target: 'https://aster.example/help' }];
  await fixture.call('put', '/portal/sidebar', { items });
  onTestFinished(() => fixture.call('put', '/portal/sidebar', { items: [] }));
  await until(async () => / Overview Help \(another website\) Pay /.test(await textOf(ann, '/')));
});

it('an invoice that is beyond the first 200 can be paid from its own page', async () => {
  const last = '5200';
  await sync(Array.from({ length: 201 }, (_, index) => ({ id: String(5000 + index), due: 1 })));
  expect(await textOf(ann, '/pay')).toContain('1 more open invoice is shown');
  expect((await ann.get(`/records/invoice/${last}`)).text).toContain(`/pay?invoice=${last}`);
  expect((await ann.get(`/pay?invoice=${last}`)).text).toMatch(
    new RegExp(`value="${last}" id="pay-0" checked`),
  );
  expect((await ann.get('/pay?invoice=none')).status).toBe(200);
});

describe('no one', () => {
  it('sees, ends or pays what is another customer’s', async () => {
    const [own, foreign] = [await fixture.books.invoice(1_000), await fixture.books.invoice(1_000)];
    await sync([
      { id: own, due: 10 },
      { id: foreign, due: 10, entity: 2 },
    ]);
    const eve = await visit('eve@briar.example');
    const { path } = await start(ann, { [own]: null });
    expect(await textOf(eve, '/pay')).not.toContain(`INV-${own}`);
    expect((await pay(eve, { [own]: null })).text).toContain(
      'Something has changed since this page was loaded.',
    );
    // The synced customer isn't the ERP's any more.
    expect((await pay(eve, { [foreign]: null })).text).toContain(
      'This invoice has been paid in the meantime.',
    );
    for (const answer of [
      await eve.get(path),
      await eve.post(`${path}/end`, {}),
      await eve.get(`${path}/events?seen=x`),
    ])
      expect(answer.status).toBe(404);
    expect(await textOf(eve, '/payments')).toContain('Nothing has been paid here yet.');
    await ann.post(`${path}/end`, {});
  });

  it('sees payments of another ERP account, whose customers have the same ids', async () => {
    const id = await fixture.books.invoice(1_000);
    await sync([{ id, due: 10 }]);
    const { path, paymentId } = await start(ann, { [id]: null });
    const setAccount = (account: string | null) =>
      fixture.sql((tx) => tx('pay_payments').where({ id: paymentId }).update({ erp_account: account }));
    await setAccount('999999');
    for (const answer of [await ann.get(path), await ann.post(`${path}/end`, {})])
      expect(answer.status).toBe(404);
    expect((await ann.get('/payments')).text).not.toContain(paymentId);
    await setAccount(null);
    await ann.post(`${path}/end`, {});
    const entries = await fixture.sql((tx) =>
      tx('audit_log').where({ target_id: paymentId }).select('action', 'actor_email'),
    );
    expect(entries).toEqual([{ action: 'checkout.end', actor_email: 'ann@aster.example' }]);
  });

  it('goes on with or ends what an API caller started', async () => {
    const id = await fixture.books.invoice(1_000);
    await sync([{ id, due: 10 }]);
    const { paymentId, url } = await fixture.checkOut([{ recordId: id }]);
    const path = `/payments/${paymentId}`;
    expect((await ann.get(path)).text).not.toContain(url);
    await ann.post(`${path}/end`, {});
    expect((await fixture.readPayment({ paymentId })).status).toBe('PENDING');
    await fixture.giveUp({ url });
    await fixture.work(paymentId);
  });

  it('pays from another site, or as a member who sees the portal as a visitor would', async () => {
    const id = await fixture.books.invoice(1_000);
    await sync([{ id, due: 10 }]);
    const attack = await ann.post('/pay', payForm({ [id]: null }), { origin: 'https://evil.example' });
    expect(attack.status).toBe(403);
    const { path } = await start(ann, { [id]: '1' });
    const member = await fixture.sql((tx) => tx('users').first<{ id: string } | undefined>('id'));
    const viewer = await visit('ann@aster.example', member?.id ?? null);
    expect(await textOf(viewer, '/pay')).toContain('Only the visitor can pay.');
    expect((await pay(viewer, { [id]: '1' })).status).toBe(403);
    expect((await viewer.post(`${path}/end`, {})).status).toBe(403);
    expect((await viewer.get(`${path}?begin=1`)).text).not.toContain('/pay/sandbox/');
    await ann.post(`${path}/end`, {});
  });

  it('can pay while payments are off, or what the portal shows by other fields', async () => {
    for (const change of [
      { enabled: false },
      {
        invoices: { recordType: 'invoice', number: 'tranid', amountDue: 'foreigntotal', customer: 'entity' },
      },
    ]) {
      await fixture.configure({ ...writtenBack, ...change });
      expect([(await ann.get('/pay')).status, (await pay(ann, { 1: null })).status]).toEqual([404, 404]);
      expect((await ann.get('/')).text).not.toContain('/pay"');
    }
    await fixture.configure(writtenBack);
  });
});

it('the page of a payment follows it: an event tells of each change, also of one that came before', async () => {
  const id = await fixture.books.invoice(1_000);
  await sync([{ id, due: 10 }]);
  const started = await start(ann, { [id]: null });
  const server = createServer(fixture.app);
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  onTestFinished(() => void server.close());
  const address = /data-events="([^"]+)"/.exec((await ann.get(started.path)).text)?.[1] ?? '';
  const cookie = [...ann.held].map(([name, value]) => `${name}=${value}`).join('; ');
  const stream = await openStream(`${url}${address}`, { cookie });
  await fixture.pay(started);
  // The provider's event is lost: the visitor comes back, which asks the provider.
  expect(await textOf(ann, `${started.path}?back=paid`)).toContain(
    'We are waiting for the payment provider’s confirmation.',
  );
  await fixture.work();
  expect(await stream.next()).toMatchObject({ event: 'changed' });
  expect(await stream.next()).toBeUndefined();
  const late = await openStream(`${url}${address}`, { cookie });
  expect(await late.next()).toMatchObject({ event: 'changed' });
  expect((await ann.get(started.path)).text).not.toContain('data-events');
});

it('a browser that leaves before the events begin holds no place among those of its session', async () => {
  const id = await fixture.books.invoice(1_000);
  await sync([{ id, due: 10 }]);
  const { path } = await start(ann, { [id]: null });
  const server = createServer(fixture.app);
  const port = await listenLocally(server);
  onTestFinished(() => void server.close());
  const address = /data-events="([^"]+)"/.exec((await ann.get(path)).text)?.[1] ?? '';
  const cookie = [...ann.held].map(([name, value]) => `${name}=${value}`).join('; ');
  const request = `GET ${address} HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: ${cookie}\r\n\r\n`;
  for (let left = 0; left < 8; left += 1) {
    const arrived = once(server, 'request');
    const socket = openSocket(server, request);
    const [, response] = await arrived;
    socket.destroy();
    if (!response.closed) await once(response, 'close');
  }
  await until(async () => {
    const stream = await openStream(`http://127.0.0.1:${port}${address}`, { cookie });
    stream.close();
    return stream.response.status === 200;
  }, 10_000);
  await ann.post(`${path}/end`, {});
});

it('nothing can be paid once a version masks what is open', async () => {
  const fields = [{ name: 'due', source: 'foreignamountunpaid', mask: 'hash' }];
  await publishVersion(fixture.ctx, fixture.ctx.organizationId, {
    endpoints: [{ name: 'invoices', recordType: 'invoice', fields }],
  });
  expect([(await ann.get('/pay')).status, (await pay(ann, { 1: null })).status]).toEqual([404, 404]);
});
