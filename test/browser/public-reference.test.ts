import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type InvoiceRow, loadInvoices, publishVersion } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { launchChromium, listen, looks, openVisit, overflowOf, readTraces, type Site, saveScreenshot, type Visit } from './chromium.ts';

const rows: InvoiceRow[] = [
  {
    id: 1,
    tranid: 'INV-001',
    status: 'open',
    total: '100.50',
    seq: '1',
    paid: false,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T23:59:59Z',
    entity: '7',
    entityName: 'Aster & Sons',
    lines: '[]',
  },
  {
    id: 2,
    tranid: 'INV-002',
    status: 'paid',
    total: '0.12345678901234567890',
    seq: '2',
    paid: true,
    trandate: '2026-02-01',
    lastmodified: '2026-02-01T00:00:00Z',
    lines: '[]',
  },
];

let database: TestDatabase;
let site: Site;
let browser: Browser;
let tenant: string;
let key: string;
let visits: Visit[] = [];

beforeAll(async () => {
  database = await testDatabase({ settings: { publicUrl: 'https://portal.example.test' } });
  tenant = (await makeOrganization(database.ctx)).id;
  await loadInvoices(database.ctx, tenant, rows);
  await publishVersion(database.ctx, tenant);
  await publishVersion(database.ctx, tenant, { version: 'v2', status: 'draft' });
  await publishVersion(database.ctx, tenant, { version: 'v3', status: 'retired' });
  key = (await makeKey(database.ctx, tenant)).secret;
  site = await listen(createApp(database.ctx));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await database.close();
});
afterEach(async () => {
  for (const { context } of visits) await context.close();
  visits = [];
});

async function visit(address = '/v1/preview', options: Parameters<typeof openVisit>[1] = {}): Promise<Visit> {
  const made = await openVisit(browser, options);
  visits.push(made);
  await made.page.goto(`${site.origin}/api/public/openapi${address}`);
  return made;
}

async function signIn({ page }: Visit, credentials: { tenant?: string; key?: string } = {}): Promise<void> {
  await page.getByLabel('Tenant id').fill(credentials.tenant ?? tenant);
  await page.getByLabel('API key').fill(credentials.key ?? key);
  await page.getByRole('button', { name: 'Open the reference' }).click();
}

/** Opens the first operation and sends it. */
async function tryFirst({ page }: Visit) {
  await page.locator('.opblock-summary-control').first().click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  const answered = page.waitForResponse((response) => response.url().includes('/v1/invoices'));
  await page.getByRole('button', { name: 'Execute' }).click();
  return answered;
}

const operations = ({ page }: Visit) => page.locator('.opblock-summary-path').allInnerTexts();
const plain = (texts: string[]) => texts.map((text) => text.replaceAll('\u200b', '').trim());

