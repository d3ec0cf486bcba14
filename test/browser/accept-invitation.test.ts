// The page behind the link in an invitation mail, in front of the real service.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type InvitationSite, openInvitationSite } from '../platform/invitations/fixture.ts';
import {
  connectChromium,
  listen,
  looks,
  measureOverflow,
  openVisit,
  readTraces,
  type Site,
  saveScreenshot,
  type Visit,
} from './chromium.ts';

let fixture: InvitationSite;
let site: Site;
let browser: Browser;
let visits: Visit[] = [];
let count = 0;

beforeAll(async () => {
  fixture = await openInvitationSite();
  // Sessions are accepted from the page's own origin only, which is known once the site listens.
  const settings = { ...fixture.ctx.settings };
  site = await listen(createApp({ ...fixture.ctx, settings }));
  Object.assign(settings, { publicUrl: site.origin });
  browser = await connectChromium();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await fixture.close();
});
afterEach(async () => {
  for (const { context } of visits) await context.close();
  visits = [];
});

type Invited = { email: string; id: string; token: string };
async function invite(): Promise<Invited> {
  count += 1;
  const email = `guest-${count}@example.test`;
  const { id } = await fixture.invite(email);
  return { email, id, token: await fixture.getToken(email) };
}

/** Opens the link, signed in by a cookie if an address is given. */
async function open(
  token: string,
  signedInAs: string | null,
  options: Parameters<typeof openVisit>[1] = {},
): Promise<Visit> {
  const visit = await openVisit(browser, options);
  visits.push(visit);
  if (signedInAs !== null) await signIn(visit, signedInAs);
  await visit.page.goto(`${site.origin}/invitations/accept#token=${token}`);
  return visit;
}
async function signIn({ context }: Visit, email: string): Promise<void> {
  const { headers } = await fixture.signIn(email);
  const [name = '', value = ''] = (headers['cookie'] ?? '').split('=');
  await context.addCookies([{ name, value, url: site.origin, httpOnly: true, sameSite: 'Lax' }]);
}
const acceptButton = (page: Page) => page.getByRole('button', { name: 'Accept the invitation' });
const policyBreaks = ({ complaints }: Visit) =>
  complaints.filter((text) => !text.startsWith('Failed to load resource'));

