// What an organization and the operator learn of the visitors of its portal, and how often a visitor may ask.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createMetrics } from '../../src/operate/metrics.ts';
import { startUsageCounter } from '../../src/public/index.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { useStarted } from '../setup/use-started.ts';
import { loadCompany } from './company.ts';
import { asOwner, type PortalOwner, switchOn } from './served-portal.ts';
import { nextCode, openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true });
const customers = [{ id: 1, name: 'Aster', email: 'orders@aster.example', isinactive: false }];
const invoices = [{ id: 101, tranid: 'INV-1', trandate: '2026-01-15', total: 10, unpaid: 5, entity: 1 }];
const known = 'orders@aster.example';
let owner: PortalOwner;
const usage = useStarted(async () => startUsageCounter(org.ctx, { flushEveryMs: 3_600_000 }));
const visit = () => openBrowser(org, { app: createApp(org.ctx, { usage }) });

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, invoices });
  owner = await asOwner(org);
  await switchOn(owner);
});
beforeEach(() => org.admin('rate_limits').delete());

it('a visitor is active from the sign-in on, and a member who looks at the portal as one is not', async () => {
  const visitors = async () => (await owner.api('get', '/whoami')).body.metrics.monthlyActiveVisitors;
  const { body } = await owner.api('post', '/portal/visitors/view-as', { email: known });
  const viewer = visit();
  await viewer.post('/view-as', { code: body.code });
  expect((await viewer.get('/')).status).toBe(200);
  expect(await visitors()).toBe(0);
  await visit().signIn(known);
  expect(await visitors()).toBe(1);
  await usage.flush();
  const counted = await org.sql((tx) => tx('portal_usage').where('record_type', '<>', '').select('*'));
  expect(counted).toEqual([]);
});

const readMetrics = async (): Promise<string> => {
  const none = () => ({});
  const { text } = createMetrics({
    ...{ version: '1.0.0', pools: none, caches: none, queues: none, reads: none, replicas: none },
    ...{ signIns: () => usage.signIns, sinceTickSeconds: () => 0 },
    databaseStats: async () => (await org.admin.raw('select * from operational_figures()')).rows,
  });
  return text();
};

it('sign-ins are counted with their result, in the overview and for Prometheus', async () => {
  const portal = async () => (await owner.api('get', '/overview')).body.portal;
  const before = await portal();
  const { succeeded, refused } = usage.signIns;
  const browser = visit();
  await browser.post('/sign-in', { email: known });
  const code = (await nextCode(org)).replace(' ', '');
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0');
  for (const [given, status] of [
    ['no code', 422],
    [wrong, 400],
    [wrong, 400],
    [code, 303],
  ] as const)
    expect([given, (await browser.post('/code', { code: given })).status]).toEqual([given, status]);
  await usage.flush();
  expect(await portal()).toEqual({
    monthlyActiveVisitors: 1,
    signIns7Days: before.signIns7Days + 1,
    refusedSignIns7Days: before.refusedSignIns7Days + 3,
    failedSignIns7Days: 0,
    ...{ paid7Days: [], mails7Days: 0, statements7Days: 0 },
  });
  const metrics = await readMetrics();
  expect(metrics).toContain(`portal_visitor_sign_ins_total{result="succeeded"} ${succeeded + 1}\n`);
  expect(metrics).toContain(`portal_visitor_sign_ins_total{result="refused"} ${refused + 3}\n`);
  expect(metrics).toContain('portal_visitors_1h 1\n');
});

it('what a visitor reads is counted once for each page, by record type', async () => {
  const view = await owner.api('post', '/views', {
    ...{ name: 'All', recordType: 'invoice', columns: ['tranid'], visibility: 'organization' },
  });
  const browser = visit();
  await browser.signIn(known);
  const pages = { '/': 200, '/records/invoice': 200, '/records/invoice/101': 200, '/profile': 200 };
  const more = {
    '/records/invoice?q=INV-1': 200,
    '/files/invoice.csv': 200,
    [`/views/${view.body.id}`]: 200,
    '/records/invoice/102': 404,
  };
  for (const [path, status] of Object.entries({ ...pages, ...more }))
    expect([path, (await browser.get(path)).status]).toEqual([path, status]);
  await usage.flush();
  const counted = await org.sql((tx) =>
    tx('portal_usage').where('record_type', '<>', '').select('email', 'record_type', 'succeeded', 'refused'),
  );
  expect(counted).toEqual([{ email: known, record_type: 'invoice', succeeded: '6', refused: '1' }]);
  const { data } = (await owner.api('get', '/portal/visitors')).body;
  const lastDay = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
  expect(data).toMatchObject([{ email: known, reads: [{ recordType: 'invoice', requests: 7, lastDay }] }]);
  expect((await owner.api('get', `/portal/visitors/${data[0].id}`)).body.reads).toEqual(data[0].reads);
});

const waitTexts = {
  en: 'Please wait a minute and try again.',
  de: 'Bitte warten Sie eine Minute',
  fr: 'Veuillez patienter une minute',
  es: 'Espere un minuto',
  nl: 'Wacht een minuut',
};

it('a visitor who asks too often waits, in all browsers and processes, and no one else does', async () => {
  const limited = { ...org.ctx, settings: { ...org.ctx.settings, rateLimitPerMinute: 3 } };
  const [app, other] = [createApp(limited, { usage }), createApp(limited, { usage })];
  const [browser, second] = [openBrowser(org, { app }), openBrowser(org, { app: other })];
  for (const one of [browser, second]) await one.signIn(known);
  const asked = async (one: typeof browser) => (await one.get('/profile')).status;
  const statuses = [await asked(browser), await asked(second), await asked(browser), await asked(second)];
  expect([...statuses, await asked(browser), await asked(second)]).toEqual(Array(6).fill(200));
  for (const [language, text] of Object.entries(waitTexts)) {
    const refused = await second.get('/records/invoice', { 'accept-language': language });
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    expect(refused.text).toContain(`lang="${language}"`);
    expect(refused.text).toContain(text);
    expect(refused.text).not.toContain('INV-1');
  }
  expect((await browser.post('/language', { language: 'de' })).status).toBe(303);
  expect((await browser.post('/customer', { customer: '1' })).status).toBe(429);
  const { body } = await owner.api('post', '/portal/visitors/view-as', { email: known });
  const viewer = openBrowser(org, { app });
  await viewer.post('/view-as', { code: body.code });
  expect(await asked(viewer)).toBe(200);
});
