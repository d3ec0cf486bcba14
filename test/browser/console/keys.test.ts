// API keys, by keyboard: create one with scopes, use it, see its usage, rotate it with a grace period, mint a
// token, revoke.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { invoicesEndpoint, publishVersion } from '../../public/fixture.ts';
import { allTargets, customersEndpoint, describeTargets, loadCustomers } from '../../public/related.ts';
import { choose, press, type, useConsole } from './console-site.ts';

const site = useConsole({ invoices: 40, published: true, usedKey: true });
beforeAll(async () => {
  const { ctx } = site.database;
  const names = ['Ann & <b>Co</b>', 'Böttcher Großhandel', 'Celeste Imports'];
  await loadCustomers(
    ctx,
    site.organizationId,
    names.map((name, id) => ({ id, name })),
  );
  await describeTargets(ctx, site.organizationId, allTargets);
  const fields = invoicesEndpoint.fields.map((field) =>
    field.name === 'customer' ? { ...field, scopable: true } : field,
  );
  const relations = [{ name: 'buyer', field: 'customer', resource: 'customers' }];
  const endpoints = [
    { ...invoicesEndpoint, fields, relations },
    { ...invoicesEndpoint, name: 'credits', fields },
    { ...customersEndpoint, search: ['name'] },
  ];
  await publishVersion(ctx, site.organizationId, { version: 'v2', endpoints });
});

/** Reads the public interface as a program would, with a secret that the console has shown. */
async function read(secret: string, path: string): Promise<{ status: number; total: number | undefined }> {
  const headers = { authorization: `Bearer ${secret}`, 'x-tenant-id': site.organizationId };
  const response = await fetch(`${site.origin}/api/public${path}`, { headers });
  const body = (await response.json()) as { pagination?: { total: number } };
  return { status: response.status, total: body.pagination?.total };
}

/** Types part of a name, goes down to the record in the list, and chooses it. */
async function pick(page: Page, label: string, text: string, option: RegExp): Promise<void> {
  const input = page.getByRole('combobox', { name: label });
  await type(page, input, text);
  const found = page.getByRole('option', { name: option });
  await found.first().waitFor();
  while ((await found.and(page.getByRole('option', { selected: true })).count()) === 0)
    await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page
    .getByRole('list', { name: `Chosen ${label}` })
    .getByText(text)
    .first()
    .waitFor();
}

const secretShown = async (page: Page): Promise<string> =>
  (await page.locator('.key-secret pre').first().textContent()) ?? '';

/**
 * Neither the page nor what the browser keeps has the secret: not now, not after going back, and not after a
 * reload.
 */
async function expectGone(page: Page, secret: string): Promise<void> {
  const traces = async (): Promise<string> =>
    `${await page.content()} ${await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, history.state])')} ${page.url()}`;
  expect(await traces()).not.toContain(secret);
  const shown = page.url();
  await page.goBack();
  await page.getByRole('heading', { name: 'Create an API key' }).waitFor();
  expect(await traces()).not.toContain(secret);
  await page.reload();
  await page.getByRole('heading', { name: 'Create an API key' }).waitFor();
  expect(await traces()).not.toContain(secret);
  await page.goto(shown);
  await page.getByRole('heading', { name: 'Customer 1' }).waitFor();
  expect(await traces()).not.toContain(secret);
}

