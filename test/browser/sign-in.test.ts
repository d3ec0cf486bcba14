// A person in a real browser: from the reference page to the identity provider, back with a session, a
// request with it, and signing out.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UnauthorizedError } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { type SignInSite, startSignInSite } from '../setup/identity-provider.ts';
import { openMcpClient, selfRegistering } from '../setup/mcp-client.ts';
import { makeOrganization } from '../setup/organization.ts';
import {
  looks,
  measureOverflow,
  saveScreenshot,
  useVisits,
  type Visit,
  withoutFailedLoads,
} from './chromium.ts';
import { openOperation, operation, send } from './reference-site.ts';

let database: TestDatabase;
let site: SignInSite;
const openVisit = useVisits();

beforeAll(async () => {
  database = await testDatabase();
  await makeOrganization(database.ctx, { name: 'Aster Company', ownerEmail: 'owner@acme.example' });
  site = await startSignInSite({
    ctx: database.ctx,
    app: { consoleFolder: inject('consoleFolder') },
    people: [
      { id: 'owner', email: 'owner@acme.example', name: 'Owner of Aster', about: 'Owner: may do everything' },
      {
        id: 'unverified',
        email: 'unverified@acme.example',
        name: 'Nobody',
        about: 'Has an e-mail that nobody verified',
        emailVerified: false,
      },
    ],
  });
});
afterAll(async () => {
  await site.stop();
  await database.close();
});

async function visit(options: Parameters<typeof openVisit>[0] = {}): Promise<Visit> {
  const made = await openVisit(options);
  await made.page.goto(`${site.origin}/api/platform/v1/openapi/preview`);
  await made.page.getByRole('heading', { name: 'Portal Service: management interface' }).waitFor();
  return made;
}

async function execute(made: Visit, id: string, body?: string) {
  await openOperation(made, id);
  if (body !== undefined) await operation(made, id).getByRole('textbox', { name: 'Request body' }).fill(body);
  return send(made, id);
}

describe.each(looks)('signing in at $name', ({ name, width, colorScheme }) => {
  it('works from the reference page, including signing out, and fits its window', async () => {
    const made = await visit({ viewport: { width, height: 900 }, colorScheme });
    const { page, complaints } = made;
    await saveScreenshot(page, `sign-in-${name}-1-open`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Who do you want to sign in as?' }).waitFor();
    expect(new URL(page.url()).origin).toBe(site.provider.issuer);
    await saveScreenshot(page, `sign-in-${name}-2-provider`);
    expect(await measureOverflow(page)).toBe(0);
    await page.getByRole('button', { name: 'owner@acme.example' }).click();
    await page.getByText('Signed in as Owner of Aster at Aster Company').waitFor();
    expect(page.url()).toBe(`${site.origin}/api/platform/v1/openapi/preview`);
    const response = await execute(made, 'getWhoAmI');
    expect(response.status()).toBe(200);
    expect((await response.request().allHeaders())['authorization']).toBeUndefined();
    await operation(made, 'getWhoAmI')
      .getByRole('group', { name: 'Response body' })
      .getByText('"session"')
      .waitFor();
    expect((await execute(made, 'createApiKey', '{"name": "Made by a session"}')).status()).toBe(201);
    await page.evaluate('scrollTo(0, 0)');
    await saveScreenshot(page, `sign-in-${name}-3-signed-in`);
    expect(await measureOverflow(page)).toBe(0);
    expect(await page.evaluate<string>('document.cookie')).toBe('');

    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign out of the demo identity provider too?' }).waitFor();
    await saveScreenshot(page, `sign-in-${name}-4-sign-out`);
    expect(await measureOverflow(page)).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).origin).toBe(site.origin);
    expect(
      (await made.context.cookies(site.origin)).filter(({ name: cookie }) => cookie.startsWith('portal_')),
    ).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('shows why it failed', async () => {
    const made = await visit({ viewport: { width, height: 900 }, colorScheme });
    await made.page.getByRole('link', { name: 'Sign in' }).click();
    await made.page.getByRole('button', { name: 'unverified@acme.example' }).click();
    await made.page.getByRole('heading', { name: 'Your e-mail address is not verified' }).waitFor();
    await saveScreenshot(made.page, `sign-in-${name}-5-problem`);
    expect(await measureOverflow(made.page)).toBe(0);
    // The provider still has a session for that person, and asks again nevertheless.
    await made.page.getByRole('link', { name: 'Sign in as someone else' }).click();
    await made.page.getByRole('button', { name: 'owner@acme.example' }).click();
    await made.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(made.page.url()).toBe(`${site.origin}/console`);
    expect(withoutFailedLoads(made)).toEqual([]);
  });
});

describe('a client that registers itself', () => {
  it('gets its code in the browser, for the person that is chosen, whoever was signed in before', async () => {
    const codes: URLSearchParams[] = [];
    const callback = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
      if (pathname === '/callback') codes.push(searchParams);
      response.end('Back at the editor');
    });
    await new Promise<void>((resolve) => callback.listen(0, '127.0.0.1', resolve));
    const redirectUri = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`;
    const made = await visit();
    try {
      for (const email of ['owner@acme.example', 'unverified@acme.example']) {
        const auth = selfRegistering(
          { client_name: 'Test editor', redirect_uris: [redirectUri] },
          redirectUri,
        );
        const { connect, transport } = openMcpClient(`${site.origin}/mcp`, auth);
        await expect(connect()).rejects.toThrow(UnauthorizedError);
        await made.page.goto(auth.kept.opened);
        await made.page.getByText('Test editor').waitFor();
        await saveScreenshot(made.page, 'sign-in-client');
        expect(await measureOverflow(made.page)).toBe(0);
        await made.page.getByRole('button', { name: email }).click();
        await made.page.getByText('Back at the editor').waitFor();
        await transport.finishAuth(codes.at(-1) ?? new URLSearchParams());
        const claims = JSON.parse(
          Buffer.from(auth.kept.tokens?.access_token.split('.')[1] ?? '', 'base64url').toString(),
        );
        expect([claims.email, claims.aud]).toEqual([email, `${site.origin}/mcp`]);
      }
      expect(made.complaints.filter((text) => !text.includes('favicon'))).toEqual([]);
    } finally {
      callback.closeAllConnections();
      await new Promise((resolve) => callback.close(resolve));
    }
  });
});

describe('the session on the reference page', () => {
  it('gives way to a key, returns when the key is removed, and survives a reload', async () => {
    const made = await visit();
    const { page } = made;
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'owner@acme.example' }).click();
    await page.getByText('Signed in as Owner of Aster').waitFor();
    await page.getByRole('heading', { name: 'Portal Service: management interface' }).waitFor();
    const created = await execute(made, 'createApiKey', '{"name": "For the page"}');
    const { secret } = (await created.json()) as { secret: string };
    await page.getByRole('button', { name: 'Use a key' }).click();
    await page.getByRole('textbox', { name: 'API key' }).fill(secret);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('button', { name: 'Back to the session' }).waitFor();
    expect((await (await execute(made, 'getWhoAmI')).json()).credential.kind).toBe('api-key');
    await page.getByRole('button', { name: 'Back to the session' }).click();
    await page.getByText('Signed in as Owner of Aster').waitFor();
    await page.reload();
    await page.getByText('Signed in as Owner of Aster').waitFor();
    expect(made.complaints).toEqual([]);
  });
});
