import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { until } from '../setup/until.ts';
import { accessibilityViolations, listen, readDownload, readTraces, withoutFailedLoads } from './chromium.ts';
import { exactDigits, longTitle, operation, send, useReference } from './reference-site.ts';

const reference = useReference();

describe('the shell of the public reference', () => {
  const readShell = async (label: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${reference.site.origin}/api/public/openapi/${label}/preview`, { headers });
    return {
      status: response.status,
      policy: response.headers.get('content-security-policy'),
      text: await response.text(),
      headers: response.headers,
    };
  };

  it('is the same for every label and caller', async () => {
    const shell = await readShell('v1');
    expect(shell.status).toBe(200);
    for (const label of ['v2', 'v6', 'v999', 'latest', 'a%2Fb', '%3Cscript%3E', 'v1%3Fdraft=true']) {
      expect(await readShell(label)).toMatchObject({ status: 200, text: shell.text, policy: shell.policy });
    }
    expect(
      (await readShell('v1', { authorization: `Bearer ${reference.key}`, 'x-tenant-id': reference.tenant }))
        .text,
    ).toBe(shell.text);
  });

  it('has a strict policy and is revalidated each time', async () => {
    const { policy, headers } = await readShell('v1');
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-cache');
  });

  it('serves the listed files as immutable, and no others', async () => {
    const { text } = await readShell('v1');
    const folder = /\/assets\/[0-9a-f]{16}/.exec(text)?.[0] ?? '';
    const script = await fetch(`${reference.site.origin}${folder}/reference/public.js`);
    expect(script.status).toBe(200);
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    for (const name of [
      '',
      'renderer/',
      'package.json',
      'public.html',
      '..%2freference-page.ts',
      'renderer/../../static-page.ts',
      '__proto__',
      'constructor',
    ]) {
      expect((await fetch(`${reference.site.origin}${folder}/${name}`)).status).toBe(404);
    }
    expect((await fetch(`${reference.site.origin}/assets/0000000000000000/reference/public.js`)).status).toBe(
      404,
    );
  });
});

/** The service trusts what it remembers of a record type for one second, and the page asks once. */
const untilStaleFieldsAre = (shown: boolean): Promise<true> =>
  until(async () => {
    const read = await fetch(`${reference.site.origin}/api/public/v1/invoices`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${reference.key}`, 'x-tenant-id': reference.tenant },
    });
    return read.headers.has('x-data-stale-fields') === shown ? true : undefined;
  });

