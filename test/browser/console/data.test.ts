// Browsing the records of a version, by keyboard: filters, sort, pages, one record, export, views; and what
// masks hide.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { setAccount } from '../../setup/erp-account.ts';
import { makeKey } from '../../setup/organization.ts';
import { readDownload } from '../chromium.ts';
import { choose, madeUpInvoices, press, tabTo, type, useConsole } from './console-site.ts';

const exactTotal = '123456789012345678.12345678901234567890';
const shownTotal = '123,456,789,012,345,678.12345678901234567890';
const lines = JSON.stringify([
  { item: '7', 'item.name': 'Desk', quantity: '2.50' },
  { item: '8', 'item.name': 'Chair', quantity: '10' },
]);
const invoices = madeUpInvoices(90).map((row, index) =>
  index === 0 ? { ...row, total: exactTotal, lines } : row,
);
const maskedFields = invoicesEndpoint.fields.map((field) =>
  field.name === 'customerName' ? { ...field, mask: 'hash' } : field,
);

const site = useConsole({ invoices, published: true });
beforeAll(async () => {
  const masked = { ...invoicesEndpoint, fields: maskedFields, search: ['number'] };
  const { ctx } = site.database;
  await publishVersion(ctx, site.organizationId, { version: 'v2', endpoints: [masked] });
  await publishVersion(ctx, site.organizationId, { version: 'v3', endpoints: [summarized] });
});

const summarized = {
  ...invoicesEndpoint,
  aggregates: [{ field: 'total', functions: ['sum'] }],
  groups: [{ field: 'date', periods: ['month'] }],
};
/** The answer to a command that the page shows. */
async function run(command: string, secret: string): Promise<{ data: object[]; total: number }> {
  const headers = [...command.matchAll(/-H "(.+?): (.+?)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value.replace('YOUR_API_KEY', secret)],
  );
  const response = await fetch(/"(http[^"]+)"$/.exec(command)?.[1] ?? '', { headers });
  return response.json() as ReturnType<typeof run>;
}

const readIds = async (page: Page): Promise<string[]> =>
  page.getByRole('link', { name: /^Open record / }).allTextContents();
const waitForIds = (page: Page, ids: readonly string[]) =>
  expect.poll(() => readIds(page), { timeout: 20_000 }).toEqual(ids);