describe('the shell of the public reference', () => {
  const shellOf = async (label: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${site.origin}/api/public/openapi/${label}/preview`, { headers });
    return {
      status: response.status,
      policy: response.headers.get('content-security-policy'),
      text: await response.text(),
      headers: response.headers,
    };
  };

  it('is the same for every label and caller', async () => {
    const shell = await shellOf('v1');
    expect(shell.status).toBe(200);
    for (const label of ['v2', 'v3', 'v999', 'latest', 'a%2Fb', '%3Cscript%3E', 'v1%3Fdraft=true']) {
      expect(await shellOf(label)).toMatchObject({ status: 200, text: shell.text, policy: shell.policy });
    }
    expect((await shellOf('v1', { authorization: `Bearer ${key}`, 'x-tenant-id': tenant })).text).toBe(shell.text);
  });

  it('carries a strict policy and is asked for again each time', async () => {
    const { policy, headers } = await shellOf('v1');
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-cache');
  });

  it('serves the listed files for good, and no others', async () => {
    const { text } = await shellOf('v1');
    const folder = /\/reference-assets\/[0-9a-f]{16}/.exec(text)?.[0] ?? '';
    const script = await fetch(`${site.origin}${folder}/swagger-ui-bundle.js`);
    expect(script.status).toBe(200);
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    for (const name of ['', 'package.json', 'index.html', 'public.html', '..%2freference-page.ts', '__proto__', 'constructor']) {
      expect((await fetch(`${site.origin}${folder}/${name}`)).status).toBe(404);
    }
    expect((await fetch(`${site.origin}/reference-assets/0000000000000000/public.js`)).status).toBe(404);
  });
});

describe('the public reference in a browser', () => {
  it('shows the operations of the version, from this origin and without a complaint', async () => {
    const made = await visit();
    await signIn(made);
    await made.page.getByText('List invoices').waitFor();
    expect(plain(await operations(made))).toEqual(['/v1/invoices', '/v1/invoices/{id}']);
    expect(await made.page.title()).toContain('v1');
    expect(made.complaints).toEqual([]);
    expect(made.requested.every((address) => new URL(address).origin === site.origin)).toBe(true);
  });

  it('tries a list request with both headers at its own origin', async () => {
    const made = await visit();
    await signIn(made);
    const response = await tryFirst(made);
    expect(response.status()).toBe(200);
    const sent = await response.request().allHeaders();
    expect(sent).toMatchObject({ authorization: `Bearer ${key}`, 'x-tenant-id': tenant });
    expect(sent['referer']).toBeUndefined();
    const shown = made.page.locator('.live-responses-table');
    await shown.getByText('INV-001').waitFor();
    const text = await shown.innerText();
    expect(text).toContain('200');
    expect(text).toContain('100.50');
    expect(text).toContain('0.12345678901234567890');
    expect(await made.page.locator('.curl-command').innerText()).toContain('YOUR_API_KEY');
    expect(made.complaints).toEqual([]);
    expect(made.requested.every((address) => new URL(address).origin === site.origin)).toBe(true);
  });

  it('hands an answer over as a file with the very digits', async () => {
    const made = await visit();
    await signIn(made);
    await tryFirst(made);
    const saving = made.page.waitForEvent('download');
    await made.page.locator('.live-responses-table .download-contents').click();
    const chunks = (await (await (await saving).createReadStream()).toArray()) as Buffer[];
    expect(Buffer.concat(chunks).toString()).toContain('"total": 0.12345678901234567890');
    expect(made.complaints).toEqual([]);
  });

  it('folds the answers that are not good ones', async () => {
    const made = await visit();
    await signIn(made);
    await made.page.locator('.opblock-summary-control').first().click();
    const retired = made.page.locator('.responses-table details', { hasText: 'The version has been retired.' });
    expect(await retired.getByText('"version_retired"').isVisible()).toBe(false);
    await retired.locator('summary').click();
    expect(await retired.getByText('"version_retired"').isVisible()).toBe(true);
    expect(await made.page.locator('.responses-table').getByText('"1042"').isVisible()).toBe(true);
  });

  it('keeps the key in memory alone', async () => {
    const made = await visit();
    await signIn(made);
    await tryFirst(made);
    await made.page.locator('.live-responses-table').getByText('INV-001').waitFor();
    const traces = await readTraces(made);
    expect(traces).not.toContain(key);
    expect(await made.context.storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] });
    await made.page.reload();
    expect(await made.page.getByLabel('API key').inputValue()).toBe('');
    expect(await readTraces(made)).not.toContain(key);
  });

  it('drops the key when another is to be used', async () => {
    const made = await visit(`/v1/preview#tenant=${tenant}`);
    await signIn(made);
    await made.page.getByText('List invoices').waitFor();
    await made.page.getByRole('button', { name: 'Use another key' }).click();
    await made.page.getByRole('button', { name: 'Open the reference' }).waitFor();
    expect(await made.page.getByText('List invoices').count()).toBe(0);
    expect(await made.page.getByLabel('API key').inputValue()).toBe('');
    expect(await made.page.getByLabel('Tenant id').inputValue()).toBe(tenant);
  });

  it('takes the tenant id from the fragment and asks for the key', async () => {
    const made = await visit(`/v1/preview#tenant=${tenant}`);
    await made.page.getByRole('button', { name: 'Open the reference' }).waitFor();
    expect(await made.page.getByLabel('Tenant id').inputValue()).toBe(tenant);
    expect(await made.page.evaluate('document.activeElement.id')).toBe('key');
    await made.page.keyboard.type(key);
    await made.page.keyboard.press('Enter');
    await made.page.getByText('List invoices').waitFor();
  });

  it('shows a draft only when asked to', async () => {
    const made = await visit('/v2/preview?draft=true');
    await signIn(made);
    await made.page.getByText('List invoices').waitFor();
    expect(plain(await operations(made))).toEqual(['/v2/invoices', '/v2/invoices/{id}']);
    expect(await made.page.locator('#version').innerText()).toBe('v2 draft');
  });

  it('stays usable when its scripts come late', async () => {
    const made = await openVisit(browser);
    visits.push(made);
    await made.context.route(/\.js$/, async (route) => {
      await new Promise((resolve) => {
        setTimeout(resolve, 700);
      });
      await route.continue();
    });
    await made.page.goto(`${site.origin}/api/public/openapi/v1/preview`, { waitUntil: 'commit' });
    await made.page.getByLabel('Tenant id').fill(tenant);
    await made.page.getByLabel('API key').fill(key);
    await made.page.keyboard.press('Enter');
    expect(made.page.url()).not.toContain(key);
    await made.page.getByRole('button', { name: 'Open the reference' }).click();
    await made.page.getByText('List invoices').waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('says what it needs where there is no JavaScript', async () => {
    const made = await visit('/v1/preview', { javaScriptEnabled: false });
    expect(await made.page.locator('body').innerText()).toContain('This page needs JavaScript');
    expect(await made.page.getByLabel('API key').isVisible()).toBe(false);
  });
});

describe('the problems of the public reference', () => {
  const unknownKey = 'psk_00000000000000000000000000000000000000000000';
  it.each([
    ['an unknown key', '/v1/preview', () => ({ key: unknownKey }), 'This API key is not valid'],
    ['a malformed tenant id', '/v1/preview', () => ({ tenant: 'acme' }), 'This tenant id is not valid'],
    ['another tenant', '/v1/preview', () => ({ tenant: '01890000-0000-7000-8000-000000000000' }), 'This key belongs to another tenant'],
    ['an unknown version', '/v9/preview', () => ({}), 'There is no version v9'],
    ['a draft that was not asked for', '/v2/preview', () => ({}), 'There is no version v2'],
    ['a draft that does not exist', '/v9/preview?draft=true', () => ({}), 'There is no draft of version v9'],
    ['a retired version', '/v3/preview', () => ({}), 'Version v3 has been retired'],
    ['nothing at all', '/v1/preview', () => ({ tenant: '' }), 'Enter the tenant id'],
    ['characters that no key has', '/v1/preview', () => ({ key: 'psk_…' }), 'The API key cannot be right'],
  ])('%s', async (_case, address, credentials, message) => {
    const made = await visit(address);
    await signIn(made, credentials());
    const alert = made.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain(message);
    expect(await operations(made)).toEqual([]);
    expect(await made.page.getByRole('button', { name: 'Open the reference' }).isEnabled()).toBe(true);
    expect(made.complaints.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
  });

  it('a key that is restricted to another version', async () => {
    const restricted = await makeKey(database.ctx, tenant, { versions: ['v2'] });
    const made = await visit();
    await signIn(made, { key: restricted.secret });
    await made.page.getByText('This key may not read version v1').waitFor();
  });

  it('a service that cannot be reached, and the way back', async () => {
    const made = await visit();
    await made.context.setOffline(true);
    await signIn(made);
    await made.page.getByText('The service cannot be reached').waitFor();
    await made.context.setOffline(false);
    await made.page.getByRole('button', { name: 'Open the reference' }).click();
    await made.page.getByText('List invoices').waitFor();
    expect(await made.page.getByRole('alert').count()).toBe(0);
  });
});

describe.each(looks)('the public reference at $name', ({ name, width, colorScheme }) => {
  it('fits its window', async () => {
    const made = await visit('/v1/preview', { viewport: { width, height: 900 }, colorScheme });
    await made.page.getByRole('button', { name: 'Open the reference' }).waitFor();
    await saveScreenshot(made.page, `public-${name}-form`);
    await signIn(made, { key: 'psk_wrong' });
    await made.page.getByRole('alert').waitFor();
    await saveScreenshot(made.page, `public-${name}-problem`);
    await signIn(made);
    await made.page.getByText('List invoices').waitFor();
    await saveScreenshot(made.page, `public-${name}-list`);
    await tryFirst(made);
    await made.page.locator('.live-responses-table').getByText('INV-001').waitFor();
    await saveScreenshot(made.page, `public-${name}-tried`, true);
    expect(await overflowOf(made.page)).toBe(0);
  });
});
