// The frame of the console, by keyboard: signing in, moving, the menu of narrow screens, organizations, and
// what happens when the session or the service ends in between.
import { describe, expect, it, onTestFinished } from 'vitest';
import { inTransaction } from '../../../src/db/transaction.ts';
import { inUserTransaction } from '../../../src/identity/sessions.store.ts';
import { makeMember, makeOrganization, makePerson, makeSession } from '../../setup/organization.ts';
import { addSession, type Visit } from '../chromium.ts';
import { openScreen, press, startConsole, tabTo, type, useConsole } from './console-site.ts';

const site = useConsole({ settings: { allowSignup: true } });

const heading = ({ page }: Visit, name: string) => page.getByRole('heading', { level: 1, name });
const narrow = { browser: { viewport: { width: 360, height: 800 } } };

describe('signing in', () => {
  it('leads from the welcome page to the console, and back out', async () => {
    const visit = await site.visit();
    const { page } = visit;
    await page.goto(`${site.origin}/`);
    await visit.finish({ name: 'welcome' });
    await press(page, page.getByRole('link', { name: 'Sign in' }));
    await press(page, page.getByRole('button', { name: site.owner.email }));
    await heading(visit, 'Overview').waitFor();
    expect(page.url()).toBe(`${site.origin}/console`);
    await visit.finish({ name: 'shell-overview', origins: [site.service.provider.issuer] });
    await press(page, page.locator('summary', { hasText: site.owner.email }));
    await press(page, page.getByRole('button', { name: 'Sign out' }));
    await page.getByRole('heading', { name: 'Sign out of the demo identity provider too?' }).waitFor();
    await press(page, page.getByRole('button', { name: 'Sign out' }));
    await page.getByRole('heading', { name: "Your ERP's records as an API" }).waitFor();
    expect(page.url()).toBe(`${site.origin}/`);
    await page.goto(`${site.origin}/console/syncs?page=2`);
    await heading(visit, 'Sign in to the console').waitFor();
    await visit.finish({ name: 'shell-signed-out', origins: [site.service.provider.issuer] });
    await press(page, page.getByRole('link', { name: 'Sign in' }));
    await press(page, page.getByRole('button', { name: site.owner.email }));
    await page.waitForURL(`${site.origin}/console/syncs?page=2`);
  });

  it('opens the reference of a version from the welcome page, also without scripts', async () => {
    const { page, complaints } = await site.visit({ javaScriptEnabled: false });
    await page.goto(`${site.origin}/`);
    await type(page, page.getByLabel('Tenant id'), site.organizationId);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${site.origin}/api/public/openapi/v1/preview#tenant=${site.organizationId}`);
    expect(complaints).toEqual([]);
  });
});

