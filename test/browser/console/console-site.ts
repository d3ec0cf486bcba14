// The console in a real browser: the real application with an identity provider on a database of its own, and
// helpers by which a story signs in, moves by keyboard and is judged at its end.
import { type ODataSimulator, type ODataSimulatorOptions, startODataSimulator } from 'odata-simulator';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { type Background, startBackground } from '../../../src/app.ts';
import type { Settings } from '../../../src/core/settings.ts';
import { inTransaction, type Tx } from '../../../src/db/transaction.ts';
import { type InvoiceRow, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { type Api, createApi } from '../../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../../setup/database.ts';
import { type DnsServer, startDns } from '../../setup/dns.ts';
import { type Erp, startErp } from '../../setup/erp.ts';
import { type SignInSite, startSignInSite } from '../../setup/identity-provider.ts';
import { makeKey, makeMember, makeOrganization, makeSession } from '../../setup/organization.ts';
import { type MailServer, startMailServer } from '../../setup/smtp.ts';
import {
  accessibilityViolations,
  addSession,
  connectChromium,
  foreignRequests,
  looks,
  measureOverflow,
  openVisit,
  saveScreenshot,
  type Visit,
} from '../chromium.ts';

export type ConsoleOptions = {
  /** Name of the organization. */
  readonly name?: string;
  readonly settings?: Partial<Settings>;
  /** Invoices in the warehouse: that many made-up ones, or these. No sync belongs to them. */
  readonly invoices?: number | readonly InvoiceRow[];
  /** Publishes v1 with the resource `invoices`; needs invoices. */
  readonly published?: boolean;
  /** An API key with calls on each of the last days. */
  readonly usedKey?: boolean;
  /** A simulated ERP account; `connected`: the organization is connected to it and has read its metadata. */
  readonly erp?: 'started' | 'connected';
  /** A simulated OData service, to which the organization isn't connected. */
  readonly odata?: ODataSimulatorOptions;
  /** Starts the background workers: syncs, publications, mail. */
  readonly background?: boolean;
  /** Starts a DNS server that the service asks, and a mail server that it sends to. */
  readonly outside?: boolean;
};

/** A visit, and how its story ends: see finishStory. */
export type Story = Visit & { finish(ending?: Ending): Promise<void> };

export type ConsoleSite = {
  readonly origin: string;
  readonly database: TestDatabase;
  readonly service: SignInSite;
  readonly organizationId: string;
  readonly owner: { readonly id: string; readonly email: string };
  /** Calls the management interface with a key that may do everything. */
  readonly api: Api;
  /** With `erp` only. */
  readonly erp: Erp;
  /** With `odata` only. */
  readonly odata: ODataSimulator;
  /** With `outside` only. */
  readonly dns: DnsServer;
  /** With `outside` only. */
  readonly mails: MailServer;
  /** With `published` only. */
  readonly schemaId: string;
  /** With `usedKey` only. */
  readonly keyId: string;
  /** A transaction of the organization, to arrange what no operation can. */
  arrange<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  visit(options?: BrowserContextOptions): Promise<Story>;
  /** A new visitor with a session of that person, before a page is loaded. */
  visitAs(userId: string, organizationId: string | null, options?: BrowserContextOptions): Promise<Story>;
  /**
   * Gives the browser the session of the owner, or of a new member with a role or with exactly these
   * permissions.
   */
  signIn(
    visit: Visit,
    options?: { readonly role?: string | readonly string[] },
  ): Promise<{ id: string; email: string }>;
  /** A new visitor, signed in, at a path below /console, once its heading is shown. */
  open(
    path?: string,
    options?: { readonly role?: string | readonly string[]; readonly browser?: BrowserContextOptions },
  ): Promise<Story>;
  /** Closes the visitors. */
  leave(): Promise<void>;
  close(): Promise<void>;
};

const people = [
  { id: 'owner', email: 'owner@console.example', name: 'Owner', about: 'Owner: may do everything' },
];

export const madeUpInvoices = (count: number): InvoiceRow[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    tranid: `INV-${1_000 + index}`,
    status: index % 3 === 0 ? 'paid' : 'open',
    total: (((index * 7919) % 100_000) / 7).toFixed(2),
    seq: String(index),
    paid: index % 3 === 0,
    trandate: `2026-${String((index % 12) + 1).padStart(2, '0')}-15`,
    lastmodified: '2026-02-01T12:30:00Z',
    entity: String(index % 3),
    entityName: ['Ann & <b>Co</b>', 'Böttcher Großhandel', 'Celeste Imports'][index % 3] ?? null,
  }));

