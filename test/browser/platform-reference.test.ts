import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import {
  accessibilityViolations,
  launchChromium,
  listen,
  looks,
  openVisit,
  overflowOf,
  readTraces,
  type Site,
  saveScreenshot,
  type Visit,
} from './chromium.ts';

let database: TestDatabase;
let site: Site;
let browser: Browser;
let key: string;
let visits: Visit[] = [];

beforeAll(async () => {
  database = await testDatabase({ settings: { publicUrl: 'https://portal.example.test' } });
  const { id } = await makeOrganization(database.ctx, { name: 'Aster Company' });
  key = (await makeKey(database.ctx, id, { permissions: ['read', 'write'] })).secret;
  site = await listen(createApp(database.ctx));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await database.close();
});
afterEach(async () => {
  for (const { context } of visits) await context.close();
  visits = [];
});

async function visit(options: Parameters<typeof openVisit>[1] = {}): Promise<Visit> {
  const made = await openVisit(browser, options);
  visits.push(made);
  await made.page.goto(`${site.origin}/api/platform/v1/openapi/preview`);
  await made.page.locator('.opblock').first().waitFor();
  return made;
}

async function enterKey({ page }: Visit, secret = key): Promise<void> {
  await page.getByLabel('API key').fill(secret);
  await page.getByRole('button', { name: 'Use this key' }).click();
}

async function tryWhoAmI({ page }: Visit) {
  const operation = page.locator('.opblock', { has: page.locator('[data-path="/whoami"]') });
  await operation.locator('.opblock-summary-control').click();
  const answered = page.waitForResponse((response) => response.url().endsWith('/whoami'));
  await operation.getByRole('button', { name: 'Send' }).click();
  return answered;
}

describe('the management reference in a browser', () => {
  it('shows every operation to anyone, from its own origin and without console errors', async () => {
    const made = await visit();
    const description = (await (await fetch(`${site.origin}/api/platform/v1/openapi`)).json()) as { paths: Record<string, object> };
    const operations = Object.values(description.paths).flatMap((item) => Object.keys(item)).length;
    await made.page
      .locator('.opblock')
      .nth(operations - 1)
      .waitFor();
    expect(await made.page.locator('.opblock').count()).toBe(operations);
    expect(made.complaints).toEqual([]);
    expect(made.requested.every((address) => new URL(address).origin === site.origin)).toBe(true);
  });

  it('tries GET /whoami with the key, at its own origin', async () => {
    const made = await visit();
    await enterKey(made);
    await made.page.getByText('at Aster Company').waitFor();
    const response = await tryWhoAmI(made);
    expect(response.status()).toBe(200);
    expect(response.url()).toBe(`${site.origin}/api/platform/v1/whoami`);
    await made.page.locator('.live-responses-table').getByText('"Aster Company"').waitFor();
    expect(await readTraces(made)).not.toContain(key);
    expect(made.complaints).toEqual([]);
    expect(made.requested.every((address) => new URL(address).origin === site.origin)).toBe(true);
  });

  it('sends a body that was edited', async () => {
    const made = await visit();
    await enterKey(made);
    await made.page.getByText('at Aster Company').waitFor();
    const operation = made.page.locator('.opblock-post', { has: made.page.locator('[data-path="/api-keys"]') });
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('textarea').fill('{"name": "Made in the reference"}');
    const answered = made.page.waitForResponse((response) => response.url().endsWith('/api-keys'));
    await operation.getByRole('button', { name: 'Send' }).click();
    expect((await answered).status()).toBe(201);
    await operation.locator('.live-responses-table').getByText('"Made in the reference"').waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('sends no key after it was removed', async () => {
    const made = await visit();
    await enterKey(made);
    await made.page.getByRole('button', { name: 'Use another key' }).click();
    const response = await tryWhoAmI(made);
    expect(response.status()).toBe(401);
    expect((await response.request().allHeaders())['authorization']).toBeUndefined();
  });

  it('rejects a wrong key with a clear message', async () => {
    const made = await visit();
    await enterKey(made, 'psk_wrong');
    const alert = made.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('This API key is not valid');
    expect(made.complaints.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
  });
});

describe.each(looks)('the management reference at $name', ({ name, width, colorScheme }) => {
  it('fits its window and is accessible', async () => {
    const made = await visit({ viewport: { width, height: 900 }, colorScheme });
    await saveScreenshot(made.page, `platform-${name}-open`);
    expect(await accessibilityViolations(made.page)).toEqual([]);
    await enterKey(made);
    await made.page.getByText('at Aster Company').waitFor();
    await tryWhoAmI(made);
    await made.page.locator('.live-responses-table').getByText('"Aster Company"').waitFor();
    await made.page.locator('.opblock-post .opblock-summary-control').first().click();
    await saveScreenshot(made.page, `platform-${name}-tried`, true);
    expect(await accessibilityViolations(made.page)).toEqual([]);
    expect(await overflowOf(made.page)).toBe(0);
  });
});
