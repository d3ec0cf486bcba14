// What a person sees who opens an address in a browser where something is wrong: a page. Programs get the
// usual error body.
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createId } from '../../src/core/id.ts';
import { base } from '../setup/api.ts';
import { makeSession } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const open = (address: string, accept = browser) => supertest(org.app).get(address).set('accept', accept);
const stripTags = (html: string): string =>
  html
    .replaceAll(/<(style|title)[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('an address at which there is nothing', () => {
  it.each([
    '/nothing',
    '/invitations/abc',
    '/auth/nothing',
    '/unsubscribe/undo',
    '/pay/sandbox',
    '/assets/0/x.js',
    '/openapi',
    '/%E0%A4%A',
    '/api',
    '/api/nothing',
    `${base}/nothing`,
    `${base}/teams/1`,
    '/api/public/openapi/v9',
    '/api/public/v9/nothing',
    '/mcp',
  ])('%s is a page with a way out', async (address) => {
    const page = await open(address);
    expect([page.status >= 400 && page.status < 500, page.headers['content-type']]).toEqual([
      true,
      'text/html; charset=utf-8',
    ]);
    expect(page.text).toMatch(
      /^<!doctype html>[\s\S]*<html lang="en">[\s\S]*<h1>[^<]+<\/h1>[\s\S]*<a [^>]*href="\/"/,
    );
    expect(page.text).toContain(`Request ${page.headers['x-request-id']}`);
    expect(page.headers).toMatchObject({
      'cache-control': 'no-store',
      vary: expect.stringContaining('Accept'),
    });
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self'; /);
    expect(stripTags(page.text)).not.toMatch(/[{}"]/);
    expect((await open(address).then(({ text }) => text)).includes('<script')).toBe(false);
  });

  it('is the error body for a program, also for one whose library asks for HTML by default', async () => {
    const library = 'text/html, image/gif, image/jpeg, */*; q=.2';
    for (const address of ['/nothing', '/api', `${base}/nothing`, '/api/public/v9/nothing', '/mcp'])
      for (const [accept, authorization] of [
        ['*/*'],
        ['application/json'],
        ['text/css,*/*;q=0.1'],
        [library, 'Bearer psk_wrong'],
      ] as const) {
        const answer = await open(address, accept).set(authorization === undefined ? {} : { authorization });
        expect([address, accept, answer.type]).toEqual([address, accept, 'application/json']);
        expect(answer.body.error.message).not.toBe('');
      }
  });

  it('keeps the status and headers of the error', async () => {
    const [page, body] = [await open('/api/public/v9/nothing'), await open('/api/public/v9/nothing', '*/*')];
    const own = [
      'content-length',
      'content-security-policy',
      'content-type',
      'date',
      'x-request-id',
      'x-robots-tag',
    ];
    const shared = ({ headers }: typeof page) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name)));
    expect([page.status, shared(page)]).toEqual([401, shared(body)]);
    expect(shared(page)).toMatchObject({
      'www-authenticate': 'Bearer',
      'x-frame-options': expect.any(String),
    });
  });

  it('does not repeat what the link says', async () => {
    const page = await open(`${base}/openapi?Call%20555%20now`);
    expect([page.status, page.type]).toEqual([400, 'text/html']);
    expect(page.text).not.toContain('555');
    expect((await open(`${base}/openapi?Call%20555%20now`, '*/*')).text).toContain('Call 555 now');
  });

  it('says to a person without access what the address is for', async () => {
    for (const address of ['/api/public/v9/nothing', `${base}/teams`])
      expect(stripTags((await open(address)).text)).toContain('Programs read this address with an API key.');
  });
});

describe('an address for which there is no session', () => {
  const oidc = {
    issuer: 'https://id.example.test',
    audience: 'portal',
    jwksUri: 'https://id.example.test/jwks',
    userinfoUri: null,
    client: { id: 'portal', secret: null },
  };
  const actionsOn = async (address: string) => {
    const signIn = createApp({ ...org.ctx, settings: { ...org.ctx.settings, oidc } });
    const page = await supertest(signIn).get(address).set('accept', browser);
    return [
      page.status,
      ...[...page.text.matchAll(/class="main" href="([^"]*)">([^<]*)/g)].map(([, path, label]) => [
        label,
        path,
      ]),
    ];
  };

  it('is reached by signing in, where a session can read it', async () => {
    for (const path of [`${base}/views/${createId()}/records`, `${base}/teams?q=%22%3E%3Cb%3E&page=1`]) {
      const signIn = `/auth/login?returnTo=${encodeURIComponent(path)}`;
      expect(await actionsOn(path)).toEqual([401, ['Sign in', signIn]]);
    }
    expect(await actionsOn('/api/public/v9/nothing')).toEqual([401]);
  });
});

describe('words and buttons', () => {
  it('of pages for an unknown or expired link say what to do once', async () => {
    const unknown = await open(`/unsubscribe?token=${'A'.repeat(43)}`);
    expect([unknown.status, unknown.text.match(/<button|class="main"/g)]).toEqual([404, null]);
    const signIn = await open('/auth/callback?code=x&state=y');
    expect(stripTags(signIn.text)).not.toContain('/auth/login');
  });
});

describe('an address that a person may not open', () => {
  it('is a page, for a session too', async () => {
    const member = await org.joinBare(['sync:read']);
    const { cookie } = await makeSession(org.ctx, member.id);
    const page = await open(`${base}/teams`).set({ cookie });
    expect([page.status, page.type, /<h1>([^<]+)/.exec(page.text)?.[1]]).toEqual([
      403,
      'text/html',
      'Missing required permission: team:read',
    ]);
  });

  it('is a page when there were too many attempts', async () => {
    let page = await open(`/unsubscribe?token=${'B'.repeat(43)}`);
    for (let left = 25; page.status === 404 && left > 0; left -= 1)
      page = await open(`/unsubscribe?token=${'B'.repeat(43)}`);
    expect([page.status, page.type, page.headers['retry-after']]).toEqual([
      429,
      'text/html',
      expect.stringMatching(/^\d+$/),
    ]);
    expect(stripTags(page.text)).toMatch(/Too many requests; try again in \d+ s/);
  });
});
