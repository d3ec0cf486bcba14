// How the console is served: one page for every address below /console, files that browsers keep, and a page
// that says how to build them.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import express, { type Express } from 'express';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { createConsole } from '../../src/http/pages/console-page.ts';
import { asBuffer, unpacked } from '../setup/raw-body.ts';
import { useOrganization } from '../setup/use-organization.ts';

const script = 'console.log("built");'.repeat(100);
const html =
  '<!doctype html><html lang="en"><title>Console</title><script type="module" src="/console/assets/index-Ab12.js"></script></html>';

let folder: string;
const org = useOrganization();
let app: Express;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-console-'));
  await mkdir(path.join(folder, 'assets'));
  await writeFile(path.join(folder, 'index.html'), html);
  await writeFile(path.join(folder, 'assets/index-Ab12.js'), script);
  await writeFile(path.join(folder, 'assets/index-Cd34.css'), 'body{margin:0}');
  await writeFile(path.join(folder, 'assets/icon-Ef56.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(path.join(folder, 'outside.txt'), 'not served');
  app = createApp(org.ctx, { consoleFolder: folder });
});
afterAll(() => rm(folder, { recursive: true }));

describe('GET /console', () => {
  it.each(['', '/', '/syncs', '/syncs/7?page=2', '/assets-of-mine', '/a/b/c/d'])(
    '%s is the page',
    async (address) => {
      const response = await supertest(app).get(`/console${address}`).expect(200, html);
      expect(response.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
      });
    },
  );

  it('allows scripts and styles of this service alone', async () => {
    const { headers } = await supertest(app).get('/console/syncs');
    const policy = (headers['content-security-policy'] ?? '').split('; ');
    for (const kind of ['script', 'style', 'connect']) expect(policy).toContain(`${kind}-src 'self'`);
    // The portal as a visitor sees it: a frame that a form opens.
    for (const kind of ['frame-src', 'form-action']) expect(policy).toContain(`${kind} 'self'`);
    for (const kind of ['default-src', 'frame-ancestors', 'base-uri'])
      expect(policy).toContain(`${kind} 'none'`);
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
  });
});

describe('files of the console', () => {
  it.each([
    ['index-Ab12.js', 'text/javascript; charset=utf-8'],
    ['index-Cd34.css', 'text/css; charset=utf-8'],
    ['icon-Ef56.svg', 'image/svg+xml'],
  ])('%s may be kept forever', async (name, contentType) => {
    const { headers } = await supertest(app).get(`/console/assets/${name}`).expect(200);
    expect(headers).toMatchObject({
      'content-type': contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: expect.stringContaining('Accept-Encoding'),
      'cross-origin-resource-policy': 'same-origin',
    });
  });

  it('are compressed for clients that accept it', async () => {
    const send = (encoding: string) =>
      supertest(app)
        .get('/console/assets/index-Ab12.js')
        .set('accept-encoding', encoding)
        .buffer()
        .parse(asBuffer);
    const plain = await send('identity');
    expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, script]);
    const zipped = await send('gzip');
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(unpacked(zipped.body)).toBe(script);
    expect(Number(zipped.headers['content-length'])).toBeLessThan(script.length / 5);
  });

  it('are no others: 404', async () => {
    for (const name of ['index-Zz99.js', '', '..%2foutside.txt', '..%2findex.html', 'index-Ab12.js/more']) {
      const response = await supertest(app).get(`/console/assets/${name}`);
      expect([name, response.status, response.body.error?.code]).toEqual([name, 404, 'NOT_FOUND']);
    }
    for (const path of ['/console/assets', '/console/assets/INDEX-AB12.JS', '/Console', '/consoles'])
      await supertest(app).get(path).expect(404);
  });

  it.each(['../index.html', '%2e%2e/outside.txt'])('%s is not one', async (name) => {
    const response = await supertest(app).get(`/console/assets/${name}`);
    // A client may resolve dots itself: then it asks for a screen.
    if (response.status === 200) expect(response.text).toBe(html);
    else expect([response.status, response.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('other methods', () => {
  it('HEAD has the headers and no body', async () => {
    const page = await supertest(app).head('/console/syncs').expect(200);
    expect([page.headers['content-length'], page.text]).toEqual([String(html.length), undefined]);
    await supertest(app).head('/console/assets/index-Ab12.js').expect(200);
  });

  it.each(['post', 'put', 'patch', 'delete'] as const)('%s is not answered', async (method) => {
    for (const address of ['/console', '/console/syncs', '/console/assets/index-Ab12.js'])
      expect((await supertest(app)[method](address)).status).toBe(404);
  });
});

it('files that are incomplete, as while they are replaced, count as not built', async () => {
  const partial = path.join(folder, 'partial');
  await mkdir(partial);
  await writeFile(path.join(partial, 'index.html'), html);
  await supertest(express().use('/console', createConsole(partial)))
    .get('/console')
    .expect(503);
});

it('without built files every address says how to build them', async () => {
  const bare = express().use('/console', createConsole(path.join(folder, 'missing')));
  for (const address of ['/console', '/console/syncs']) {
    const response = await supertest(bare).get(address).expect(503);
    expect(response.text).toContain('npm run build');
    expect(response.headers['cache-control']).toBe('no-store');
  }
  expect((await supertest(bare).get('/console/assets/index-Ab12.js')).status).toBe(404);
});
