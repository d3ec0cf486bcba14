// The mails of subscriptions as mail clients show them, and the page behind their link, with mouse and
// keyboard, without scripts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openSubscriptionSite, type SubscriptionSite } from '../platform/subscriptions/fixture.ts';
import { loadInvoices } from '../public/fixture.ts';
import {
  expectSound,
  foreignRequests,
  landmarkRules,
  listen,
  looks,
  measureOverflow,
  type Site,
  saveScreenshot,
  useVisits,
} from './chromium.ts';
import { madeUpInvoices } from './console/console-site.ts';

let fixture: SubscriptionSite;
let site: Site;
const visit = useVisits();

const invoices = madeUpInvoices(120).map((row, index) =>
  index % 3 === 2
    ? { ...row, entityName: 'A very long company name that has to wrap somewhere, GmbH & Co. KG' }
    : row,
);

beforeAll(async () => {
  fixture = await openSubscriptionSite();
  await loadInvoices(fixture.ctx, fixture.organization.id, invoices);
  site = await listen(createApp(fixture.ctx));
  const few = await fixture.view();
  const many = await fixture.view({
    name: 'Everything',
    columns: ['tranid', 'status', 'entity', 'entity.name', 'trandate', 'lastmodified', 'total', 'paid'],
  });
  await fixture.subscribe({ viewId: few, recipients: ['few@example.test'] });
  await fixture.subscribe({ viewId: many, recipients: ['many@example.test'] });
  const runner = fixture.run();
  await runner.tick();
  await runner.stop();
  await fixture.send().waitUntilIdle();
});
afterAll(async () => {
  await site.close();
  await fixture.close();
});

const htmlTo = (address: string): string => fixture.mailsTo(address)[0]?.mail.html ?? '';

describe.each(['few', 'many'])('the mail with %s columns', (which) => {
  it.each([
    [360, 'light'],
    [360, 'dark'],
    [800, 'light'],
  ] as const)('fits %i px in %s and can be read', async (width, colorScheme) => {
    const { page } = await visit({ viewport: { width, height: 900 }, colorScheme });
    await page.setContent(htmlTo(`${which}@example.test`));
    await page.getByRole('link', { name: 'Unsubscribe' }).waitFor();
    await expectSound(page, `subscription-mail-${which}-${width}-${colorScheme}`, {
      exceptRules: landmarkRules,
    });
  });

  it('is legible in mail clients that drop style sheets, and shows fifty records below the size at which such clients cut mails', async () => {
    const html = htmlTo(`${which}@example.test`);
    const { page } = await visit({ viewport: { width: 360, height: 900 } });
    await page.setContent(html.replace(/<style>[\s\S]*?<\/style>/, ''));
    await saveScreenshot(page, `subscription-mail-${which}-360-plain`);
    // Without style sheets a table of few columns can't be stacked: dates and amounts keep their width.
    expect(await measureOverflow(page)).toBeLessThanOrEqual(which === 'few' ? 100 : 0);
    expect(html).toContain('The first 50 of 120 records. As of ');
    expect(Buffer.byteLength(html)).toBeLessThan(100_000);
  });
});

describe('the page behind the link', () => {
  it.each(looks)(
    'at $name: unsubscribes and resubscribes without scripts, with the keyboard',
    async ({ name, width, colorScheme }) => {
      const opened = await visit({ viewport: { width, height: 700 }, colorScheme, javaScriptEnabled: true });
      const { page } = opened;
      const link = fixture.findLink('few@example.test').replace(fixture.ctx.settings.publicUrl, site.origin);
      await page.goto(link);
      await expectSound(page, `unsubscribe-${name}`);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
      await expectSound(page, `unsubscribed-${name}`);
      await page.getByRole('button', { name: 'Subscribe again' }).click();
      await page.getByRole('button', { name: 'Unsubscribe' }).waitFor();
      expect(opened.complaints).toEqual([]);
      expect(foreignRequests(opened, site.origin)).toEqual([]);
    },
  );
});
