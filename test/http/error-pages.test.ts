// What a person sees who opens an address in a browser where something is wrong: a page. Programs get the usual error body.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { base } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';

let database: TestDatabase;
let app: Express;
beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
});
afterAll(() => database.close());

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const open = (address: string, accept = browser) => supertest(app).get(address).set('accept', accept);
const wordsOf = (html: string): string =>
  html
    .replaceAll(/<(style|title)[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('an address at which there is nothing', () => {
  it.each(['/nothing', '/invitations/abc', '/auth/nothing', '/unsubscribe/undo', '/pay/sandbox', '/openapi', '/%E0%A4%A'])(
    '%s is a page with a way out',
    async (address) => {
      const page = await open(address);
      expect([page.status >= 400 && page.status < 500, page.headers['content-type']]).toEqual([true, 'text/html; charset=utf-8']);
      expect(page.text).toMatch(/^<!doctype html>[\s\S]*<html lang="en">[\s\S]*<h1>[^<]+<\/h1>[\s\S]*<a [^>]*href="\/"/);
      expect(page.text).toContain(`Request ${page.headers['x-request-id']}`);
      expect(page.headers).toMatchObject({ 'cache-control': 'no-store', vary: expect.stringContaining('Accept') });
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
      expect(wordsOf(page.text)).not.toMatch(/[{}"]/);
      expect((await open(address).then(({ text }) => text)).includes('<script')).toBe(false);
    },
  );

  it('is the error body for a program, and for everyone below the interfaces', async () => {
    for (const accept of ['*/*', 'application/json', 'text/css,*/*;q=0.1'])
      expect((await open('/nothing', accept)).body.error).toMatchObject({ code: 'NOT_FOUND' });
    for (const address of [`${base}/nothing`, '/api/public/v1/nothing', '/api', '/mcp/nothing', '/.well-known/nothing'])
      expect([address, (await open(address)).headers['content-type']]).toEqual([address, 'application/json; charset=utf-8']);
  });
});

describe('words and buttons', () => {
  it('of pages for an unknown or expired link say what to do once', async () => {
    const unknown = await open(`/unsubscribe?token=${'A'.repeat(43)}`);
    expect([unknown.status, unknown.text.match(/<button|class="main"/g)]).toEqual([404, null]);
    const signIn = await open('/auth/callback?code=x&state=y');
    expect(wordsOf(signIn.text)).not.toContain('/auth/login');
  });
});