describe('the public reference', () => {
  it('lists the resources, fields and filters with their descriptions', async () => {
    const made = await reference.visit();
    await reference.enter(made);
    await made.page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
    expect(await made.page.title()).toBe('Guide · v1 · API reference');
    await made.page.locator('.cards').getByRole('link', { name: 'invoices' }).click();
    const status = made.page.locator('.fields > div', { hasText: 'Where it stands' });
    expect(await status.innerText()).toMatch(/status[\s\S]*string or null[\s\S]*sort[\s\S]*3 filters/);
    expect(await made.page.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual([
      'List invoices',
      'List changes to invoices',
      'Retrieve an invoice',
    ]);
    await operation(made, 'listInvoices').getByRole('button', { name: 'Show all' }).click();
    const parameter = operation(made, 'listInvoices').locator('.parameter', {
      has: made.page.getByLabel('number_contains', { exact: true }),
    });
    expect(await parameter.innerText()).toContain('Contains this text, ignoring case');
    expect(await operation(made, 'listInvoices').getByText('whole UTC day').count()).toBe(1);
    expect(made.complaints).toEqual([]);
    expect(reference.staysHere(made)).toBe(true);
  });

  it('sends requests with both headers and shows every digit, page by page', async () => {
    const made = await reference.openAt('listInvoices');
    const list = operation(made, 'listInvoices');
    await list.getByRole('button', { name: 'First five' }).click();
    const response = await send(made, 'listInvoices');
    const sent = await response.request().allHeaders();
    expect(sent).toMatchObject({ authorization: `Bearer ${reference.key}`, 'x-tenant-id': reference.tenant });
    expect([sent['cookie'], sent['referer']]).toEqual([undefined, undefined]);
    await list.getByText('200 OK').waitFor();
    await list.getByText('Page 1 of 3, 12 records').waitFor();
    const body = list.getByRole('group', { name: 'Response body' });
    expect(await body.innerText()).toContain(`"total": ${exactDigits}`);
    expect(JSON.parse(await body.innerText())).toEqual(await response.json());
    const saving = made.page.waitForEvent('download');
    await list.getByRole('button', { name: 'Save the response' }).click();
    expect(await readDownload(await saving)).toBe(await response.text());

    await list.getByRole('button', { name: 'Next' }).click();
    await list.getByText('Page 2 of 3, 12 records').waitFor();
    await list.getByRole('button', { name: 'Last' }).click();
    await list.getByText('Page 3 of 3, 12 records').waitFor();
    expect(await list.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    expect(await body.innerText()).toContain('INV-012');
    await list.getByRole('button', { name: 'Repeat with this ETag' }).click();
    await list.getByText('Not modified: your copy').waitFor();

    const traces = await readTraces(made);
    expect(traces).not.toContain(reference.key);
    expect([made.page.url(), ...made.requested].join()).not.toContain(reference.tenant);
    expect(await made.context.storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] });
    expect(made.complaints).toEqual([]);
    expect(reference.staysHere(made)).toBe(true);
  });

  it('names the fields that the ERP cannot deliver and since when, as soon as there is a key to ask with', async () => {
    const { data } = reference.database.ctx.db;
    const state = `${tenantSchema(reference.tenant)}.record_state`;
    const since = '2026-02-20T08:30:00Z';
    const entry = {
      since,
      syncedAt: '2026-02-20T07:00:00Z',
      reason: 'unreadable',
      message: 'The ERP does not offer it',
    };
    await data.query(`update ${state} set stale_fields = $1`, [
      JSON.stringify({ trandate: entry, secretcost: entry }),
    ]);
    await untilStaleFieldsAre(true);
    try {
      const made = await reference.openAt('listInvoices');
      const notice = made.page.getByRole('status').filter({ hasText: 'out of date' });
      await notice.waitFor();
      expect(await notice.getByRole('listitem').allInnerTexts()).toEqual([
        'date, since February 20, 2026 at 08:30 UTC',
      ]);
      expect(await notice.innerText()).toContain('keep the values of February 20, 2026 at 07:00 UTC');
      expect(await accessibilityViolations(made.page)).toEqual([]);
      expect(made.complaints).toEqual([]);
    } finally {
      await data.query(`update ${state} set stale_fields = '{}'`);
    }
    await untilStaleFieldsAre(false);
    const healed = await reference.openAt('listInvoices');
    await send(healed, 'listInvoices');
    expect(await healed.page.getByRole('status').filter({ hasText: 'out of date' }).count()).toBe(0);
  });

  it('reports an empty result, an invalid parameter and a missing required value', async () => {
    const made = await reference.openAt('listInvoices');
    const list = operation(made, 'listInvoices');
    await list.locator('summary', { hasText: 'status' }).first().click();
    await list.getByRole('textbox', { name: 'status', exact: true }).fill('lost');
    await send(made, 'listInvoices');
    await list.getByText('No records match.').waitFor();
    await list.getByLabel('pageSize').fill('0');
    await send(made, 'listInvoices');
    await list.getByText('400 Bad Request').waitFor();
    await list.getByText('"pageSize" must be a whole number', { exact: false }).first().waitFor();
    expect(await list.getByRole('group', { name: 'Response body' }).innerText()).toContain(
      '"path": "pageSize"',
    );
    const one = operation(made, 'getInvoice');
    await one.getByRole('button', { name: 'Send' }).click();
    expect(await one.locator(':focus').getAttribute('aria-invalid')).toBe('true');
    await one.getByRole('textbox', { name: 'id', exact: true }).fill('2');
    await send(made, 'getInvoice');
    await one.getByRole('group', { name: 'Response body' }).getByText('"INV-002"').waitFor();
  });

  it('shows the exact request as sample code in three languages', async () => {
    const made = await reference.openAt('listInvoices', 'v1', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const list = operation(made, 'listInvoices');
    await list.locator('summary', { hasText: 'status' }).first().click();
    await list.getByRole('textbox', { name: 'status', exact: true }).fill('open\npaid in "full" & \'more\'');
    await list.locator('summary', { hasText: 'Choose' }).click();
    await list.getByRole('checkbox', { name: 'number', exact: true }).check();
    await list.getByRole('checkbox', { name: 'status', exact: true }).check();
    const asked = new URL((await send(made, 'listInvoices')).url());
    expect(asked.searchParams.getAll('status')).toEqual(['open', 'paid in "full" & \'more\'']);
    expect(asked.searchParams.get('fields')).toBe('number,status');
    const code = list.getByRole('group', { name: 'Example of the request' });
    const curl = await code.innerText();
    const { stdout } = await promisify(execFile)('/bin/sh', [
      '-c',
      `curl() { printf '%s\\n' "$@"; }\n${curl}`,
    ]);
    const [address = '', ...flags] = stdout.trim().split('\n');
    expect([new URL(address).href, ...flags]).toEqual([
      asked.href,
      '-H',
      'Authorization: Bearer YOUR_API_KEY',
      '-H',
      `x-tenant-id: ${reference.tenant}`,
    ]);
    await list.getByRole('radio', { name: 'JavaScript' }).check();
    const program = `${(await code.innerText()).replace('YOUR_API_KEY', reference.key)}\nconsole.log(JSON.stringify(data))`;
    const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(JSON.parse(ran.stdout)).toHaveLength(12);
    await list.getByRole('radio', { name: 'Python' }).check();
    await list.getByRole('button', { name: 'Copy the example' }).click();
    const copied = await made.page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('("status", "paid in \\"full\\" & \'more\'"),');
    expect(copied).not.toContain(reference.key);
  });

  it('can be used with the keyboard alone, also with many resources', async () => {
    const made = await reference.visit('/v4/preview');
    await reference.enter(made);
    const { page } = made;
    await page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('resource-33 date_after');
    await page.getByText('1 operation', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#title-listResource33:focus').waitFor();
    expect(await page.getByRole('link', { name: 'List resource 33' }).getAttribute('aria-current')).toBe(
      'page',
    );
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: longTitle, level: 2 }).waitFor();
    await page.goBack();
    await page.locator('#title-listResource33:focus').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('nothing like it');
    await page.getByText('Nothing found').waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('stores the chosen theme and nothing else', async () => {
    const made = await reference.visit('/v1/preview', { colorScheme: 'light' });
    const background = () => made.page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await background();
    await made.page.getByLabel('Theme').selectOption('Dark');
    expect(await background()).not.toBe(light);
    await made.page.reload();
    expect(await background()).not.toBe(light);
    expect((await made.context.storageState()).origins).toEqual([
      { origin: reference.site.origin, localStorage: [{ name: 'reference-theme', value: 'dark' }] },
    ]);
    await made.page.getByLabel('Theme').selectOption('System theme');
    expect(await background()).toBe(light);
    expect((await made.context.storageState()).origins).toEqual([]);
  });

  it('takes the tenant id from the fragment, and discards the key when the reader changes it', async () => {
    const made = await reference.visit(`/v1/preview#tenant=${reference.tenant}`);
    const { page } = made;
    await page.getByRole('button', { name: 'Open the reference' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('key');
    await page.keyboard.type(reference.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
    await page.getByRole('button', { name: 'Use another key' }).click();
    await page.getByRole('button', { name: 'Open the reference' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Test' }).count()).toBe(0);
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    expect(await page.getByLabel('Tenant id').inputValue()).toBe(reference.tenant);
  });

  it('shows the changes of a draft, and sends no requests for it', async () => {
    const made = await reference.visit('/v6/preview?draft=true');
    await reference.enter(made);
    await made.page.getByText('This is a draft.').waitFor();
    expect(await made.page.locator('#version').innerText()).toBe('v6 draft');
    const changes = made.page.locator('.changes');
    expect(await changes.getByRole('heading').innerText()).toMatch(
      /^Changes from v5\s*7, 7 of them breaking$/,
    );
    expect(await changes.innerText()).toContain('The sort number of invoices was removed.');
    await made.page.locator('.cards').getByRole('link', { name: 'invoices' }).click();
    await made.page.getByText('serves no requests until it is published').first().waitFor();
    expect(await made.page.getByRole('button', { name: 'Send' }).count()).toBe(0);
  });

  it('shows that a version is deprecated, its sunset date and its successor', async () => {
    const made = await reference.visit('/v3/preview');
    await reference.enter(made);
    await made.page.getByText(/Deprecated since .* It may be retired from January 31, 2027 on\./).waitFor();
    expect(await made.page.getByRole('link', { name: 'Go to v5' }).getAttribute('href')).toBe(
      '/api/public/openapi/v5/preview',
    );
  });

  it('shows any markup in a description as text, and saves responses that are not JSON', async () => {
    const made = await reference.openAt('getShell', 'v5');
    const shell = operation(made, 'getShell');
    await shell.getByLabel('Response format').selectOption('text/html');
    expect(await shell.getByRole('group', { name: 'Example of the request' }).innerText()).toContain(
      "-H 'Accept: text/html'",
    );
    const saving = made.page.waitForEvent('download');
    await send(made, 'getShell');
    expect(await readDownload(await saving)).toContain('<title>API reference · Portal Service</title>');
    await shell.getByText('Saved as').waitFor();
    const list = operation(made, 'listInvoices');
    await list.getByRole('button', { name: 'First five' }).click();
    const example = list.getByRole('group', { name: 'Example of the request' });
    expect(await example.innerText()).toContain('pageSize=5');
    await list.getByLabel('Response format').selectOption('text/csv');
    expect(await example.innerText()).toMatch(
      /invoices' [^?]*'Accept: text\/csv'[^?]*--output 'invoices.csv'$/,
    );
    await made.page.getByRole('link', { name: 'Guide' }).click();
    expect(await made.page.locator('.guide .prose').first().innerHTML()).toBe(
      '<p>A &lt;b&gt;bold&lt;/b&gt; word, a link and a picture.</p>',
    );
    expect(made.complaints).toEqual([]);
    expect(reference.staysHere(made)).toBe(true);
  });

  it('saves a complete list as CSV', async () => {
    const made = await reference.openAt('listInvoices');
    const list = operation(made, 'listInvoices');
    await list.getByLabel('Response format').selectOption('text/csv');
    const saving = made.page.waitForEvent('download');
    await send(made, 'listInvoices');
    const lines = (await readDownload(await saving)).split('\r\n');
    expect([lines[0]?.split(',')[0], lines.length]).toEqual(['id', 1 + 12 + 1]);
    await list.getByText('Saved as').waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('reports a response that breaks off in the middle, and keeps nothing of it', async () => {
    const app = express();
    // Like a failing network: the headers and a part of the body arrive, the rest never does.
    app.get('/api/public/v1/invoices', (req, res) => {
      res.set({ 'content-type': req.headers.accept ?? '', 'content-length': '10000' });
      res.write(req.headers.accept === 'text/csv' ? 'id,number\r\n1,INV-' : '{"data":[{"id":"1","num', () =>
        res.destroy(),
      );
    });
    app.use(createApp(reference.database.ctx));
    const site = await listen(app);
    onTestFinished(() => site.close());
    const made = await reference.newVisit();
    await made.page.goto(`${site.origin}/api/public/openapi/v1/preview#at=listInvoices`);
    await reference.enter(made);
    const list = operation(made, 'listInvoices');
    for (const type of ['text/csv', 'application/json']) {
      await list.getByLabel('Response format').selectOption(type);
      await list.getByRole('button', { name: 'Send' }).click();
      await list.getByText('The response is incomplete').waitFor();
      expect(await list.getByText('Saved as').count()).toBe(0);
      expect(await list.innerText()).not.toContain('INV-');
    }
    expect(withoutFailedLoads(made)).toEqual([]);
  });

  it('stays usable when its scripts load late, and says that it needs JavaScript without them', async () => {
    const made = await reference.newVisit();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await made.context.route(/\.js$/, async (route) => {
      await released;
      await route.continue();
    });
    await made.page.goto(`${reference.site.origin}/api/public/openapi/v1/preview`, { waitUntil: 'commit' });
    await made.page.getByLabel('Tenant id').fill(reference.tenant);
    await made.page.getByLabel('API key').fill(reference.key);
    await made.page.keyboard.press('Enter');
    expect(made.page.url()).not.toContain(reference.key);
    release();
    await made.page.getByRole('button', { name: 'Open the reference' }).click();
    await made.page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
    expect(made.complaints).toEqual([]);
    const plain = await reference.visit('/v1/preview', { javaScriptEnabled: false });
    expect(await plain.page.locator('body').innerText()).toContain('This page needs JavaScript');
    expect(await plain.page.getByLabel('API key').isVisible()).toBe(false);
  });
});
