// The life of an API version by keyboard: published with its proof, followed by a version that breaks
// callers, deprecated and retired after a look at who calls it.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openScreen, press, tabTo, type, useConsole } from './console-site.ts';

const endpoint = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [
    { name: 'number', source: 'tranid' },
    { name: 'status', source: 'status' },
    { name: 'total', source: 'total', tags: ['confidential'] },
  ],
  filters: [
    { field: 'status', operators: ['eq'] },
    { field: 'total', operators: ['gt'] },
  ],
  sorts: ['number', 'total'],
};

const site = useConsole({ invoices: 400, usedKey: true, background: true });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

async function publish(page: Page, version: string): Promise<void> {
  await page.getByText(/can never be changed, only deprecated/).waitFor();
  await press(page, button(page, `Publish ${version}`));
  await page.getByText(`${version} is published: 1 resource can be read by API keys.`).waitFor();
}

const running = {
  status: 'running',
  progress: { step: 'building indexes of invoice', done: 3, total: 8, estimatedSecondsLeft: 75 },
  problems: [],
  proof: null,
  warnings: [],
};

describe('the life of an API version', () => {
  it('is published with its proof, replaced, deprecated and retired', async () => {
    const { id } = (await site.api('post', '/api-schema', { name: 'Partners', endpoints: [endpoint] })).body;
    // The sunset is the end of a day where the person is.
    const visit = await site.open(`/schemas/${id}`, { browser: { timezoneId: 'America/New_York' } });
    const { page } = visit;
    await press(page, button(page, 'Review and publish'));
    await heading(page, 'Publish v1');
    await page.getByText('This is the first version').waitFor();
    const readable = page.getByRole('region', { name: 'What API keys can read' });
    await readable.getByText('Confidential total', { exact: true }).waitFor();
    await readable.getByRole('region', { name: 'Sample record' }).getByText('"number":').waitFor();
    await page.getByText('v1 opens 1 resource with 3 fields to API keys.').waitFor();
    await visit.finish({ name: 'schema-review' });
    await publish(page, 'v1');
    await page
      .getByText(/reads were tried on the real 400 records.* Each ended within the time limit of reads/)
      .waitFor();
    await page.getByText(/\/api\/public\/v1\/invoices\?pageSize=5/).waitFor();
    await visit.finish({ name: 'schema-proof' });
    await press(page, button(page, 'Measure again'));
    await button(page, 'Measuring…').waitFor();
    await button(page, 'Measure again').waitFor();
    await page.getByText(/^None of 9 reads takes over 500 ms\.$/).waitFor();
    const toPair = (ms: number, more: object) => ({
      ...{ resource: 'invoices', filter: null, sort: null, order: 'asc' },
      ...{ trials: [{ value: 'all', rows: 400, ms, firstMs: ms, byIndex: false }], ...more },
    });
    const pairs = [
      toPair(180, {}),
      toPair(2_400, { filter: 'status', sort: 'total', order: 'desc' }),
      toPair(620, { sort: 'number' }),
    ];
    await site.arrange((tx) =>
      tx('publication_reports')
        .where({ api_schema_id: id })
        .update({
          pairs: JSON.stringify(pairs),
          proof: JSON.stringify({ pairs: 3, tried: 3, slowestMs: 2_400, warnings: [] }),
        }),
    );
    await page.reload();
    await page.getByText('2 of 3 reads take over 500 ms.').waitFor();
    const bars = page.getByRole('list', { name: 'The slowest reads' }).getByRole('listitem');
    expect((await bars.allTextContents())[0]).toBe(
      'invoices filtered by status, sorted by total, descending2,400 ms',
    );
    await visit.finish({ name: 'schema-slow' });

    // The next version: a copy, without a field that v1 has.
    await press(
      page,
      page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: /^v1/ }),
    );
    await press(page, button(page, 'New version'));
    await heading(page, 'v2 · Partners');
    await press(page, page.getByRole('checkbox', { name: 'Publish status' }), { key: 'Space' });
    await press(page, button(page, '2 breaking'));
    await page.getByText('The field status of invoices was removed').waitFor();
    await visit.finish({ name: 'schema-breaking' });
    await press(page, button(page, 'Save and review'), { max: 200 });
    await heading(page, 'Publish v2');
    await page.getByText('2 breaking changes since v1').waitFor();
    await publish(page, 'v2');

    // v1 ends: its callers are shown before.
    await openScreen(visit, `${site.origin}/console/schemas`);
    await page
      .getByText(/^1 API key · /)
      .first()
      .waitFor();
    await visit.finish({ name: 'schemas' });
    await press(page, page.getByRole('link', { name: 'v1', exact: true }));
    await heading(page, 'v1 · Partners');
    await press(page, button(page, 'Deprecate'));
    await page.getByText(/^1 API key used it in the last 30 days:/).waitFor();
    await page.getByText(/^Partner portal: /).waitFor();
    await page.getByLabel('Sunset date').fill('2099-12-31');
    await page.getByText('2100-01-01T04:59:59.000Z').waitFor();
    await visit.finish({ name: 'schema-deprecate', fullPage: false });
    await press(page, inDialog(page, 'Deprecate v1'));
    await page.getByText(/with the sunset on/).waitFor();
    await press(page, page.getByRole('link', { name: 'Callers' }));
    await page.getByRole('link', { name: 'Partner portal' }).waitFor();
    await visit.finish({ name: 'schema-callers' });
    await press(page, button(page, 'Retire'));
    await page.getByText(/^1 API key used it in the last 30 days:/).waitFor();
    await press(page, inDialog(page, 'Retire v1'));
    await page.getByText('Retired: reads are answered with 410 Gone.').waitFor();
    expect((await site.api('get', `/api-schema/${id}`)).body).toMatchObject({
      status: 'retired',
      sunsetAt: '2100-01-01T04:59:59Z',
    });
    await press(page, button(page, 'Restore'));
    await press(page, inDialog(page, 'Restore v1'));
    await page.getByText(/with the sunset on/).waitFor();
    await press(page, page.getByRole('link', { name: 'Fields', exact: true }));
    await visit.finish({ name: 'schema-published' });
  });

  it('says why a publication failed and where to mend it, and starts from nothing or a copy', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [endpoint] })).body;
    const problem = {
      path: 'endpoints[0].filters[1].operators[0]',
      code: 'too_slow',
      message: 'invoices?total_gt=… takes too long',
      blocks: 'publish',
    };
    const failed = {
      status: 'failed',
      progress: { step: 'trying its reads', done: 0, total: 1 },
      problems: [problem],
      proof: null,
      warnings: [],
    };
    await site.arrange((tx) =>
      tx('api_schemas')
        .where({ id })
        .update({ publication: JSON.stringify(failed) }),
    );
    const { page, finish } = await site.open(`/schemas/${id}/publish`);
    await page.getByText(/was not published\./).waitFor();
    await finish({ name: 'schema-failed' });
    await press(page, page.getByRole('link', { name: 'invoices.total' }));
    await press(page, button(page, 'Delete draft'));
    await press(page, inDialog(page, 'Delete draft'));
    await heading(page, 'API versions');
    await press(page, button(page, 'New draft'));
    const beginning = page.getByLabel('Begin with', { exact: true });
    await tabTo(page, beginning);
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => beginning.locator('option:checked').textContent()).toMatch(/^A copy of v/);
    await finish({ name: 'schema-new', fullPage: false });
    await press(page, inDialog(page, 'Create draft'));
    await page.waitForURL(/\/schemas\/[0-9a-f-]{36}$/);
    await type(page, page.getByRole('textbox', { name: 'Name of tranid' }), 'docNumber');
    await press(page, button(page, 'Discard changes'), { max: 200 });
    await page.getByText('Draft', { exact: true }).waitFor();
  });

  it('shows how far a publication is over all steps, and is cancelled', async () => {
    const { id } = (await site.api('post', '/api-schema', { endpoints: [endpoint] })).body;
    const held = { publication: JSON.stringify(running), publication_lease_until: '2099-01-01T00:00:00Z' };
    await site.arrange((tx) => tx('api_schemas').where({ id }).update(held));
    const { page, finish } = await site.open(`/schemas/${id}`);
    await page.getByText("The draft can't be changed while it is being published.").waitFor();
    await press(page, page.getByRole('link', { name: 'Follow the publication' }));
    await page.getByText('37 % · Building indexes of invoice · about 1 min left').waitFor();
    await finish({ name: 'schema-running' });
    await press(page, button(page, 'Cancel: the publication'));
    await page.getByText('The publication was cancelled. Nothing changed for callers.').waitFor();
    await heading(page, 'Publish v');
    await finish({ name: 'schema-cancelled' });
    await site.arrange((tx) => tx('api_schemas').where({ id }).update(held));
    await page.reload();
    await page.getByText(/^37 % · /).waitFor();
    const live = { publication_lease_until: null };
    await site.arrange((tx) => tx('api_schemas').where({ id }).update(live));
    await page.getByText(/is published: 1 resource can be read/).waitFor();
  });
});