async function insertUsedKey(database: TestDatabase, organizationId: string): Promise<string> {
  const { id } = await makeKey(database.ctx, organizationId);
  await inTransaction({ db: database.ctx.db, organizationId }, async (tx) => {
    await tx('api_keys').where({ id }).update({ name: 'Partner portal' });
    await tx.raw(
      `insert into api_key_usage (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused, failed)
       select ?, ?, current_date - n, 'v1', 'invoices', 40 + 13 * n % 90, n % 7, n % 3, 0 from generate_series(0, 20) as n`,
      [organizationId, id],
    );
  });
  return id;
}

async function connectErp(erp: Erp, api: Api): Promise<void> {
  await erp.connect(api);
  const { status, body } = await api('post', '/netsuite/metadata/refresh');
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
}

function hostsOf(odata: ODataSimulator | undefined): string[] {
  if (odata === undefined) return [];
  const { serviceRoot, credentials } = odata;
  const addresses = [serviceRoot, ...(credentials.kind === 'oauth2' ? [credentials.tokenUrl] : [])];
  return addresses.map((address) => new URL(address).host);
}

/** For the top level of a test file: the application, whose visitors are closed after each test. */
export function useConsole(options?: ConsoleOptions): ConsoleSite {
  const site = {} as ConsoleSite;
  beforeAll(async () => {
    Object.assign(site, await startConsole(options));
  });
  afterEach(() => site.leave());
  afterAll(() => site.close());
  return site;
}

/** Starts the application, and a browser with the first visit. Close it afterwards. */
export async function startConsole(options: ConsoleOptions = {}): Promise<ConsoleSite> {
  const erp = options.erp === undefined ? undefined : await startErp(undefined, { control: {} });
  const odata = options.odata && (await startODataSimulator(options.odata));
  const allowedHosts = [...(erp === undefined ? [] : [erp.host]), ...hostsOf(odata)];
  const [dns, mails] = options.outside === true ? [await startDns(), await startMailServer()] : [];
  const database = await testDatabase({
    settings: {
      erp: { ...testSettings.erp, allowedHosts },
      ...(dns !== undefined && { dnsServers: [dns.address] }),
      ...(mails !== undefined && { mail: { ...testSettings.mail, smtpUrl: mails.url } }),
      ...options.settings,
    },
  });
  const email = people[0]?.email ?? '';
  const organization = await makeOrganization(database.ctx, {
    name: options.name ?? 'Aster Company',
    ownerEmail: email,
  });
  const service = await startSignInSite({
    ctx: database.ctx,
    people,
    app: { consoleFolder: inject('consoleFolder') },
  });
  const { ctx, origin } = service;
  const api = createApi(
    service.app,
    (await makeKey(ctx, organization.id, { permissions: ['write'] })).secret,
  );
  if (erp !== undefined && options.erp === 'connected') await connectErp(erp, api);
  const { invoices } = options;
  if (invoices !== undefined)
    await loadInvoices(
      ctx,
      organization.id,
      typeof invoices === 'number' ? madeUpInvoices(invoices) : invoices,
    );
  const schemaId = options.published === true ? await publishVersion(ctx, organization.id) : '';
  const keyId = options.usedKey === true ? await insertUsedKey(database, organization.id) : '';
  const background: Background | undefined =
    options.background === true ? await startBackground(ctx) : undefined;
  const browser: { opened?: Promise<Browser> } = {};
  const visits: Visit[] = [];

  async function visit(given: BrowserContextOptions = {}): Promise<Story> {
    browser.opened ??= connectChromium();
    const made = await openVisit(await browser.opened, given);
    visits.push(made);
    return { ...made, finish: (ending) => finishStory(made, ending) };
  }

  async function signIn(made: Visit, { role }: { readonly role?: string | readonly string[] } = {}) {
    const person =
      role === undefined ? { id: organization.ownerId, email } : await makeMember(ctx, organization.id, role);
    await addSession(made, (await makeSession(ctx, person.id, organization.id)).token, origin);
    return person;
  }

  const leave = async (): Promise<void> => {
    for (const { context } of visits.splice(0)) await context.close();
  };

  return {
    origin,
    database,
    service,
    organizationId: organization.id,
    owner: { id: organization.ownerId, email },
    api,
    erp: erp as Erp,
    odata: odata as ODataSimulator,
    dns: dns as DnsServer,
    mails: mails as MailServer,
    schemaId,
    keyId,
    arrange: (work) => inTransaction({ db: ctx.db, organizationId: organization.id }, work),
    visit,
    async visitAs(userId, organizationId, given) {
      const made = await visit(given);
      await addSession(made, (await makeSession(ctx, userId, organizationId)).token, origin);
      return made;
    },
    signIn,
    async open(path = '/', { role, browser: given } = {}) {
      const made = await visit(given);
      await signIn(made, role === undefined ? {} : { role });
      await openScreen(made, `${origin}/console${path === '/' ? '' : path}`);
      return made;
    },
    leave,
    async close() {
      await leave();
      await (await browser.opened)?.close();
      await background?.stop();
      await service.stop();
      await database.close();
      await erp?.stop();
      await odata?.stop();
      await dns?.stop();
      await mails?.close();
    },
  };
}

