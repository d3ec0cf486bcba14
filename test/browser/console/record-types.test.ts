// Choosing what is synced, by keyboard: many record types at once, and the fields of one.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { press, tabTo, type, useConsole } from './console-site.ts';

const site = useConsole({ erp: 'connected' });

describe('record types', () => {
  it('are searched, chosen in bulk and synced after an estimate', async () => {
    const { page, requested, finish } = await site.open('/record-types');
    await page.getByRole('row').nth(5).waitFor();
    expect(requested.filter((address) => address.includes('/api/platform/')).length).toBeLessThanOrEqual(6);
    // Whatever a row says, it has the height of the others.
    const heights = await page.evaluate<number[]>(
      "[...new Set([...document.querySelectorAll('.rt-types tbody tr')].map((row) => Math.round(row.offsetHeight)))]",
    );
    expect(heights.length === 1 && (heights[0] ?? 99) <= 45, `${heights}`).toBe(true);
    await finish({ name: 'record-types-1-list' });

    await type(page, page.getByLabel('Search'), 'employee');
    await page.getByRole('link', { name: 'Vendor', exact: true }).waitFor({ state: 'detached' });
    await page.waitForURL(/q=employee/);
    await press(page, page.getByLabel('Choose Employee', { exact: true }), { key: 'Space' });
    await type(page, page.getByLabel('Search'), 'customer');
    await page.waitForURL(/q=customer/);
    await press(page, page.getByLabel(/^Select all/), { key: 'Space' });
    await page.reload();
    const bar = page.getByText(/record types chosen/);
    await bar.waitFor();
    await press(page, page.getByRole('button', { name: 'Count records' }));
    const customer = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'Customer', exact: true }) });
    await customer.getByText(/^\d\d/).waitFor();
    await finish({ name: 'record-types-2-chosen' });

    await press(page, page.getByRole('link', { name: 'Plan the syncs' }));
    const create = page.getByRole('button', { name: /^Create \d+ syncs$/ });
    await create.waitFor();
    await page
      .getByText(
        /^Creates \d+ syncs with [\d,]+ fields in all: every field that can be synced,.* Schedule: Every 15 minutes\./,
      )
      .waitFor();
    await finish({ name: 'record-types-3-plan' });
    await press(page, create);
    await page.getByText('Their first loads have started.').waitFor();
    const { data: made } = (await site.api('get', '/sync-configs')).body;
    expect(made.length).toBeGreaterThan(1);
    expect(
      new Set(made.map(({ lastRun }: { lastRun: { status: string } | null }) => lastRun?.status)),
    ).toEqual(new Set(['queued']));
    await press(page, page.getByRole('main').getByRole('link', { name: 'Record types' }));
    await page.getByRole('row').filter({ hasText: 'Employee' }).getByText('Synced').first().waitFor();
  });
});

