// The pages and mails of a portal look as the company wants: its name, colours, logo and links, also before sign-in.
import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { png, square, svg, toBase64 } from '../platform/portal/logos.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany } from './company.ts';
import { addDomain, asOwner, switchOn } from './served-portal.ts';
import { nextCode, openBrowser } from './visiting.ts';

const org = useOrganization({ mail: true, dns: true, name: 'Aster Holding' });
const host = 'portal.aster-brand.example';
const known = 'orders@aster.example';
const branding = {
  name: 'Aster <Wholesale>',
  accent: '#0b6e4f',
  supportAddress: 'help@aster.example',
  legalLinks: [{ label: 'Imprint', url: 'https://aster.example/imprint' }],
  senderName: 'Aster accounts',
};

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, {
    customers: [{ id: 1, name: 'Aster', email: known, isinactive: false }],
  });
  const owner = await asOwner(org);
  await switchOn(owner);
  await addDomain(owner, org.dns, host);
});
beforeEach(() => org.admin('rate_limits').delete());

/** Stores the branding, and resolves to its revision. */
const store = async (change: object = {}): Promise<number> =>
  (await org.api('put', '/portal/branding', { ...branding, ...change })).body.revision;

describe.each([
  ['below the address of the service', {}],
  ['on a domain', { host }],
])('a portal %s', (_title, at) => {
  it('has the name of the organization and no colours of its own until branding is stored', async () => {
    await org.admin('portal_branding').delete();
    const { text } = await openBrowser(org, at).get('/sign-in');
    expect(text).toContain('Aster Holding');
    expect(text).not.toContain('/brand/');
  });

  it('shows name, logo, colours and links on every page, before sign-in too', async () => {
    const revision = await store({ logo: toBase64(png) });
    const browser = openBrowser(org, at);
    const address = `${browser.base}/brand/${revision}`;
    const pages = [await browser.get('/sign-in'), await browser.get('/nothing')];
    await browser.signIn(known);
    pages.push(await browser.get('/'), await browser.get('/records/nothing'));
    for (const { text } of pages)
      for (const shown of [
        'Aster &lt;Wholesale',
        `${address}.css`,
        `${address}/logo`,
        branding.supportAddress,
      ])
        expect(text).toContain(shown);
    expect(pages[2]?.text).toContain('https://aster.example/imprint');
    expect(pages[2]?.text).toContain('Imprint');
  });

  it('serves colours and logo to be kept for good, each by the address of its revision', async () => {
    const revision = await store({ logo: toBase64(svg(square)) });
    const browser = openBrowser(org, at);
    const [colors, logo] = [`/brand/${revision}.css`, `/brand/${revision}/logo`];
    const kept = 'public, max-age=31536000, immutable';
    const css = await browser.get(colors, { accept: 'text/css' });
    expect(css.headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/css/),
      'cache-control': kept,
      'x-content-type-options': 'nosniff',
    });
    const picture = await browser.get(logo, { accept: 'image/*' });
    expect(picture.headers).toMatchObject({
      'content-type': expect.stringMatching(/^image\/svg\+xml/),
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'cache-control': kept,
      'x-content-type-options': 'nosniff',
    });
    expect(Buffer.from(picture.body).toString()).toContain('<rect width="4"');
    expect(picture.headers['set-cookie']).toBeUndefined();
    const next = await store({ name: 'Other', logo: null, accent: null });
    for (const path of [
      ...[colors, logo, `/brand/${next}.css`, `/brand/${next}/logo`],
      ...['/brand/0/logo', '/brand/x.css', `/brand/${next}e0/logo`, '/brand/99999999999/logo'],
    ]) {
      const answer = await browser.get(path, { accept: 'image/*' });
      expect([path, answer.status, answer.headers['cache-control'] ?? '']).toEqual([
        path,
        404,
        expect.not.stringContaining('public'),
      ]);
    }
  });
});

it('shows no logo of another organization', async () => {
  const revision = await store({ logo: toBase64(png) });
  const other = await org.another();
  await loadCompany(org.ctx, other.id, {});
  await switchOn(await asOwner(other));
  const elsewhere = openBrowser({ ...org, slug: other.slug });
  expect((await openBrowser(org).get(`/brand/${revision}/logo`)).status).toBe(200);
  expect((await elsewhere.get(`/brand/${revision}/logo`)).status).toBe(404);
});

describe('the mail with a code', () => {
  const readMail = async () => {
    await openBrowser(org).post('/sign-in', { email: known });
    await org.ctx.work.waitUntilIdle('code-mails');
    const [delivered] = org.mails.delivered.slice(-1);
    expect(await nextCode(org)).not.toBe('');
    const { from, subject, text, html } = delivered?.mail ?? {};
    return { from: from?.name, subject, text, html };
  };

  it('names the company in its colour, and comes from the name that it chose', async () => {
    await store();
    const { from, subject, text, html } = await readMail();
    expect(html).toContain(`background:${branding.accent}`);
    expect(from).toBe('Aster accounts');
    expect(`${subject} ${text}`).toContain('Aster <Wholesale>');
    await store({ senderName: null });
    expect((await readMail()).from).toBe('Aster <Wholesale>');
    await store({ senderName: null, name: null });
    expect((await readMail()).from).toBe('Aster Holding');
  });
});

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminanceOf(color: string): number {
  const full = color.length === 4 ? color.replaceAll(/[0-9a-f]/g, '$&$&') : color;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(full.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
const contrast = (one: string, other: string): number => {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
};
/** The values of tokens in light and in dark mode. */
const readTokens = (css: string) =>
  new Map(
    [...css.matchAll(/(--[\w-]+):\s*light-dark\((#[0-9a-f]{3,6}),\s*(#[0-9a-f]{3,6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, [light, dark] as const],
    ),
  );

describe('the colours', () => {
  const shared = readTokens(readFileSync(new URL('../../web/shared/tokens.css', import.meta.url), 'utf8'));

  it.each(['#0b6e4f', '#767676', '#000000', '#0000ff', '#a5211a', '#7a4800', '#1b46b0', '#8a0f7a'])(
    'of the accent %s can be read on every surface, in light and in dark mode',
    async (accent) => {
      const revision = await store({ accent });
      const { text } = await openBrowser(org).get(`/brand/${revision}.css`);
      const own = readTokens(text);
      expect([...own.keys()]).toEqual(['--accent', '--accent-strong', '--accent-surface', '--on-accent']);
      const pages = new Map([...shared, ...own]);
      const surfaces = ['--page', '--surface', '--raised', '--hover', '--accent-surface'];
      for (const mode of [0, 1] as const) {
        const value = (token: string): string => pages.get(token)?.[mode] ?? '';
        const pairs = [
          ...surfaces.flatMap((surface) => [
            ['--accent', surface],
            ['--accent-strong', surface],
          ]),
          ...[
            ['--on-accent', '--accent'],
            ['--on-accent', '--accent-strong'],
          ],
          ['--text', '--accent-surface'],
        ] as const;
        for (const [front = '', back = ''] of pairs)
          expect([mode, front, back, contrast(value(front), value(back))]).toEqual([
            ...[mode, front, back],
            expect.toSatisfy((ratio: number) => ratio >= 4.5),
          ]);
      }
    },
  );
});