describe('moving about', () => {
  it('follows links, the way back, and the address; unknown addresses say so', async () => {
    const visit = await site.open();
    const { page } = visit;
    await press(page, page.getByRole('link', { name: 'People', exact: true }));
    await heading(visit, 'People').waitFor();
    expect(await page.title()).toBe('People · Portal Service');
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('main');
    await page.goBack();
    await heading(visit, 'Overview').waitFor();
    await page.goForward();
    await heading(visit, 'People').waitFor();
    await page.reload();
    await heading(visit, 'People').waitFor();
    for (const unknown of ['/nothing', '/runs/%zz', '/people/roles/more'])
      await page
        .goto(`${site.origin}/console${unknown}`)
        .then(() => heading(visit, 'There is no such page').waitFor());
    await visit.finish({ name: 'shell-not-found' });
    await press(page, page.getByRole('link', { name: 'Go to the overview' }));
    await heading(visit, 'Overview').waitFor();
  });

  it('says when the code of a screen can not be loaded, and loads it when asked', async () => {
    const { page } = await site.visitAs(site.owner.id, site.organizationId);
    const files = '**/assets/people-*.js';
    await page.route(files, (route) => route.abort());
    await page.goto(`${site.origin}/console/people`);
    await page.getByRole('heading', { level: 1, name: 'This page could not be loaded' }).waitFor();
    await page.unroute(files);
    await press(page, page.getByRole('button', { name: 'Load the page again' }));
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
  });

  it('goes to a screen, an object or a page of the documentation by Ctrl K and a few letters', async () => {
    const { body } = await site.api('post', '/api-keys', { name: 'Partner portal', scopes: {} });
    const visit = await site.open('/people');
    const { page } = visit;
    const input = page.getByRole('combobox', { name: 'Screen, sync' });
    const option = (name: string) => page.getByRole('option', { name });
    await page.keyboard.press('Control+k');
    await option('Audit log').waitFor();
    await page.keyboard.type('partner');
    await option('Partner portal').waitFor();
    await visit.finish({ name: 'shell-palette', fullPage: false });
    await page.keyboard.press('Enter');
    await page.waitForURL(`${site.origin}/console/keys/${body.id}`);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Control+k');
    await type(page, input, 'qqqq');
    await page.getByText('Nothing has these words.').waitFor();
    await type(page, input, 'encryption key');
    await option('Rotate the encryption key').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press(page, page.getByRole('button', { name: 'Search' }));
    await type(page, input, 'Audit');
    await option('Overview').waitFor({ state: 'detached' });
    const [tab] = await Promise.all([
      visit.context.waitForEvent('page'),
      page.keyboard.press('Control+Enter'),
    ]);
    await tab.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
  });

  it('folds groups of screens, which stay folded', async () => {
    const { page } = await site.open('/people');
    const group = page.locator('summary', { hasText: 'Data out' });
    await press(page, group);
    // Browsers report the change of a <details> in a task of its own.
    await expect
      .poll(() => page.evaluate<string>('Object.values(localStorage).join()'))
      .toContain('Data out');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).isVisible()).toBe(false);
    await press(page, group);
    await page.getByRole('link', { name: 'API keys' }).waitFor();
  });

  it('has its documentation, which can be searched', async () => {
    const visit = await site.open('/people');
    const { page } = visit;
    await press(page, page.getByRole('link', { name: 'Documentation' }));
    await page.waitForURL(`${site.origin}/docs/management#organizations-and-members`);
    await visit.finish({ name: 'docs', fullPage: false });
    await page.goto(`${site.origin}/docs`);
    await visit.finish({ name: 'docs-start' });
    await type(page, page.getByLabel('Search the documentation'), 'mint a token');
    await page.keyboard.press('Enter');
    await visit.finish({ name: 'docs-search', fullPage: false });
    await press(page, page.getByRole('link', { name: 'Mint a token' }));
    await heading(visit, 'Give your customers their own records').waitFor();
  });

  it('skips to the content', async () => {
    const { page } = await site.open('/people');
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Skip to the content' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
    await page.keyboard.press('Tab');
    expect(
      await page.evaluate<boolean>('document.querySelector("main").contains(document.activeElement)'),
    ).toBe(true);
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
  });

  it('has a menu on narrow screens, which closes by Escape and by a choice', async () => {
    const visit = await site.open('/', narrow);
    const { page } = visit;
    const button = page.getByRole('button', { name: 'Menu' });
    const link = page.getByRole('link', { name: 'Teams' });
    expect(await link.isVisible()).toBe(false);
    await press(page, button);
    await tabTo(page, link);
    await page.keyboard.press('Escape');
    expect(await link.isVisible()).toBe(false);
    await button.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await visit.finish({ name: 'shell-menu' });
    await press(page, link);
    await heading(visit, 'Teams').waitFor();
    expect(await link.isVisible()).toBe(false);
    expect(await button.getAttribute('aria-expanded')).toBe('false');
  });

  it('cuts a long address, and has the whole of it', async () => {
    const email = `${'a-long-name.'.repeat(5)}x@subsidiary-with-a-long-name.example`;
    const { id } = await makePerson(site.service.ctx, email);
    await makeOrganization(site.service.ctx, { name: 'Long names', ownerEmail: email });
    const visit = await site.visitAs(id, null);
    await visit.page.goto(`${site.origin}/console`);
    await heading(visit, 'Overview').waitFor();
    const shown = visit.page.getByText(email);
    expect([await shown.getAttribute('title'), (await shown.boundingBox())?.height]).toEqual([
      email,
      expect.closeTo(20, -1),
    ]);
    await visit.finish({ name: 'shell-long-address' });
  });

  it('keeps the chosen theme', async () => {
    const visit = await site.open();
    const { page } = visit;
    await tabTo(page, page.locator('summary', { hasText: site.owner.email }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('Theme'));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const isDark = (): Promise<boolean> =>
      page.evaluate<boolean>("getComputedStyle(document.body).backgroundColor === 'rgb(14, 18, 23)'");
    expect(await isDark()).toBe(true);
    await page.reload();
    await heading(visit, 'Overview').waitFor();
    expect([await isDark(), await page.getByLabel('Theme').inputValue()]).toEqual([true, 'dark']);
    // Also before the console's own script came: nothing is painted in the other theme first.
    await page.route('**/assets/shared-*.js', () => undefined);
    await page.reload({ waitUntil: 'commit' });
    await expect.poll(isDark).toBe(true);
    expect(
      await page.evaluate<unknown>(
        '[document.documentElement.dataset.theme, document.getElementById("console").childElementCount]',
      ),
    ).toEqual(['dark', 0]);
  });
});

