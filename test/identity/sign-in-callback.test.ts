// All the ways in which a sign-in must fail when the provider sends the person back.
import { beforeEach, describe, expect, it } from 'vitest';
import { openBrowser } from '../setup/identity-provider.ts';
import { createLimitClock } from '../setup/rate-limits.ts';
import { useSignIn } from '../setup/use-sign-in.ts';
import { refusal } from './fixture.ts';

let aheadMs = 0;
const { clock, forget } = createLimitClock({
  now: () => new Date(Date.now() + aheadMs),
  monotonicMs: () => performance.now() + aheadMs,
});
const site = useSignIn({ clock });
beforeEach(() => forget(site.ctx));

const sessions = async (): Promise<number> =>
  Number((await site.admin('sessions').count<{ count: string }[]>())[0]?.count);
describe('400 at the callback', () => {
  /** Everything up to the redirect to the callback, which isn't requested yet. */
  async function attempt(alter: (url: URL) => void = () => undefined, returnTo?: string) {
    const browser = openBrowser();
    const url = new URL(await browser.begin(site.origin, returnTo));
    alter(url);
    return { browser, callback: new URL(await browser.throughProvider(url.href, 'owner')) };
  }

  const set = (name: string, value: string) => (url: URL) => url.searchParams.set(name, value);
  const add = (name: string) => (url: URL) => url.searchParams.append(name, 'x');
  const other = 'x'.repeat(43);
  it.each<[string, string, (url: URL) => void]>([
    ['no state', 'sign_in_expired', (url) => url.searchParams.delete('state')],
    ['another state', 'sign_in_expired', set('state', other)],
    ['two states', 'not_confirmed', add('state')],
    ['no code', 'not_confirmed', (url) => url.searchParams.delete('code')],
    ['another code', 'not_confirmed', set('code', other)],
    ['two codes', 'not_confirmed', add('code')],
    ['the answer of another provider', 'not_confirmed', set('iss', 'https://elsewhere.example')],
    ['an error of the provider', 'provider_refused', set('error', 'server_error')],
  ])('for %s', async (_name, code, alter) => {
    const { browser, callback } = await attempt();
    const before = await sessions();
    alter(callback);
    expect(await refusal(await browser.send(callback.href))).toEqual([400, code]);
    expect(await sessions()).toBe(before);
  });

  it.each<[string, (url: URL) => void]>([
    ['another nonce', set('nonce', other)],
    ['the code of another verifier', set('code_challenge', other)],
  ])('for %s', async (_name, alter) => {
    const { browser, callback } = await attempt(alter);
    expect(await refusal(await browser.send(callback.href))).toEqual([400, 'not_confirmed']);
  });

  it('when the person cancels', async () => {
    const browser = openBrowser();
    const callback = await browser.throughProvider(await browser.begin(site.origin), null);
    expect(await refusal(await browser.send(callback))).toEqual([400, 'provider_refused']);
  });

  it('in another browser, without a cookie, and with a foreign or changed cookie', async () => {
    const { browser, callback } = await attempt();
    const stranger = openBrowser();
    expect(await refusal(await stranger.send(callback.href))).toEqual([400, 'sign_in_expired']);
    await stranger.begin(site.origin);
    expect(await refusal(await stranger.send(callback.href))).toEqual([400, 'sign_in_expired']);
    const box = browser.jar.get('portal_sign_in')?.value ?? '';
    const [id = '', iv = '', tag = '', text = ''] = box.split('.');
    const changed = [id, iv, tag, `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`].join('.');
    for (const value of ['', 'x', changed, [id, iv, tag].join('.'), '%E0%A4%A']) {
      browser.jar.set('portal_sign_in', { value, path: '/auth' });
      expect(await refusal(await browser.send(callback.href))).toEqual([400, 'sign_in_expired']);
    }
    browser.jar.set('portal_sign_in', { value: box, path: '/auth' });
    expect((await browser.send(callback.href)).status).toBe(302);
  });

  it('after ten minutes', async () => {
    const { browser, callback } = await attempt();
    aheadMs = 600_001;
    expect(await refusal(await browser.send(callback.href))).toEqual([400, 'sign_in_expired']);
    aheadMs = 0;
  });

  it('when it is replayed, even with the cookie, and for one of two concurrent requests', async () => {
    const { browser, callback } = await attempt();
    const cookie = `portal_sign_in=${browser.jar.get('portal_sign_in')?.value}`;
    const replay = () => fetch(callback, { headers: { cookie }, redirect: 'manual' });
    const before = await sessions();
    const statuses = (await Promise.all([replay(), replay(), replay()])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([302, 400, 400]);
    expect(await refusal(await replay())).toEqual([400, 'sign_in_expired']);
    expect(await sessions()).toBe(before + 1);
  });

  it('the cookie of this attempt counts, because a sibling domain may have set another', async () => {
    const { browser, callback } = await attempt();
    const { browser: next } = await attempt();
    const readBox = ({ jar }: typeof browser) => `portal_sign_in=${jar.get('portal_sign_in')?.value}`;
    const [own, others] = [browser, next].map(readBox);
    const cookie = [`portal_sign_in=planted`, others, own].join('; ');
    expect((await fetch(callback, { headers: { cookie }, redirect: 'manual' })).status).toBe(302);
  });

  it('counts per address: 429 after the twentieth within a minute', async () => {
    const guess = async (index: number) =>
      (await fetch(`${site.origin}/auth/callback?code=${index}&state=x`)).status;
    const statuses = [await guess(0)];
    // However long the requests take, they count in the window that the first one started.
    await site.ctx.db.control.raw("update rate_limits set resets_at = resets_at + interval '1 hour'");
    for (let index = 1; index < 21; index += 1) statuses.push(await guess(index));
    expect([statuses.indexOf(429), statuses[0]]).toEqual([20, 400]);
    expect((await openBrowser().signIn(site.origin, 'owner')).status).toBe(302);
  });
});