describe('the page behind the link', () => {
  it('lets a signed-in person accept with one button, and keeps no token afterwards', async () => {
    const { email, token } = await invite();
    const visit = await open(token, email);
    await acceptButton(visit.page).click();
    await visit.page.getByText('You have joined Aster & Sons with the role viewer.').waitFor();
    await saveScreenshot(visit.page, 'accept-joined');
    const next = visit.page.getByRole('link', { name: 'Open the console' });
    expect(await next.getAttribute('href')).toBe('/console');
    expect(visit.page.url()).toBe(`${site.origin}/invitations/accept`);
    expect(await readTraces(visit).then((text) => text.replaceAll(`#token=${token}`, ''))).not.toContain(
      token,
    );
    expect(policyBreaks(visit)).toEqual([]);
    expect(
      visit.requested
        .filter((address) => address.startsWith('http'))
        .every((address) => new URL(address).origin === site.origin),
    ).toBe(true);
  });

  it('sends a signed-out person to sign-in, and still has the token when they return', async () => {
    const { email, token } = await invite();
    const visit = await open(token, null);
    const link = visit.page.getByRole('link', { name: 'Sign in' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('/auth/login?returnTo=/invitations/accept');
    expect(visit.page.url()).not.toContain(token);
    await signIn(visit, email);
    await visit.page.goto(`${site.origin}/invitations/accept`);
    await acceptButton(visit.page).click();
    await visit.page.getByText('You have joined Aster & Sons').waitFor();
  });

  it('reports a wrong e-mail address without revealing the invited one', async () => {
    const { email, token } = await invite();
    const visit = await open(token, 'somebody-else@example.test');
    await acceptButton(visit.page).click();
    await visit.page.getByRole('alert').getByText('sent to another e-mail address').waitFor();
    await visit.page.getByRole('link', { name: 'Sign in as someone else' }).waitFor();
    expect(await visit.page.locator('body').innerText()).not.toContain(email);
  });

  it.each([
    ['has expired', { expires_at: new Date(0) }],
    ['was revoked', { status: 'revoked' }],
  ])('reports that it %s', async (message, columns) => {
    const { email, id, token } = await invite();
    await fixture.as(fixture.organization.id, (tx) => tx('invitations').where({ id }).update(columns));
    const visit = await open(token, email);
    await acceptButton(visit.page).click();
    await visit.page.getByRole('alert').getByText(message).waitFor();
  });

  it('reports an unknown or incomplete link', async () => {
    const unknown = await open('A'.repeat(43), 'curious@example.test');
    await acceptButton(unknown.page).click();
    await unknown.page.getByRole('alert').getByText('does not exist').waitFor();
    const cut = await open('A'.repeat(20), 'curious@example.test');
    await cut.page.getByRole('alert').getByText('The link is incomplete').waitFor();
  });

  it('never sends the token to a server before the button is pressed', async () => {
    const { email, token } = await invite();
    const visit = await open(token, email);
    const sent: string[] = [];
    visit.page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')));
    await acceptButton(visit.page).waitFor();
    expect(sent.filter((text) => text.includes(token))).toEqual([]);
    expect(fixture.lines.join('')).not.toContain(token);
  });
});

/** Contrast of the text of each visible element with its background, by WCAG's formula. */
const contrasts = `(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('header p, h1, main p, button, a')]
    .filter((element) => element.checkVisibility() && element.textContent.trim() !== '')
    .map((element) => {
      const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
})()`;

describe.each(looks)('at $name', ({ name, width, colorScheme }) => {
  it('fits its window, is legible and works with the keyboard', async () => {
    const { email, token } = await invite();
    const visit = await open(token, email, { viewport: { width, height: 700 }, colorScheme });
    await acceptButton(visit.page).waitFor();
    await saveScreenshot(visit.page, `accept-${name}`);
    expect(await measureOverflow(visit.page)).toBe(0);
    const found = await visit.page.evaluate<number[]>(contrasts);
    expect(found.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(4.5);
    expect(await visit.page.locator('main').count()).toBe(1);
    expect(await visit.page.locator('h1').count()).toBe(1);
    await visit.page.keyboard.press('Tab');
    await visit.page.keyboard.press('Enter');
    await visit.page.getByText('You have joined').waitFor();
    const wrong = await open('A'.repeat(43), email, { viewport: { width, height: 700 }, colorScheme });
    await acceptButton(wrong.page).click();
    await wrong.page.getByRole('alert').waitFor();
    await saveScreenshot(wrong.page, `accept-${name}-refused`);
    expect(Math.min(...(await wrong.page.evaluate<number[]>(contrasts)))).toBeGreaterThanOrEqual(4.5);
    expect(await measureOverflow(wrong.page)).toBe(0);
  });

  it('the mail itself fits and is legible', async () => {
    const { email } = await invite();
    const html = fixture.mails.delivered.find(({ to }) => to.includes(email))?.mail.html ?? '';
    const visit = await openVisit(browser, { viewport: { width, height: 700 }, colorScheme });
    visits.push(visit);
    await visit.page.setContent(html);
    await visit.page.getByRole('link', { name: 'Accept the invitation' }).waitFor();
    await saveScreenshot(visit.page, `invitation-mail-${name}`, true);
    expect(await measureOverflow(visit.page)).toBe(0);
    const found = await visit.page.evaluate<number[]>(contrasts.replace('main p', 'p'));
    expect(found.length).toBeGreaterThanOrEqual(5);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(4.5);
  });
});
