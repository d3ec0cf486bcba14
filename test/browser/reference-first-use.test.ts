// What a person sees who opens a reference page for the first time: names in plain words, a first request to
// copy, and the button to send one without scrolling.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  accessibilityViolations,
  expectSound,
  looks,
  saveScreenshot,
  type Visit,
  withoutFailedLoads,
} from './chromium.ts';
import { operation, send, useReference } from './reference-site.ts';

const reference = useReference();

/** A window of a laptop and one of a phone, each in both themes. */
const windows = looks.map((look) => ({ ...look, height: look.width === 360 ? 740 : 800 }));
type Window = (typeof windows)[number];
const toOptions = ({ width, height, colorScheme }: Window) => ({ viewport: { width, height }, colorScheme });

type Shown = {
  getBoundingClientRect(): Record<'top' | 'bottom' | 'left' | 'right', number>;
  contains(other: unknown): boolean;
};
type InBrowser = {
  readonly innerHeight: number;
  readonly innerWidth: number;
  readonly document: { elementFromPoint(x: number, y: number): unknown };
  getComputedStyle(element: unknown): { readonly color: string };
};

/** Whether all of an element is inside of the window and nothing lies over its middle. */
const isInView = (element: Locator): Promise<boolean> =>
  element.evaluate((node: Shown) => {
    const { top, bottom, left, right } = node.getBoundingClientRect();
    const { innerHeight, innerWidth, document } = globalThis as unknown as InBrowser;
    const isInside = top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
    return isInside && node.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  });

const colorsIn = (code: Locator): Promise<number> =>
  code.locator('span').evaluateAll((parts) => {
    const { getComputedStyle } = globalThis as unknown as InBrowser;
    return new Set(parts.map((part) => getComputedStyle(part).color)).size;
  });

/** Runs a copied curl command with its key filled in, and returns what the service answers. */
async function runCurl(command: string, key: string): Promise<unknown> {
  const script = `curl() { printf '%s\\n' "$@"; }\n${command.replace('YOUR_API_KEY', key)}`;
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script]);
  const [address = '', ...flags] = stdout.trim().split('\n');
  const headers = flags.filter((flag) => flag !== '-H').map((line) => line.split(': ') as [string, string]);
  return (await fetch(address, { headers })).json();
}

const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] };
const copied = ({ page }: Visit): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

describe.each(windows)('the public reference at $name', (window) => {
  it('starts with a request to copy, and names tenant and resources in words', async () => {
    const made = await reference.visit('/v1/preview', { ...toOptions(window), ...clipboard });
    const { page } = made;
    await reference.enter(made);
    await page.locator('#connection-text', { hasText: /^Aster Company$/ }).waitFor();
    const first = page.getByRole('group', { name: 'Your first request' });
    await expectSound(page, `first-use-public-${window.name}`);
    expect(await isInView(first)).toBe(true);
    expect(await colorsIn(first)).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Copy the example' }).click();
    expect(await runCurl(await copied(made), reference.key)).toMatchObject({
      data: expect.any(Array),
      pagination: { pageSize: 5 },
    });
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.locator('.cards').getByRole('link', { name: 'Invoices', exact: true }).click();
    await page.getByRole('heading', { name: 'Invoices', level: 2, exact: true }).waitFor();
    expect(await page.title()).toBe('Invoices · v1 · API reference');
    await saveScreenshot(page, `first-use-resource-${window.name}`);
    // On a phone the parameters of the list come first; there the button is in view once the operation is
    // opened, as the next test shows.
    const sendList = operation(made, 'listInvoices').getByRole('button', { name: 'Send' });
    if (window.width > 360) expect(await isInView(sendList)).toBe(true);
  });

  it('shows the button that sends an operation when it is opened', async () => {
    for (const [id, title] of [
      ['listInvoices', 'List invoices'],
      ['listInvoiceChanges', 'List changes to invoices'],
      ['getInvoice', 'Retrieve an invoice'],
    ] as const) {
      const made = await reference.openAt(id, 'v1', toOptions(window));
      const own = operation(made, id);
      expect([id, await isInView(own.getByRole('button', { name: 'Send' }))]).toEqual([id, true]);
      expect(await own.getByRole('heading', { level: 3 }).innerText()).toBe(title);
      expect(await made.page.title()).toBe(`${title} · v1 · API reference`);
      await expectSound(made.page, `first-use-${id}-${window.name}`);
    }
  });

  it('stays accessible when two operations show their responses', async () => {
    const made = await reference.openAt('listInvoices', 'v1', toOptions(window));
    for (const id of ['listInvoices', 'listInvoiceChanges']) {
      await send(made, id);
      await operation(made, id).getByText('200 OK').waitFor();
      await operation(made, id).locator('.response summary').first().click();
    }
    await expectSound(made.page, `first-use-responses-${window.name}`);
  });
});

describe.each(windows)('the management reference at $name', (window) => {
  async function open(): Promise<Visit> {
    const made = await reference.newVisit({ ...toOptions(window), ...clipboard });
    await made.page.goto(`${reference.site.origin}/api/platform/v1/openapi/preview`);
    await made.page.getByRole('heading', { name: 'Portal Service: management interface' }).waitFor();
    return made;
  }

  it('starts with a request to copy', async () => {
    const made = await open();
    const first = made.page.getByRole('group', { name: 'Your first request' });
    expect(await colorsIn(first)).toBeGreaterThan(1);
    await made.page.getByRole('button', { name: 'Copy the example' }).click();
    expect(await runCurl(await copied(made), reference.key)).toMatchObject({
      organization: { name: 'Aster Company' },
    });
    await first.scrollIntoViewIfNeeded();
    await expectSound(made.page, `first-use-platform-${window.name}`);
  });

  it('names operations in words, and shows the button that sends one when it is opened', async () => {
    const made = await open();
    for (const [id, title] of [
      ['listApiKeys', 'List API keys'],
      ['createApiKey', 'Create an API key'],
      ['deleteApiKey', 'Revoke an API key'],
    ] as const) {
      const isFolded = window.width <= 880;
      if (isFolded) await made.page.getByRole('button', { name: 'Operations' }).click();
      await made.page.getByLabel('Find an operation').fill(title);
      await made.page.locator('#navigation').getByRole('link', { name: title, exact: true }).click();
      const own = operation(made, id);
      const button = own.getByRole('button', { name: 'Send' });
      await expect.poll(() => isInView(button)).toBe(true);
      expect([title, await isInView(own.getByRole('heading', { name: title }))]).toEqual([title, true]);
      expect(await made.page.title()).toBe(`${title} · Management API reference`);
      await expectSound(
        made.page,
        `first-use-platform-${title.toLowerCase().replaceAll(' ', '-')}-${window.name}`,
      );
    }
  });
});

describe.each(windows)('an address of the interface that a browser opens at $name', (window) => {
  it.each(['/api/public/openapi/v9', '/api/nothing', '/api/platform/v1/teams'])(
    '%s is a page',
    async (address) => {
      const made = await reference.newVisit(toOptions(window));
      const response = await made.page.goto(`${reference.site.origin}${address}`);
      expect([response?.ok(), await response?.headerValue('content-type')]).toEqual([
        false,
        'text/html; charset=utf-8',
      ]);
      await made.page.getByRole('link', { name: 'Go to the start page' }).waitFor();
      await expectSound(made.page, `error-page-${window.name}`);
      expect(withoutFailedLoads(made)).toEqual([]);
    },
  );
});
