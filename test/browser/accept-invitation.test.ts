// The page behind the link in an invitation mail, in front of the real service.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type InvitationSite, openInvitationSite } from '../platform/invitations/fixture.ts';
import {
  expectSound,
  foreignRequests,
  landmarkRules,
  listen,
  looks,
  readTraces,
  type Site,
  saveScreenshot,
  useVisits,
  type Visit,
  withoutFailedLoads,
} from './chromium.ts';

let fixture: InvitationSite;
let site: Site;
let count = 0;
const openVisit = useVisits();

beforeAll(async () => {
  fixture = await openInvitationSite();
  // Sessions are accepted from the page's own origin only, which is known once the site listens.
  const settings = { ...fixture.ctx.settings };
  site = await listen(createApp({ ...fixture.ctx, settings }));
  Object.assign(settings, { publicUrl: site.origin });
});
afterAll(async () => {
  await site.close();
  await fixture.close();
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
  options: Parameters<typeof openVisit>[0] = {},
): Promise<Visit> {
  const visit = await openVisit(options);
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
    expect(withoutFailedLoads(visit)).toEqual([]);
    expect(foreignRequests(visit, site.origin)).toEqual([]);
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

describe.each(looks)('at $name', ({ name, width, colorScheme }) => {
  const options = { viewport: { width, height: 700 }, colorScheme };

  it('fits its window, is accessible and works with the keyboard', async () => {
    const { email, token } = await invite();
    const { page } = await open(token, email, options);
    await acceptButton(page).waitFor();
    await expectSound(page, `accept-${name}`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('You have joined').waitFor();
    const wrong = await open('A'.repeat(43), email, options);
    await acceptButton(wrong.page).click();
    await wrong.page.getByRole('alert').waitFor();
    await expectSound(wrong.page, `accept-${name}-refused`);
  });

  it('the mail itself fits and is accessible', async () => {
    const { email } = await invite();
    const html = fixture.mails.delivered.find(({ to }) => to.includes(email))?.mail.html ?? '';
    const { page } = await openVisit(options);
    await page.setContent(html);
    await page.getByRole('link', { name: 'Accept the invitation' }).waitFor();
    await expectSound(page, `invitation-mail-${name}`, { fullPage: true, exceptRules: landmarkRules });
  });
});