describe('organizations', () => {
  it('are created by a person who has none', async () => {
    const visit = await site.visitAs(
      (await makePerson(site.service.ctx, 'newcomer@console.example')).id,
      null,
    );
    const { page } = visit;
    await page.goto(`${site.origin}/console`);
    await heading(visit, 'Create your organization').waitFor();
    await visit.finish({ name: 'shell-first-organization' });
    await type(page, page.getByLabel('Name'), 'Newcomers');
    await page.keyboard.press('Enter');
    await heading(visit, 'Overview').waitFor();
    await page.getByText('Newcomers', { exact: true }).waitFor();
    await visit.finish();
  });

  it('are not created where people may not sign up, nor while it is unknown whether there are some', async () => {
    const closed = await startConsole({ settings: { allowSignup: false } });
    onTestFinished(() => closed.close());
    const { id } = await makePerson(closed.service.ctx, 'uninvited@console.example');
    const visit = await closed.visitAs(id, null);
    const { page } = visit;
    await page.goto(`${closed.origin}/console`);
    await heading(visit, 'You belong to no organization').waitFor();
    await page.getByText('Ask an administrator of an organization for an invitation').waitFor();
    expect(await page.getByLabel('Name').count()).toBe(0);
    await visit.finish({ name: 'shell-no-organization' });
    await page.route('**/whoami/organizations*', (route) => route.abort());
    await page.reload();
    await page.getByRole('alert').getByText('The service did not answer.').waitFor();
    expect([await page.getByLabel('Name').count(), await page.getByText('invitation').count()]).toEqual([
      0, 0,
    ]);
  });

  it('are all there for a person who has more than a page of them', async () => {
    const { ctx } = site.service;
    const { id, email } = await makePerson(ctx, 'many@console.example');
    for (let number = 1; number <= 101; number += 1)
      await makeOrganization(ctx, { name: `Subsidiary ${number}`, ownerEmail: email });
    const visit = await site.visitAs(id, null);
    await visit.page.goto(`${site.origin}/console`);
    await press(visit.page, visit.page.getByRole('button', { name: 'Subsidiary 1', exact: true }), {
      max: 120,
    });
    await heading(visit, 'Overview').waitFor();
    await expect.poll(() => visit.page.getByLabel('Organization').locator('option').count()).toBe(101);
  });

  it('are chosen and switched by a person who has several', async () => {
    const { ctx } = site.service;
    const { id, email } = await makePerson(ctx, 'several@console.example');
    for (const name of ['Borage Company', 'Cicely Company'])
      await makeOrganization(ctx, { name, ownerEmail: email });
    const visit = await site.visitAs(id, null);
    const { page } = visit;
    await page.goto(`${site.origin}/console/people`);
    await heading(visit, 'Choose an organization').waitFor();
    await visit.finish({ name: 'shell-choose-organization' });
    await press(page, page.getByRole('button', { name: 'Borage Company' }));
    await heading(visit, 'People').waitFor();
    await press(page, page.locator('summary', { hasText: email }));
    await tabTo(page, page.getByLabel('Organization'));
    await page.keyboard.type('Cicely');
    const switched = page.getByRole('button', { name: 'Switch organization' });
    await press(page, switched);
    await switched.waitFor({ state: 'detached' });
    await heading(visit, 'Overview').waitFor();
    await expect
      .poll(() => page.getByLabel('Organization').locator('option:checked').textContent())
      .toBe('Cicely Company');
    await page.reload();
    await expect
      .poll(() => page.getByLabel('Organization').locator('option:checked').textContent())
      .toBe('Cicely Company');
  });
});

