// A real browser in front of the real application. It can reach loopback addresses only, and everything that
// a page requests, reports or blocks is recorded.
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import axe from 'axe-core';
import type { Express } from 'express';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Page,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { createCertificate } from '../../src/core/secrets/certificate.ts';
import { choosePart } from '../setup/choose-part.ts';

/** A browser of its own in the Chromium that global.ts started. */
export const connectChromium = (): Promise<Browser> => chromium.connect(inject('chromium'));

export type Site = { readonly origin: string; close(): Promise<void> };

/** A hostname that the browser finds on this machine. */
export const portalHost = 'portal.aster-wholesale.example';

/** By TLS at `portalHost` with a certificate that no one knows, or else at a loopback address. */
export async function listen(app: Express, { atPortalHost = false } = {}): Promise<Site> {
  const { certificatePem: cert, privateKeyPem: key } = createCertificate({
    ...{ commonName: portalHost, days: 1, keyType: 'ec-p256' as const, now: new Date() },
  });
  const server = atPortalHost ? createTlsServer({ cert, key }, app) : createServer(app);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: atPortalHost ? `https://${portalHost}:${port}` : `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

export type Visit = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Every URL that was requested. */
  readonly requested: string[];
  /** Errors on the console, uncaught errors and violations of the content security policy. */
  readonly complaints: string[];
};

const reportViolations = `addEventListener('securitypolicyviolation', (event) => {
  console.error('policy violated: ' + event.effectiveDirective + ' ' + event.blockedURI);
})`;

export async function openVisit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    timezoneId: 'UTC',
    ...options,
  });
  context.setDefaultTimeout(60_000); // generous for busy machines
  const requested: string[] = [];
  const complaints: string[] = [];
  await context.addInitScript(reportViolations);
  context.on('request', (request) => requested.push(request.url()));
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  return { context, page: await context.newPage(), requested, complaints };
}

/** For the top level of a test file: opens visits, and closes them after each test. */
export function useVisits(): (options?: BrowserContextOptions) => Promise<Visit> {
  let browser: Browser;
  const visits: Visit[] = [];
  beforeAll(async () => {
    browser = await connectChromium();
  });
  afterEach(async () => {
    for (const { context } of visits.splice(0)) await context.close();
  });
  afterAll(() => browser.close());
  return async (options) => {
    const visit = await openVisit(browser, options);
    visits.push(visit);
    return visit;
  };
}

/** Gives the browser the cookie of a session. */
export const addSession = ({ context }: Visit, token: string, url: string): Promise<void> =>
  context.addCookies([{ name: 'portal_session', value: token, url, httpOnly: true, sameSite: 'Lax' }]);

/** What was reported, except for responses with an error status, which the browser reports as well. */
export const withoutFailedLoads = ({ complaints }: Visit): string[] =>
  complaints.filter((text) => !text.startsWith('Failed to load resource'));

/** The URLs of other servers that were requested. */
export const foreignRequests = ({ requested }: Visit, ...origins: readonly string[]): string[] =>
  requested.filter((address) => address.startsWith('http') && !origins.includes(new URL(address).origin));

/** Everything that outlives or leaves the page's memory (storage, cookies, caches), as one text. */
export async function readTraces({ context, page, requested }: Visit): Promise<string> {
  const held = await page.evaluate<unknown>(`(async () => ({
    local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, address: location.href, state: history.state,
    caches: await caches.keys(), databases: await indexedDB.databases(), name: window.name, html: document.documentElement.outerHTML,
    inputs: [...document.querySelectorAll('input, textarea')].map((input) => input.value),
  }))()`);
  return JSON.stringify([held, requested, await context.storageState({ indexedDB: true })]);
}

/**
 * Colours in transition are not yet the final ones; endless animations are skipped, since they never finish.
 */
const atRest = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity)
  .map(({ finished }) => finished)).then(() => undefined)`;

/** What a mail doesn't have: mail programs show it inside of their own page. */
export const landmarkRules = ['landmark-one-main', 'region'];

/**
 * Accessibility violations of every impact that axe finds on the page as it is now: rule, element and reason.
 */
export async function accessibilityViolations(
  page: Page,
  exceptRules: readonly string[] = [],
): Promise<string[]> {
  const rules = Object.fromEntries(exceptRules.map((rule) => [rule, { enabled: false }]));
  await page.evaluate(axe.source);
  await page.evaluate(atRest);
  return page.evaluate<
    string[]
  >(`axe.run(document, { resultTypes: ['violations'], rules: ${JSON.stringify(rules)} }).then(({ violations }) => violations
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ' ' + html.slice(0, 200) + ' ' + failureSummary)))`);
}

/** In the folder that SCREENSHOTS names; without it none is made. */
export async function saveScreenshot(page: Page, name: string, fullPage = false): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage });
}

export const readDownload = async (download: Download): Promise<string> =>
  Buffer.concat((await (await download.createReadStream()).toArray()) as Buffer[]).toString();

/** How many pixels the page is wider than its window. */
export const measureOverflow = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** The page as it is now, in a screenshot of this name: it fits its window, and axe finds nothing. */
export async function expectSound(
  page: Page,
  name: string,
  { fullPage = false, exceptRules = [] as readonly string[] } = {},
): Promise<void> {
  await saveScreenshot(page, name, fullPage);
  expect(await measureOverflow(page), `${name}: overflow`).toBe(0);
  expect(await accessibilityViolations(page, exceptRules), name).toEqual([]);
}

const everyLook = [
  { name: '360-light', width: 360, colorScheme: 'light' },
  { name: '360-dark', width: 360, colorScheme: 'dark' },
  { name: '1280-dark', width: 1280, colorScheme: 'dark' },
  { name: '1280-light', width: 1280, colorScheme: 'light' },
] as const;
/** Every second one has both widths and both colour schemes. */
export const looks = choosePart(everyLook, 2);