async function addFilter(page: Page, field: string, condition: string, value: string): Promise<void> {
  await press(page, page.getByRole('button', { name: 'Add a filter' }));
  await press(
    page,
    page.getByRole('list', { name: 'Fields' }).getByRole('button', { name: field, exact: true }),
  );
  await choose(page, 'Condition', condition);
  await type(page, page.getByLabel('Value'), value);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove the filter ${field} ${condition} ${value}` }).waitFor();
}

/** Sends only some bytes of the next CSV file, until `cut` closes the connection. `asked`: where each file begins. */
function breakNextFile(bytes: number) {
  const asked: (string | undefined)[] = [];
  const broken = Promise.withResolvers<ServerResponse>();
  site.service.server.prependListener('request', ({ headers }: IncomingMessage, res: ServerResponse) => {
    if (headers.accept !== 'text/csv' || asked.push(headers['x-resume-at'] as string | undefined) > 1) return;
    let left = bytes;
    const { write } = res;
    res.write = (chunk: Buffer) => {
      const part = chunk.subarray(0, left);
      left -= part.length;
      return part.length === 0 || write.call(res, part, 'utf8');
    };
    res.end = () => res;
    broken.resolve(res);
  });
  const cut = async (): Promise<void> => void (await broken.promise).socket?.destroySoon();
  return { asked, cut };
}

describe('the records of a version', () => {
  it('are filtered, sorted, paged and exported; the address shows the same again', async () => {
    const { page, finish } = await site.open('/data');
    await page.getByRole('link', { name: 'invoices' }).last().waitFor();
    await finish({ name: 'data-versions' });
    await press(page, page.getByRole('link', { name: 'invoices' }).last());
    await page.getByText('90 records').waitFor();
    await press(page, page.getByRole('search').getByRole('button', { name: 'status', exact: true }));
    await page.getByRole('checkbox', { name: /^paid ?30$/ }).waitFor();
    await finish({ name: 'data-values', fullPage: false });
    await press(page, page.getByRole('checkbox', { name: /^open ?60$/ }), { key: 'Space' });
    await page.keyboard.press('Enter');
    await page.getByText('60 records').waitFor();
    await press(page, page.getByRole('button', { name: 'status is open', exact: true }));
    expect(await page.getByRole('checkbox', { name: /^open/ }).isChecked()).toBe(true);
    await page.keyboard.press('Escape');
    await addFilter(page, 'total', 'is more than', '3000.5');
    const { data, pagination } = (
      await site.api(
        'get',
        `/api-schema/${site.schemaId}/records/invoices?status=open&total_gt=3000.5&sort=total`,
      )
    ).body;
    await page.getByText(`${pagination.total} records`).waitFor();
    const { body: sums } = await site.api(
      'get',
      `/api-schema/${site.schemaId}/records/invoices/summary?status=open&total_gt=3000.5&sum=total`,
    );
    const [whole, cents] = sums.data[0].sum.total.split('.');
    await page.getByText(`${Number(whole).toLocaleString('en')}.${cents}`).waitFor();
    await press(page, page.getByRole('button', { name: 'total', exact: true }));
    await waitForIds(
      page,
      data.map((record: { id: string }) => record.id),
    );
    const downloading = page.waitForEvent('download');
    await press(page, page.getByRole('button', { name: 'Export', exact: true }));
    await press(page, page.getByRole('button', { name: 'CSV' }));
    const file = await downloading;
    expect(file.suggestedFilename()).toBe('v1-invoices.csv');
    const csv = (await readDownload(file)).trimEnd().split('\r\n');
    expect(csv.length).toBe(pagination.total + 1);
    const statusAt = csv[0]?.split(',').indexOf('status') ?? -1;
    expect(new Set(csv.slice(1).map((line) => line.split(',')[statusAt]))).toEqual(new Set(['open']));
    await page.getByText(`Exported ${pagination.total} records`).waitFor();
    await press(page, page.getByRole('button', { name: 'Next' }));
    await page.getByText('Page 2 of').waitFor();
    const [shown, address] = [await readIds(page), page.url()];
    expect(address).toContain('filter=status%3Aeq%3Aopen');
    await page.reload();
    await waitForIds(page, shown);
    await finish({ name: 'data-filtered' });
    await page.goBack();
    await page.getByText('Page 1 of').waitFor();
    await press(page, page.getByRole('button', { name: 'Remove the filter status is open' }));
    await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('Add a filter');
  });

  it('are plotted by month and by value; a bar leads to its records, and the request can be copied', async () => {
    const { page, finish } = await site.open('/data/v1/invoices?filter=status:eq:open');
    const { secret } = await makeKey(site.database.ctx, site.organizationId);
    const command = page.locator('.popover code').last();
    await press(page, page.getByRole('button', { name: 'Plot', exact: true }));
    const plot = page.getByRole('region', { name: 'Plot' });
    await tabTo(page, plot.getByRole('slider', { name: 'Number of records by date.month' }));
    await page.keyboard.press('ArrowLeft');
    await plot.locator('figcaption').getByText('Dec 2026: 7 records').waitFor();
    await finish({ name: 'data-plot' });
    await press(page, plot.getByRole('button', { name: 'Copy the request' }));
    await plot.getByText('v1 does not declare the group date.month for callers').waitFor();
    expect((await run(await command.innerText(), secret)).total).toBe(8);
    await page.keyboard.press('Escape');
    await choose(page, 'Show', 'Sum of total');
    await choose(page, 'By', 'customerName');
    await plot.getByRole('list').getByText('Böttcher Großhandel').waitFor();
    await finish({ name: 'data-plot-values' });
    await page.goto(`${site.origin}/console/data/v3/invoices?plot=date.month&of=total`);
    await press(page, plot.getByRole('button', { name: 'Copy the request' }));
    const { data, total } = await run(await command.innerText(), secret);
    expect([total, data[0]]).toEqual([
      12,
      { 'date.month': '2026-12', sum: { total: expect.stringMatching(/^\d+\.\d\d$/) } },
    ]);
    await page.keyboard.press('Escape');
    await tabTo(page, plot.getByRole('slider'));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove the filter date is on or after 2026-12-01' }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter date is on or before 2026-12-31' }).waitFor();
    await expect.poll(async () => (await readIds(page)).length).toBe(7);
  });

  it('are exported again after the connection broke, and as a workbook', async () => {
    const { page, finish } = await site.open('/data/v1/invoices');
    const exportAs = async (form: string): Promise<void> => {
      await press(page, page.getByRole('button', { name: 'Export', exact: true }));
      await press(page, page.getByRole('button', { name: form }));
    };
    await press(page, page.getByRole('button', { name: 'Export', exact: true }));
    await page.getByRole('button', { name: 'CSV' }).waitFor();
    await finish({ name: 'data-export', fullPage: false });
    await page.keyboard.press('Escape');
    const workbook = page.waitForEvent('download');
    await exportAs('For Excel (.xlsx)');
    expect((await workbook).suggestedFilename()).toBe('v1-invoices.xlsx');
    await page.getByText('Exported 90 records').waitFor();
    await page.context().setOffline(true);
    await exportAs('CSV');
    const problem = page.getByRole('alert').filter({ hasText: 'The service did not answer' });
    await problem.waitFor();
    await page.context().setOffline(false);
    const again = page.waitForEvent('download');
    await press(page, problem.getByRole('button', { name: 'Try again' }));
    const whole = await readDownload(await again);
    expect(whole.trimEnd().split('\r\n')).toHaveLength(91);
    await page.getByText('Exported 90 records').waitFor();
    const breakExport = async () => {
      const { asked, cut } = breakNextFile(3_000);
      await exportAs('CSV');
      await page.getByText('28 of 90 records, 3.0 kB so far').waitFor();
      await cut();
      await broken.getByText('The rest can still be read.').waitFor();
      return asked;
    };
    const broken = page.getByRole('alert').filter({ hasText: 'The connection broke off after' });
    const asked = await breakExport();
    const failures = ['ERR_INTERNET_DISCONNECTED', 'ERR_INCOMPLETE_CHUNKED_ENCODING'];
    await finish({ name: 'data-export-broken', fullPage: false, failures });
    const rest = page.waitForEvent('download');
    await press(page, broken.getByRole('button', { name: 'Continue' }));
    expect(await readDownload(await rest)).toBe(whole);
    expect(asked).toEqual([undefined, '3000']);
    await breakExport();
    await loadInvoices(site.service.ctx, site.organizationId, invoices);
    await press(page, broken.getByRole('button', { name: 'Continue' }));
    const changed = page.getByRole('alert').filter({ hasText: 'The data changed since' });
    const anew = page.waitForEvent('download');
    await press(page, changed.getByRole('button', { name: 'Try again' }));
    expect(await readDownload(await anew)).toBe(whole);
  });

  it('opens one record with its lines and its exact digits, and comes back to the list', async () => {
    const { page, finish } = await site.open('/data/v1/invoices');
    await press(page, page.getByRole('link', { name: 'Open record 1', exact: true }));
    const panel = page.getByRole('complementary', { name: 'Record 1' });
    await panel.getByText(shownTotal).first().waitFor();
    await panel.getByText('Desk').waitFor();
    await panel.getByText('2.50').waitFor();
    await finish({ name: 'data-record' });
    const readWidth = async (): Promise<number> => (await panel.boundingBox())?.width ?? 0;
    const wide = await readWidth();
    await press(page, panel.getByRole('button', { name: 'Narrower' }));
    await expect.poll(readWidth).toBeLessThan(wide);
    await page.reload();
    await expect.poll(readWidth).toBeLessThan(wide);
    await panel.waitFor();
    await page.getByRole('link', { name: 'Open record 1', exact: true }).waitFor();
    await tabTo(page, page.getByRole('button', { name: 'Close the record' }));
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    const focused = () => page.evaluate('document.activeElement?.getAttribute("aria-label")');
    await expect.poll(focused).toBe('Open record 1');
    await page.goto(`${site.origin}/console/data/v1/invoices?record=80`);
    await page.getByRole('complementary', { name: 'Record 80' }).getByText('INV-1079').waitFor();
  });

  it('have columns that are widened and pinned, and are walked through by the arrow keys', async () => {
    const all = invoicesEndpoint.fields.map(({ name }) => name).join();
    const address = `/data/v1/invoices?columns=${all}`;
    const { page, finish } = await site.open(address, { browser: { viewport: { width: 900, height: 700 } } });
    const focused = () => page.evaluate('document.activeElement?.getAttribute("aria-label")');
    const edge = page.getByRole('separator', { name: 'Width of number' });
    const readWidth = async (): Promise<number> => Number(await edge.getAttribute('aria-valuenow'));
    const link = page.getByRole('link', { name: 'Open record 1', exact: true });
    const more = page.getByRole('button', { name: /more columns?/ });
    const heads = page.getByRole('columnheader');
    const countHidden = async (): Promise<number> =>
      (await more.count()) === 0 ? 0 : Number.parseInt((await more.textContent()) ?? '', 10);
    await more.waitFor();
    const [idAt, numberAt, hidden] = [
      await link.boundingBox(),
      await heads.nth(1).boundingBox(),
      await countHidden(),
    ];
    await press(page, more);
    await expect.poll(countHidden).toBeLessThan(hidden);
    expect((await link.boundingBox())?.x).toBe(idAt?.x);
    expect((await heads.nth(1).boundingBox())?.x).toBeLessThan(numberAt?.x ?? 0);
    await tabTo(page, edge);
    const before = await readWidth();
    for (const _ of [1, 2, 3]) await page.keyboard.press('ArrowRight');
    await expect.poll(readWidth).toBe(before + 48);
    await press(page, page.getByRole('button', { name: 'Columns', exact: true }));
    await press(page, page.getByRole('button', { name: 'Pin customerName' }));
    await press(page, page.getByRole('button', { name: /^Show 11 columns/ }));
    await expect.poll(() => heads.nth(1).getAttribute('aria-label')).toBe('customerName');
    await finish({ name: 'data-columns' });
    await page.reload();
    await expect.poll(readWidth).toBe(before + 48);
    await tabTo(page, link);
    await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toBe('Open record 2');
    await page.keyboard.press('Space');
    await page.getByRole('complementary', { name: 'Record 2' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('complementary', { name: 'Record 3' }).waitFor();
    expect(await focused()).toBe('Open record 3');
    await page.keyboard.press('Escape');
    await page.getByRole('complementary', { name: 'Record 3' }).waitFor({ state: 'detached' });
    expect(await focused()).toBe('Open record 3');
  });

  it('are saved as a view with the chosen columns, filters and order', async () => {
    const { page, finish } = await site.open(
      '/data/v1/invoices?filter=status:eq:open&filter=status:eq:paid&filter=paid:null:false&sort=date&order=desc',
    );
    await page.getByRole('button', { name: 'Remove the filter status is open or paid' }).waitFor();
    await press(page, page.getByRole('button', { name: 'Columns' }));
    await press(page, page.getByRole('checkbox', { name: 'customerName' }), { key: 'Space' });
    await press(page, page.getByRole('button', { name: /^Show 9 columns/ }));
    await page.getByRole('columnheader', { name: 'customerName' }).waitFor();
    await press(page, page.getByRole('button', { name: 'As a request' }));
    await page.getByText('status=open&status=paid&paid_null=false&sort=date&order=desc').waitFor();
    await page.keyboard.press('Escape');
    await press(page, page.getByRole('button', { name: 'Save as view' }));
    await type(page, page.getByLabel('Name'), 'Open and paid');
    await press(page, page.getByRole('button', { name: 'Save the view' }));
    await page.getByRole('link', { name: 'Open Open and paid' }).waitFor();
    await finish({ name: 'data-view' });
    const [view] = (await site.api('get', '/views?q=paid')).body.data;
    expect(view).toMatchObject({
      recordType: 'invoice',
      filters: [
        { field: 'status', operator: 'eq', value: ['open', 'paid'] },
        { field: 'paid', operator: 'null', value: false },
      ],
      sort: [{ field: 'trandate', direction: 'desc' }],
    });
    const { body } = await site.api('get', `/views/${view.id}/records`);
    expect([body.pagination.total, body.problems]).toEqual([90, []]);
  });

  it('are masked for people without unmasked access, and searched where the version declares it', async () => {
    const { page, finish } = await site.open('/data/v2/invoices?columns=number,customerName', {
      role: 'viewer',
    });
    await page.getByRole('columnheader', { name: 'customerName (masked)' }).waitFor();
    await page
      .getByText(/^[0-9a-f]{64}$/)
      .first()
      .waitFor();
    await press(page, page.getByRole('button', { name: 'Add a filter' }));
    const fields = page.getByRole('list', { name: 'Fields' });
    await fields.getByRole('button', { name: 'status' }).waitFor();
    expect(await fields.getByRole('button').allTextContents()).not.toContain('customerName');
    await finish({ name: 'data-masked' });
    await page.keyboard.press('Escape');
    await type(page, page.getByRole('searchbox', { name: 'Search in number' }), 'INV-1007');
    await page.keyboard.press('Enter');
    await waitForIds(page, ['8']);
    expect(await page.getByRole('button', { name: 'Save as view' }).isVisible()).toBe(false);
  });

  it('are not shown as if filtered when the address has what the list does not understand', async () => {
    const { page, finish } = await site.open('/data/v1/invoices');
    for (const search of ['filter=status:Open', 'status=Open', 'order=up', 'page=x', 'columns=number,nope']) {
      await page.goto(`${site.origin}/console/data/v1/invoices?${search}`);
      await page.getByText(`does not understand ${search} in its address`).waitFor();
      expect([
        await readIds(page),
        await page.getByRole('button', { name: 'Export', exact: true }).count(),
      ]).toEqual([[], 0]);
    }
    await finish({ name: 'data-not-understood' });
    await press(page, page.getByRole('link', { name: 'Choose a version and a resource' }));
    await press(page, page.getByRole('link', { name: 'invoices' }).last());
    await page.getByText('90 records').waitFor();
  });

  it('show the problem of a filter that the version does not declare, in the words of the service', async () => {
    const { page, complaints } = await site.open('/data/v1/invoices?filter=statsu:eq:open');
    await page.getByRole('alert').getByText('statsu').first().waitFor();
    expect(complaints.filter((text) => !text.includes('status of 400'))).toEqual([]);
  });

  it('are added up and plotted in each currency for itself', async () => {
    await site.arrange(async (tx) => {
      const own = { organization_id: site.organizationId };
      const fields = [{ name: 'total', currency: 'entity' }];
      await tx('erp_record_types').insert({
        ...own,
        name: 'invoice',
        position: 0,
        head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
        description: JSON.stringify({ fields }),
        described_at: new Date(),
      });
      await setAccount(tx, own.organization_id, { hasCurrencies: true });
    });
    const { page, finish } = await site.open('/data/v1/invoices?filter=status:eq:open&plot=status&of=total');
    const sums = ['210,266.44\u00a0Böttcher Großhandel', '201,347.86\u00a0Celeste Imports'];
    await page.getByText(sums.join(' + ')).waitFor();
    const ranking = page.getByRole('list', { name: 'Sum of total by status' });
    await ranking.getByText(sums[0] ?? '').waitFor();
    await choose(page, 'Currency', 'Celeste Imports');
    await ranking.getByText(sums[1] ?? '').waitFor();
    await finish({ name: 'data-currencies' });
  });
});
