// Versions in every status behind the real application, and helpers that use the public reference page as a
// reader does.
import type { Browser, Locator, Response } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type InvoiceRow, invoicesEndpoint, loadInvoices, publishVersion } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { connectChromium, listen, openVisit, type Site, type Visit } from './chromium.ts';

export const exactDigits = '0.12345678901234567890';
const rows: InvoiceRow[] = Array.from({ length: 12 }, (_, index) => ({
  id: index + 1,
  tranid: `INV-${String(index + 1).padStart(3, '0')}`,
  status: index % 2 === 0 ? 'open' : 'paid in "full" & \'more\'',
  total: index === 1 ? exactDigits : '100.50',
  seq: String(index),
  paid: index % 2 === 1,
  trandate: '2026-01-31',
  lastmodified: '2026-01-31T23:59:59Z',
  entity: index === 0 ? '2' : null,
  lines: '[]',
}));

const longName = `a-resource-with-a-${'very-'.repeat(6)}long-name`;
export const longTitle = `A resource with a ${'very '.repeat(6)}long name`;
export const longNameAt = `listAResourceWithA${'Very'.repeat(6)}LongName`;
const manyEndpoints = [
  { ...invoicesEndpoint, name: longName, description: 'Unbroken'.repeat(20) },
  ...Array.from({ length: 49 }, (_, index) => ({ ...invoicesEndpoint, name: `resource-${index + 2}` })),
];

/**
 * Lists also as CSV, and the page itself as JSON or HTML: the reference must handle media types that it
 * doesn't know.
 */
function describeShell(text: string): string {
  const described = JSON.parse(text);
  const content = { 'application/json': { schema: {} }, 'text/html': { schema: { type: 'string' } } };
  described.paths['/openapi/v1/preview'] = {
    get: {
      operationId: 'getShell',
      tags: ['invoices'],
      summary: 'The shell',
      responses: { 200: { description: 'It.', content } },
    },
  };
  described.paths['/v5/invoices'].get.responses[200].content['text/csv'] = { schema: { type: 'string' } };
  described.info.description =
    'A <b>bold</b> word, [a link](javascript:alert(1)) and ![a picture](https://elsewhere.example/x.png).';
  return JSON.stringify(described);
}

/**
 * v1 published · v2 retired · v3 deprecated · v4 with 50 resources · v5 with its own description · v6 a draft
 */
async function publishVersions({ ctx }: TestDatabase, tenant: string): Promise<void> {
  await publishVersion(ctx, tenant);
  await publishVersion(ctx, tenant, { version: 'v2', status: 'retired' });
  await publishVersion(ctx, tenant, {
    version: 'v3',
    status: 'deprecated',
    sunsetAt: '2027-01-31T00:00:00Z',
  });
  await publishVersion(ctx, tenant, { version: 'v4', endpoints: manyEndpoints });
  await publishVersion(ctx, tenant, { version: 'v5', describe: describeShell });
  await publishVersion(ctx, tenant, {
    version: 'v6',
    status: 'draft',
    endpoints: [{ ...invoicesEndpoint, sorts: [] }],
  });
}

type Credentials = { tenant?: string; key?: string };
type VisitOptions = Parameters<typeof openVisit>[1];

export type ReferenceSite = {
  readonly database: TestDatabase;
  readonly site: Site;
  readonly browser: Browser;
  readonly tenant: string;
  readonly key: string;
  /** A new visitor at a path below /api/public/openapi. */
  visit(address?: string, options?: VisitOptions): Promise<Visit>;
  newVisit(options?: VisitOptions): Promise<Visit>;
  enter(visit: Visit, credentials?: Credentials): Promise<void>;
  /** The page at an operation, with tenant and key entered. */
  openAt(operationId: string, version?: string, options?: VisitOptions): Promise<Visit>;
  staysHere(visit: Visit): boolean;
  leave(): Promise<void>;
  close(): Promise<void>;
};

export const operation = ({ page }: Visit, id: string): Locator => page.locator(`#at-${id}`);

/** Goes to the operation's address on the page. */
export async function openOperation({ page }: Visit, id: string): Promise<void> {
  await page.evaluate(`location.hash = 'at=' + ${JSON.stringify(id)}`);
  await page.locator(`#title-${id}:focus`).waitFor();
}

export async function send(visit: Visit, id: string): Promise<Response> {
  // Ignores assets and documents that the page is still fetching, and its own question about stale fields.
  const own = visit.page.url().includes('/api/platform/')
    ? /\/api\/platform\//
    : /\/api\/public\/(?!openapi\/v\d+$)/;
  const answered = visit.page.waitForResponse(
    (response) => own.test(response.url()) && response.request().method() !== 'HEAD',
  );
  await operation(visit, id).getByRole('button', { name: 'Send' }).click();
  return answered;
}

/** For the top level of a test file: the visits are closed after each test. */
export function useReference(): ReferenceSite {
  const reference = {} as ReferenceSite;
  beforeAll(async () => {
    Object.assign(reference, await openReferenceSite());
  });
  afterEach(() => reference.leave());
  afterAll(() => reference.close());
  return reference;
}

async function openReferenceSite(): Promise<ReferenceSite> {
  const database = await testDatabase({ settings: { publicUrl: 'http://portal.example.test' } });
  const tenant = (await makeOrganization(database.ctx, { name: 'Aster Company' })).id;
  await loadInvoices(database.ctx, tenant, rows);
  await publishVersions(database, tenant);
  const key = (await makeKey(database.ctx, tenant)).secret;
  const site = await listen(createApp(database.ctx));
  const browser = await connectChromium();
  const visits: Visit[] = [];

  async function newVisit(options?: VisitOptions): Promise<Visit> {
    const made = await openVisit(browser, options);
    visits.push(made);
    return made;
  }
  async function visit(address = '/v1/preview', options?: VisitOptions): Promise<Visit> {
    const made = await newVisit(options);
    await made.page.goto(`${site.origin}/api/public/openapi${address}`);
    return made;
  }
  async function enter({ page }: Visit, credentials: Credentials = {}): Promise<void> {
    await page.getByLabel('Tenant id').fill(credentials.tenant ?? tenant);
    await page.getByLabel('API key').fill(credentials.key ?? key);
    await page.getByRole('button', { name: 'Open the reference' }).click();
  }
  return {
    database,
    site,
    browser,
    tenant,
    key,
    visit,
    newVisit,
    enter,
    async openAt(id, version = 'v1', options) {
      const made = await visit(`/${version}/preview#at=${id}`, options);
      await enter(made);
      await operation(made, id).waitFor();
      return made;
    },
    staysHere: ({ requested }) => requested.every((address) => new URL(address).origin === site.origin),
    async leave() {
      for (const { context } of visits.splice(0)) await context.close();
    },
    async close() {
      await browser.close();
      await site.close();
      await database.close();
    },
  };
}