describe('the organization that a page shows', () => {
  it('is the one in which it acts, also after another window chose another one', async () => {
    const { ctx } = site.service;
    const { id, email } = await makePerson(ctx, 'two-windows@console.example');
    const [shown, other] = [
      await makeOrganization(ctx, { name: 'Shown Company', ownerEmail: email }),
      await makeOrganization(ctx, { name: 'Other Company', ownerEmail: email }),
    ];
    const visit = await site.visitAs(id, shown.id);
    const { page, context } = visit;
    const platform = `${site.origin}/api/platform/v1`;
    const readTeams = async (organizationId: string): Promise<string[]> => {
      const answer = await context.request.get(`${platform}/teams`, {
        headers: { 'x-organization-id': organizationId },
      });
      return (await answer.json()).data.map(({ name }: { name: string }) => name);
    };
    await page.goto(`${site.origin}/console/teams`);
    await heading(visit, 'Teams').waitFor();
    const chosen = await context.request.post(`${platform}/whoami/active-organization`, {
      data: { organizationId: other.id },
      headers: { origin: site.origin },
    });
    expect(chosen.status()).toBe(200);
    await press(page, page.getByRole('button', { name: 'New team' }));
    await type(page, page.getByLabel('Name'), 'Of the shown one');
    await page.keyboard.press('Enter');
    await heading(visit, 'Of the shown one').waitFor();
    expect([await readTeams(shown.id), await readTeams(other.id)]).toEqual([['Of the shown one'], []]);
    // Without the membership the service's reason is shown.
    await makeMember(ctx, shown.id, 'owner');
    await inTransaction({ db: ctx.db, organizationId: shown.id }, (tx) =>
      tx('memberships').where('user_id', id).delete(),
    );
    await press(page, page.getByRole('link', { name: 'Domains' }));
    await page.getByRole('alert').getByText('You do not belong to that organization').waitFor();
  });

  it('is not asked for what another person or organization kept in this browser', async () => {
    const { ctx } = site.service;
    const { id, email } = await makePerson(ctx, 'keeps@console.example');
    const organizations = [];
    for (const name of ['Dill Company', 'Elder Company'])
      organizations.push(await makeOrganization(ctx, { name, ownerEmail: email }));
    const [first, second] = organizations;
    const visit = await site.visitAs(id, first?.id ?? null);
    const { page } = visit;
    await page.goto(`${site.origin}/console/connection?add=netsuite`);
    await type(page, page.getByLabel('Account id'), '1234567');
    expect(await page.evaluate<string[]>('Object.keys(sessionStorage)')).toEqual([
      expect.stringContaining(`${id} ${first?.id}`),
    ]);
    await addSession(visit, (await makeSession(ctx, id, second?.id ?? null)).token, site.origin);
    await page.reload();
    expect(await page.getByLabel('Account id').inputValue()).toBe('');
  });
});