/** Loads a page of the console and waits for its heading. */
export async function openScreen({ page }: Visit, address: string): Promise<void> {
  await page.goto(address);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

const isFocused = async (locator: Locator): Promise<boolean> =>
  (await locator.and(locator.page().locator(':focus')).count()) > 0;

/**
 * Presses Tab until the element has the focus, as a person without a mouse would. Throws when it takes more
 * than `max` presses.
 */
export async function tabTo(page: Page, locator: Locator, { max = 80, back = false } = {}): Promise<void> {
  await locator.first().waitFor();
  for (let pressed = 0; pressed <= max; pressed += 1) {
    if (await isFocused(locator)) return;
    await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
  }
  const at = await page.evaluate<string>('document.activeElement?.outerHTML.slice(0, 200) ?? ""');
  throw new Error(`${locator} was not reached by ${max} presses of Tab; the focus is on ${at}`);
}

/** Reaches the element by Tab and presses Enter (or Space, for a checkbox). */
export async function press(page: Page, locator: Locator, { key = 'Enter', max = 80 } = {}): Promise<void> {
  await tabTo(page, locator, { max });
  await page.keyboard.press(key);
}

/** Reaches the input by Tab, replaces what is in it, and types. */
export async function type(page: Page, locator: Locator, text: string): Promise<void> {
  await tabTo(page, locator);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
}

/** Types the beginning of an option, as the browser's own selects are used by keyboard. */
export async function choose(page: Page, label: string, option: string): Promise<void> {
  const select = page.getByLabel(label, { exact: true });
  await tabTo(page, select);
  if ((await select.locator('option:checked').textContent()) !== option) await page.keyboard.type(option);
  await expect.poll(() => select.locator('option:checked').textContent()).toBe(option);
}

type Ending = {
  /** Name of the screenshots; without it none are made. */
  readonly name?: string;
  /** Statuses that the story provoked: the browser reports each on its console. */
  readonly statuses?: readonly number[];
  /** The same of failures of the network, as Chromium names them. */
  readonly failures?: readonly string[];
  /** Origins besides the page's own that the story visits, such as that of the identity provider. */
  readonly origins?: readonly string[];
  /** The whole page in the screenshots, not its window alone. */
  readonly fullPage?: boolean;
};

/**
 * Judges what the page shows now at 360 and 1280 px, light and dark: no accessibility violation, nothing
 * wider than the window. And the whole visit: no request to another origin, no error on the console, no
 * violation of the content security policy.
 */
async function finishStory(
  visit: Visit,
  { name, statuses = [], failures = [], origins = [], fullPage = true }: Ending = {},
): Promise<void> {
  const { page, complaints } = visit;
  const before = page.viewportSize();
  for (const look of looks) {
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.emulateMedia({ colorScheme: look.colorScheme });
    if (name !== undefined) await saveScreenshot(page, `console-${name}-${look.name}`, fullPage);
    expect(await accessibilityViolations(page), look.name).toEqual([]);
    expect(await measureOverflow(page), `overflow at ${look.name}`).toBe(0);
  }
  if (before !== null) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null });
  expect(foreignRequests(visit, new URL(page.url()).origin, ...origins)).toEqual([]);
  const isExpected = (text: string): boolean =>
    [...statuses.map((status) => `status of ${status}`), ...failures].some((part) => text.includes(part));
  expect(complaints.filter((text) => !isExpected(text))).toEqual([]);
}
