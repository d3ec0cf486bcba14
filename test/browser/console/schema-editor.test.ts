// The editor of API versions by keyboard: a draft from synced records, a field renamed and filtered, a
// mistake shown and mended, and what another person saved in the meantime.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openScreen, press, tabTo, type, useConsole } from './console-site.ts';
import { syncRecordTypes } from './sync-seeds.ts';

const site = useConsole({ erp: 'connected', background: true });
beforeAll(() => syncRecordTypes(site, ['invoice', 'customer']));

const locateName = (page: Page, source: string) =>
  page.getByRole('textbox', { name: `Name of ${source}`, exact: true });
const saved = async (id: string) => (await site.api('get', `/api-schema/${id}`)).body;
const readInvoicesEndpoint = async (id: string) =>
  (await saved(id)).endpoints.find(({ name }: { name: string }) => name === 'invoices');
const readId = (page: Page): string => new URL(page.url()).pathname.split('/').at(-1) ?? '';
const ready = (page: Page) => page.getByText(/^Ready to publish/).waitFor();

describe('the editor of API versions', () => {
  it('makes a draft from what is synced, renames a field, adds a filter and mends a mistake', async () => {
    const { page, finish } = await site.open('/schemas');
    await page.getByText('No version yet.').waitFor();
    await finish({ name: 'schemas-empty' });
    await press(page, page.getByRole('button', { name: 'Draft a version from 2 record types' }));
    await page.waitForURL(/\/schemas\/[0-9a-f-]{36}$/);
    await ready(page);
    const id = readId(page);
    await press(
      page,
      page.getByRole('navigation', { name: 'Parts of the draft' }).getByRole('link', { name: /^invoices/ }),
    );
    await locateName(page, 'tranid').waitFor();

    // A new name is taken over by the filters of the field.
    await type(page, locateName(page, 'tranid'), 'Doc number');
    await page.getByText('1 problem to mend before saving.').waitFor();
    await page
      .getByRole('cell', { name: 'A field name must have 1 to 63 characters: a lower-case letter' })
      .waitFor();
    await type(page, locateName(page, 'tranid'), 'documentNumber');
    await ready(page);
    await press(page, page.getByRole('button', { name: /^Settings of exchangeRate:/ }), { max: 300 });
    await press(page, page.getByRole('checkbox', { name: 'exchangeRate_gt', exact: true }), { key: 'Space' });
    await finish({ name: 'schema-editor-details' });
    await page.getByText('Unsaved', { exact: true }).waitFor();
    const proposed = await readInvoicesEndpoint(id);

    // A relation that is removed and added again is as it was proposed.
    await tabTo(page, page.getByText('Settings of invoices', { exact: true }), { max: 300, back: true });
    await page.keyboard.press('Enter');
    await press(page, page.getByRole('button', { name: 'Remove relation 1' }));
    await press(page, page.getByRole('button', { name: 'Add relation' }));
    const relation = page.getByRole('textbox', { name: 'Name of relation 1' });
    await expect.poll(() => relation.inputValue()).toBe('customer');
    await finish({ name: 'schema-resource-settings' });

    // Nothing is lost by a reload.
    await page.reload();
    await locateName(page, 'tranid').waitFor();
    expect(await locateName(page, 'tranid').inputValue()).toBe('documentNumber');
    expect((await saved(id)).revision).toBe(1);
    await page.keyboard.press('Control+s');
    await page.getByText(/Revision 2, saved/).waitFor();
    const invoices = await readInvoicesEndpoint(id);
    expect(proposed.relations).toEqual([{ name: 'customer', field: 'customerId', resource: 'customers' }]);
    for (const part of ['relations', 'aggregates', 'groups', 'or', 'sortSets'])
      expect(invoices[part], part).toEqual(proposed[part]);
    expect(invoices.search).toContain('documentNumber');
    expect(invoices.filters).toContainEqual({ field: 'exchangeRate', operators: ['gt'] });
    expect(invoices.filters.map(({ field }: { field: string }) => field)).toContain('documentNumber');
    expect(invoices.sorts).not.toContain('number');
    await finish({ name: 'schema-editor' });
  });

  it('shows a problem of the service at its field, keeps text and tables in step, and adds fields', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [small] })).body;
    const { page, finish } = await site.open(`/schemas/${id}`);
    await ready(page);
    await press(page, page.getByRole('link', { name: 'JSON' }));
    const text = page.getByRole('textbox', { name: 'Definition as JSON' });
    await type(page, text, JSON.stringify([{ ...small, fields: [{ name: 'number', source: 'tranidd' }] }]));
    await page.getByText('1 problem to mend before publishing.').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type('x');
    await page.getByText(/This is not JSON/).waitFor();
    await press(page, page.getByRole('link', { name: /^invoices/ }), { max: 200 });
    await page
      .getByRole('cell', { name: 'Invoice has no synced field of this name. Did you mean "tranid"?' })
      .waitFor();
    await finish({ name: 'schema-problem' });

    await press(page, page.getByRole('button', { name: /^Settings of number:/ }));
    const source = page.getByRole('combobox', { name: 'Source' });
    await tabTo(page, source);
    await source.selectOption('tranid');
    await ready(page);
    await page.keyboard.press('Escape');
    await type(page, page.getByRole('searchbox', { name: 'Find a field of Invoice' }), 'due');
    await press(page, page.getByRole('checkbox', { name: 'Publish duedate' }), { key: 'Space' });
    await finish({ name: 'schema-add-fields' });
    await locateName(page, 'duedate').waitFor();
    await press(page, page.getByRole('link', { name: 'JSON' }), { max: 200 });
    expect(
      JSON.parse(await text.inputValue())[0].fields.map(({ source: of }: { source: string }) => of),
    ).toEqual(['tranid', 'duedate']);
    await finish({ name: 'schema-json' });
  });

  it('says what another person saved meanwhile, and replaces it only when asked', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [small] })).body;
    const { page, finish } = await site.open(`/schemas/${id}`);
    await ready(page);
    await site.api('patch', `/api-schema/${id}`, { notes: 'Saved elsewhere' });
    await type(page, locateName(page, 'tranid'), 'docNumber');
    await press(page, page.getByRole('button', { name: 'Save', exact: true }), { max: 200 });
    await page.getByText(/Revision 2 was saved by another person/).waitFor();
    await finish({ name: 'schema-conflict', statuses: [422] });
    await press(page, page.getByRole('button', { name: 'Replace revision 2 by mine' }));
    await page.getByText(/Revision 3, saved/).waitFor();
    expect((await saved(id)).endpoints[0].fields[0].name).toBe('docNumber');
  });

  it('can only be read without the permission to change it', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [small] })).body;
    const visit = await site.open(`/schemas/${id}`, { role: 'viewer' });
    await visit.page.getByRole('cell', { name: 'tranid', exact: true }).waitFor();
    expect(await visit.page.getByRole('textbox').count()).toBe(0);
    await openScreen(visit, `${site.origin}/console/schemas`);
    expect(await visit.page.getByRole('button', { name: 'New draft' }).count()).toBe(0);
    await visit.finish({ name: 'schemas-list' });
  });

  it('asks seldom while a person types', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [small] })).body;
    const { page, requested } = await site.open(`/schemas/${id}`);
    await ready(page);
    const opened = requested.filter((address) => address.includes('/api/platform/'));
    expect(opened.filter((address) => address.includes('/api-schema/')).length).toBeLessThanOrEqual(3);
    await type(page, locateName(page, 'tranid'), 'aRatherLongNameThatIsTypedLetterByLetter');
    await ready(page);
    expect(requested.filter((address) => address.endsWith('/validate')).length).toBeLessThanOrEqual(3);
  });
});

const small = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [{ name: 'number', source: 'tranid' }],
  sorts: ['number'],
};