describe('in between', () => {
  it('a page that the browser kept is not shown after the session ended', async () => {
    const visit = await site.open('/people');
    const { page, context } = visit;
    await context.clearCookies();
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await heading(visit, 'Sign in to the console').waitFor();
  });

  it('signing in is possible from any address', async () => {
    const { page } = await site.visit();
    const signIn = page.getByRole('link', { name: 'Sign in' });
    for (const [search, kept] of [
      [`?q=${'a'.repeat(1000)}`, ''],
      ['?q=a\\b', '?q=a%5Cb'],
    ] as const) {
      await page.goto(`${site.origin}/console/syncs${search}`);
      await signIn.waitFor();
      expect(
        new URL((await signIn.getAttribute('href')) ?? '', site.origin).searchParams.get('returnTo'),
      ).toBe(`/console/syncs${kept}`);
      await press(page, signIn);
      await page.getByRole('button', { name: site.owner.email }).waitFor();
    }
  });

  it('a session that ends is said, and signing in leads back', async () => {
    const visit = await site.open();
    const { page } = visit;
    await inUserTransaction(site.service.ctx, site.owner.id, (tx) =>
      tx('sessions').where('user_id', site.owner.id).delete(),
    );
    await press(page, page.getByRole('link', { name: 'Teams' }));
    await page.getByText('Your session has ended.', { exact: true }).waitFor();
    await visit.finish({ name: 'shell-session-ended', statuses: [401] });
    // In another tab of the same browser.
    const other = await visit.context.newPage();
    await site.signIn(visit);
    await other.goto(`${site.origin}/console`);
    await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await other.close();
    await page.bringToFront();
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('Your session has ended.', { exact: true }).waitFor({ state: 'detached' });
    await inUserTransaction(site.service.ctx, site.owner.id, (tx) =>
      tx('sessions').where('user_id', site.owner.id).delete(),
    );
    await press(page, page.getByRole('link', { name: 'People', exact: true }));
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await page.goBack();
    await press(page, page.getByRole('link', { name: 'Sign in' }));
    await press(page, page.getByRole('button', { name: site.owner.email }));
    await page.waitForURL(`${site.origin}/console/teams`);
    await heading(visit, 'Teams').waitFor();
  });

  it('a service that does not answer is said, and what is shown is read again once it does', async () => {
    const visit = await site.visitAs(site.owner.id, site.organizationId);
    const { page, context } = visit;
    // Not even the code of the screen is there.
    const files = '**/assets/people-*.js';
    await page.route(files, (route) => route.abort());
    await openScreen(visit, `${site.origin}/console`);
    await context.setOffline(true);
    await press(page, page.getByRole('link', { name: 'Teams' }));
    await page.getByText('The service does not answer.', { exact: true }).waitFor();
    await page.unroute(files);
    await context.setOffline(false);
    await page.getByText('The service does not answer.', { exact: true }).waitFor({ state: 'detached' });
    await heading(visit, 'Teams').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  it('the rate limit is said while reading waits for it', async () => {
    const limited = await startConsole({ settings: { rateLimitPerMinute: 3 } });
    onTestFinished(() => limited.close());
    const { page, finish } = await limited.open();
    for (const name of ['People', 'Teams', 'Domains'])
      await press(page, page.getByRole('link', { name, exact: true }));
    await page.getByText('Too many requests in this minute.').waitFor();
    await finish({ name: 'shell-limited', statuses: [429] });
    await page.reload();
    await page.getByText('Too many requests in this minute.').waitFor();
    await finish({ name: 'shell-limited-at-first', statuses: [429] });
  });
});