describe('API keys', () => {
  it('are created with scopes, used, and show their usage', async () => {
    const { page, complaints, finish } = await site.open('/keys');
    await page.getByRole('link', { name: 'Partner portal' }).waitFor();
    await finish({ name: 'keys-list' });
    await press(page, page.getByRole('link', { name: 'Create an API key' }));
    await type(page, page.getByLabel('Name'), 'Customer 1');
    await press(page, page.getByRole('checkbox', { name: 'v2' }), { key: 'Space' });
    await press(page, page.getByRole('checkbox', { name: 'invoices' }), { key: 'Space' });
    await press(page, page.getByRole('button', { name: 'Add condition' }));
    await choose(page, 'Field of condition 1', 'customer');
    await pick(page, 'Values of condition 1', 'Böttcher', /^Böttcher Großhandel/);
    await choose(page, 'Expires', 'In 90 days');
    await finish({ name: 'keys-new' });
    await press(page, page.getByRole('button', { name: 'Create the key' }));
    await page.getByText('Copy it now').waitFor();
    const secret = await secretShown(page);
    const [made] = (await site.api('get', '/api-keys?q=Customer')).body.data;
    expect(made.scopes.permissions).toEqual(['none']);
    await finish({ name: 'keys-created' });
    expect(await page.locator('.key-secret pre').nth(1).textContent()).toContain(
      '/api/public/v2/invoices?pageSize=1',
    );
    expect(await read(secret, '/v2/invoices')).toEqual({ status: 200, total: 13 });
    expect([(await read(secret, '/v2/credits')).status, (await read(secret, '/v1/invoices')).status]).toEqual(
      [403, 403],
    );
    await press(page, page.getByRole('link', { name: 'I have copied it: go to the key' }));
    await page.getByRole('heading', { name: 'Customer 1' }).waitFor();
    await page.getByText('Reads invoices of v2 where customer is 1').waitFor();
    await expectGone(page, secret);
    const used = async () => (await site.api('get', '/api-keys?q=Customer')).body.data[0].requestsLast7Days;
    await expect.poll(used, { timeout: 25_000, interval: 500 }).toBe(3);
    await page.reload();
    await page.getByText('3 requests').first().waitFor();
    await page.getByRole('row', { name: /v2 credits 1/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('are rotated with a grace period during which both secrets work, and revoked', async () => {
    const made = (await site.api('post', '/api-keys', { name: 'Nightly', scopes: { permissions: ['read'] } }))
      .body;
    await site.arrange((tx) =>
      tx('api_key_usage').insert({
        organization_id: site.organizationId,
        api_key_id: made.id,
        day: tx.raw("(now() at time zone 'UTC')::date"),
        version: 'v1',
        resource: 'invoices',
        succeeded: 1_234,
      }),
    );
    const { page, finish } = await site.open('/keys?q=Nightly');
    await press(page, page.getByRole('link', { name: 'Nightly' }));
    await page.getByRole('heading', { name: 'Nightly' }).waitFor();
    await press(page, page.getByRole('button', { name: 'Rotate' }));
    await choose(page, 'Grace period of the old secret', '7 days');
    await press(page, page.getByRole('button', { name: 'Rotate the key' }));
    await page.getByText('The old secret works until').waitFor();
    const secret = await secretShown(page);
    expect([
      (await read(secret, '/v1/invoices')).status,
      (await read(made.secret, '/v1/invoices')).status,
    ]).toEqual([200, 200]);
    // As when the person leaves for another site: the browser may keep the page, and show it when they go
    // back.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await expect.poll(() => page.content()).not.toContain(secret);
    await press(page, page.getByRole('button', { name: 'I have copied it' }));
    await page.getByText('Two secrets work at the moment').waitFor();
    await finish({ name: 'keys-grace' });
    await press(page, page.getByRole('button', { name: 'Revoke', exact: true }));
    await page.getByText('It made 1,234 requests in the last 7 days').waitFor();
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Cancel');
    await finish({ name: 'keys-revoke', fullPage: false });
    await press(page, page.getByRole('button', { name: 'Revoke this key' }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.badge').getByText('Revoked').waitFor();
    expect(await page.getByRole('button', { name: 'Rotate', exact: true }).count()).toBe(0);
    await expect.poll(async () => (await read(secret, '/v1/invoices')).status, { timeout: 10_000 }).toBe(401);
  });

  it('mint a token for a customer, whose tokens are revoked by subject', async () => {
    const { page, finish } = await site.open(`/keys/${site.keyId}`);
    await page.getByRole('slider', { name: /^Requests by day/ }).waitFor();
    await press(page, page.getByRole('button', { name: 'v1 invoices' }));
    await page.getByText('of v1 invoices in 30 days').waitFor();
    expect(page.url()).toContain('version=v1&resource=invoices');
    await press(page, page.getByRole('button', { name: 'Mint a token' }));
    await pick(page, 'Customer', 'Böttcher', /^Böttcher Großhandel 1$/);
    await page.getByText('It reads customers where id is 1 and invoices where customer is 1.').waitFor();
    await finish({ name: 'keys-token', fullPage: false });
    await press(page, page.getByRole('button', { name: 'Mint the token' }));
    await page.getByRole('heading', { name: 'Token for customer:1' }).waitFor();
    const token = await secretShown(page);
    expect(await read(token, '/v2/invoices')).toEqual({ status: 200, total: 13 });
    await page.keyboard.press('Escape');
    await press(page, page.getByRole('button', { name: 'Revoke tokens of a subject' }));
    await type(page, page.getByLabel('Subject'), 'customer:1');
    await press(page, page.getByRole('button', { name: 'Revoke these tokens' }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(async () => (await read(token, '/v2/invoices')).status, { timeout: 10_000 }).toBe(401);
    await finish({ name: 'keys-usage' });
  });

  it('are edited: scopes become narrower, and say so', async () => {
    const { id } = (await site.api('post', '/api-keys', { name: 'Wide', scopes: { permissions: ['write'] } }))
      .body;
    const { page } = await site.open(`/keys/${id}`);
    await press(page, page.getByRole('button', { name: 'Edit' }));
    await press(page, page.getByRole('checkbox', { name: 'v1' }), { key: 'Space' });
    await page
      .getByText("Reads all records of v1. Restricted to records: it can't use the management interface.")
      .waitFor();
    const all = page.getByRole('checkbox', { name: 'All, and later ones' }).first();
    expect(await all.isChecked()).toBe(false);
    await press(page, all, { key: 'Space' });
    await page.getByText('Reads all records; manages what its holder may.').waitFor();
    await press(page, page.getByRole('checkbox', { name: 'v1' }), { key: 'Space' });
    await press(page, page.getByRole('button', { name: 'Save' }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('Reads all records of v1').waitFor();
    expect((await site.api('get', `/api-keys/${id}`)).body.scopes).toMatchObject({
      versions: ['v1'],
      permissions: ['read'],
    });
  });

  it('of a former member end with their secret, unless it is kept', async () => {
    const { id } = (
      await site.api('post', '/api-keys', { name: 'Handed over', scopes: { permissions: ['read'] } })
    ).body;
    const endsAt = new Date(Date.now() + 86_400_000);
    await site.arrange((tx) =>
      tx('api_keys')
        .where({ id })
        .update({ secret_ends_at: endsAt, transferred_from: 'left@console.example' }),
    );
    const { page } = await site.open('/keys?status=revoked&q=Handed');
    await press(page, page.getByRole('button', { name: 'Clear filters' }));
    await press(page, page.getByRole('button', { name: 'Name' }));
    await expect.poll(() => page.url()).toContain('sort=name');
    await press(page, page.getByRole('link', { name: 'Handed over' }));
    await page.getByText('The key was transferred from left@console.example').waitFor();
    await press(page, page.getByRole('button', { name: 'Keep the secret' }));
    await page.getByText('although left@console.example may know it').waitFor();
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Keep the secret' }));
    await page.getByText('The key was transferred').waitFor({ state: 'detached' });
    expect((await site.api('get', `/api-keys/${id}`)).body.secretEndsAt).toBeNull();
  });

  it('are only looked at by people who may not change them', async () => {
    const { page, complaints } = await site.open(`/keys/${site.keyId}`, { role: ['api-key:read'] });
    await page.getByText('Reads all records').first().waitFor();
    for (const name of ['Edit', 'Rotate', 'Revoke', 'Mint a token'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