describe('a record type', () => {
  it('proposes fields, and its sync is created with those that were chosen', async () => {
    const { page, finish } = await site.open('/record-types/invoice');
    await page.getByRole('heading', { level: 1, name: 'Invoice' }).waitFor();
    await finish({ name: 'record-type-1-proposal' });
    const number = page.getByLabel('Sync Document number (tranid)');
    expect(await number.isChecked()).toBe(true);
    await type(page, page.getByLabel('Search fields'), 'exchange');
    await number.waitFor({ state: 'hidden' });
    await press(page, page.getByLabel('Sync Exchange rate (exchangerate)'), { key: 'Space' });
    await page.reload();
    await number.waitFor();
    expect(await page.getByLabel('Sync Exchange rate (exchangerate)').isChecked()).toBe(false);
    await press(page, page.getByRole('button', { name: 'Estimate the first load' }));
    await page.getByText('Requests to the ERP').waitFor();
    await finish({ name: 'record-type-2-estimate' });
    await press(page, page.getByRole('button', { name: 'Create sync' }));
    await page.waitForURL(/\/console\/runs\//);
    const { body } = await site.api('get', '/sync-configs?recordType=invoice');
    const [sync] = body.data;
    expect(sync.fields).toContain('tranid');
    expect(sync.fields).not.toContain('exchangerate');
    expect(sync).toMatchObject({ schedule: '*/15 * * * *', lastRun: { status: 'queued' } });
  });

  it('of an existing sync has its fields changed', async () => {
    const { body } = await site.api('post', '/sync-configs', {
      name: 'Vendors',
      recordType: 'vendor',
      fields: ['entityid', 'email'],
    });
    const { page, finish } = await site.open('/record-types/vendor');
    const phone = page.getByLabel('Sync Phone (phone)');
    await phone.waitFor();
    expect(await page.getByLabel('Sync Email (email)').isChecked()).toBe(true);
    await type(page, page.getByLabel('Search fields'), 'phone');
    await press(page, phone, { key: 'Space' });
    await page.getByText('1 added, 0 removed: not saved yet.').waitFor();
    await finish({ name: 'record-type-3-edit' });
    await tabTo(page, page.getByRole('button', { name: 'Save fields' }), { back: true });
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await press(page, dialog.getByLabel('Start a full run now, to fill them'), { key: 'Space' });
    await press(page, dialog.getByRole('button', { name: 'Save fields' }));
    await page.getByText('Reads 4 fields.').waitFor();
    expect((await site.api('get', `/sync-configs/${body.id}`)).body).toMatchObject({
      fields: ['entityid', 'email', 'phone'],
      lastRun: null,
    });
  });

  it('says why it cannot be synced', async () => {
    const visit = await site.open('/record-types/inventoryItem');
    await visit.page
      .getByText("This record type can't be synced: Its records are in the record type item")
      .waitFor();
    await visit.finish({ name: 'record-type-4-refused' });
  });
});

/** Milliseconds from a key in the search to the page's next layout, by its slowest of several keys. */
const measureTyping = (page: Page, texts: readonly string[]): Promise<number> =>
  page.evaluate<number>(
    `(async (texts) => {
      const input = document.querySelector('main input[type=search]');
      const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const times = [];
      for (const text of texts) {
        await frame();
        const start = performance.now();
        setValue.call(input, text);
        input.dispatchEvent(new Event('input', { bubbles: true }));
        await Promise.resolve();
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
      }
      return Math.max(...times);
    })(${JSON.stringify(texts)})`,
  );

describe('large accounts', () => {
  const custom = (index: number) => ({
    ...{
      name: `custbody_${index}`,
      label: `Own field ${index}`,
      type: 'text',
      custom: true,
      syncable: true,
      volatile: false,
    },
    reason: null,
  });

  it('filter 500 fields without rendering their rows again', async () => {
    const before = await site.api('get', '/netsuite/metadata/creditMemo');
    const more = Array.from({ length: 500 - before.body.fields.length }, (_, index) => custom(index));
    await site.arrange((tx) =>
      tx('erp_record_types')
        .where({ name: 'creditMemo' })
        .update({
          description: tx.raw("jsonb_set(description, '{fields}', (description -> 'fields') || ?::jsonb)", [
            JSON.stringify(more),
          ]),
        }),
    );
    const { page } = await site.open('/record-types/creditMemo');
    await page.getByText('500 fields shown').waitFor();
    const row = page.getByRole('row').filter({ has: page.getByLabel('Sync Document number (tranid)') });
    const rowsNow = "[...document.querySelectorAll('tbody tr')]";
    await row.waitFor();
    await page.evaluate(`(() => { for (const one of ${rowsNow}) one.dataset.same = 'yes'; })()`);
    const slowestMs = await measureTyping(page, ['a', 'am', 'amount', '', 'own field 31', 'document']);
    await page.getByText('1 field shown').waitFor();
    expect(await row.isVisible()).toBe(true);
    expect(
      await page.evaluate<number>(`${rowsNow}.filter(({ dataset }) => dataset.same === 'yes').length`),
    ).toBe(500);
    process.stdout.write(`slowest key among 500 fields: ${slowestMs.toFixed(1)} ms\n`);
  });

  it('search 700 record types that were read by few requests', async () => {
    const head = {
      ...{
        family: 'customRecord',
        custom: true,
        table: null,
        source: 'catalogue',
        syncable: null,
        reason: null,
      },
      ...{ fieldCount: null, syncableFieldCount: null },
    };
    const rows = Array.from({ length: 700 }, (_, index) => ({
      organization_id: site.organizationId,
      name: `customrecord_${index}`,
      position: 1_000 + index,
      head: JSON.stringify({ ...head, name: `customrecord_${index}`, label: `Own record ${index}` }),
    }));
    await site.arrange((tx) => tx.batchInsert('erp_record_types', rows, 100));
    const { page, requested } = await site.open('/record-types');
    await page.getByText(/7\d\d record types of the account/).waitFor();
    const requests = requested.filter((address) => address.includes('/netsuite/metadata')).length;
    expect(requests).toBe(8);
    await type(page, page.getByLabel('Search'), 'customer');
    await page.waitForURL(/q=customer/);
    await page.getByRole('link', { name: 'Customer', exact: true }).waitFor();
    expect(requested.filter((address) => address.includes('/netsuite/metadata')).length).toBe(requests);
  });
});

describe('without a catalogue', () => {
  it('leads to the connection, then reads the record types', async () => {
    await site.api('delete', '/netsuite/connection');
    const { page, finish } = await site.open('/record-types');
    await page.getByText('No ERP is connected yet.').waitFor();
    await finish({ name: 'record-types-4-no-connection' });
    await site.erp.connect(site.api);
    await page.reload();
    await press(page, page.getByRole('button', { name: 'Read the record types' }));
    await page.getByRole('link', { name: 'Invoice', exact: true }).waitFor();
    await finish();
  });
});
