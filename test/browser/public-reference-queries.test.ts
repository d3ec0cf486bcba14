// Summaries, related records, search, alternatives and filters on lines on the public reference page: all of
// them are shown and can be sent.
import type { Locator, Response } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishVersion } from '../public/fixture.ts';
import { parties, richInvoices, richTargets } from '../public/openapi/richer-document.ts';
import { describeTargets } from '../public/related.ts';
import { accessibilityViolations } from './chromium.ts';
import { operation, send, useReference } from './reference-site.ts';

const reference = useReference();
beforeAll(async () => {
  const { ctx } = reference.database;
  await describeTargets(ctx, reference.tenant, richTargets);
  await publishVersion(ctx, reference.tenant, { version: 'v7', endpoints: [richInvoices, parties] });
});

const parseQuery = (response: Response): [string, string][] => [...new URL(response.url()).searchParams];
const readBody = (section: Locator): Promise<string> =>
  section.getByRole('group', { name: 'Response body' }).innerText();

/** The checkboxes of a parameter with a list of choices. */
const choose = async (section: Locator, parameter: string, value: string): Promise<void> => {
  const row = section.locator('.parameter', {
    has: section.page().locator(`code.name:text-is("${parameter}")`),
  });
  const folded = row.locator('details.chooser:not([open]) > summary');
  if ((await folded.count()) > 0) await folded.click();
  await row.getByRole('checkbox', { name: value, exact: true }).check();
};

describe('the reference of a version that declares everything', () => {
  it('summarizes in groups by an example request and by choices', async () => {
    const made = await reference.openAt('summarizeInvoices', 'v7');
    const section = operation(made, 'summarizeInvoices');
    await section.getByRole('button', { name: 'By customer' }).click();
    expect(parseQuery(await send(made, 'summarizeInvoices'))).toEqual([
      ['count', 'true'],
      ['by', 'customer'],
    ]);
    await section.getByText('200 OK').waitFor();
    expect(JSON.parse(await readBody(section)).total).toBe(2);

    await choose(section, 'by', 'date.month');
    await choose(section, 'sum', 'total');
    await choose(section, 'max', 'date');
    await section.getByLabel('sort', { exact: true }).selectOption('-sum.total');
    const response = await send(made, 'summarizeInvoices');
    expect(parseQuery(response)).toEqual([
      ['sum', 'total'],
      ['max', 'date'],
      ['count', 'true'],
      ['by', 'customer'],
      ['by', 'date.month'],
      ['sort', '-sum.total'],
    ]);
    const { data } = (await response.json()) as { data: { customer: string | null }[] };
    expect(data.map(({ customer }) => customer)).toEqual([null, '2']);
    expect(await section.locator('.code-sample').innerText()).toContain(
      'by=customer&by=date.month&sort=-sum.total',
    );
    expect(made.complaints).toEqual([]);
  });

  it('filters a summary by the fields of the records, grouped as for the list', async () => {
    const made = await reference.openAt('summarizeInvoices', 'v7');
    const section = operation(made, 'summarizeInvoices');
    await section.locator('details.filter > summary', { hasText: 'status' }).first().click();
    await section.getByRole('textbox', { name: 'status', exact: true }).fill('open');
    const response = await send(made, 'summarizeInvoices');
    expect(parseQuery(response)).toEqual([['status', 'open']]);
    expect(await response.json()).toEqual({ data: [{ count: 6 }], total: 1 });
    const names = async (id: string) =>
      operation(made, id).locator('details.filter > summary code.name').allInnerTexts();
    expect(await names('summarizeInvoices')).toEqual(await names('listInvoices'));
    expect(await names('summarizeInvoices')).toContain('lines.item');
  });

  it('embeds related records, searches, and sends alternatives and several sorts', async () => {
    const made = await reference.openAt('listInvoices', 'v7');
    const section = operation(made, 'listInvoices');
    await section.getByRole('button', { name: 'With buyer' }).click();
    await section.getByLabel('q', { exact: true }).fill('inv-00');
    await section.getByLabel('or', { exact: true }).fill('(id:eq:1,number:eq:"INV-002")');
    await section.getByLabel('sort', { exact: true }).selectOption('date,-total');
    const response = await send(made, 'listInvoices');
    expect(parseQuery(response)).toEqual([
      ['pageSize', '5'],
      ['sort', 'date,-total'],
      ['expand', 'buyer'],
      ['q', 'inv-00'],
      ['or', '(id:eq:1,number:eq:"INV-002")'],
    ]);
    const { data } = (await response.json()) as {
      data: { number: string; buyer: { number: string } | null }[];
    };
    expect(data.map(({ number, buyer }) => [number, buyer?.number ?? null])).toEqual([
      ['INV-001', 'INV-002'],
      ['INV-002', null],
    ]);
    const fields = made.page.locator('details.fields-block dt code.name');
    expect(await fields.allInnerTexts()).toEqual(expect.arrayContaining(['buyer', 'lines.item']));
    expect(await accessibilityViolations(made.page)).toEqual([]);
    expect(made.complaints).toEqual([]);
    expect(reference.staysHere(made)).toBe(true);
  });
});
