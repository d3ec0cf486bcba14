// Access to the public reference, its error messages, and its layout and accessibility.
import { describe, expect, it } from 'vitest';
import { makeKey, makeMember, makeSession } from '../setup/organization.ts';
import { addSession, expectSound, looks, readTraces, type Visit, withoutFailedLoads } from './chromium.ts';
import {
  longNameAt,
  longTitle,
  operation,
  type ReferenceSite,
  send,
  useReference,
} from './reference-site.ts';

const reference = useReference();

describe('a person signed in to the management interface', () => {
  async function visitAs(role: string | string[], address = '/v1/preview'): Promise<Visit> {
    const { id } = await makeMember(reference.database.ctx, reference.tenant, role);
    const { token } = await makeSession(reference.database.ctx, id);
    const made = await reference.newVisit();
    await addSession(made, token, reference.site.origin);
    await made.page.goto(`${reference.site.origin}/api/public/openapi${address}`);
    return made;
  }

  it('reads the reference without a key, and needs one to send requests', async () => {
    const made = await visitAs('viewer', '/v1/preview#at=listInvoices');
    await made.page.getByText('at Aster Company').waitFor();
    const list = operation(made, 'listInvoices');
    await list.getByRole('button', { name: 'Use this key' }).click();
    await list.getByText('Enter the API key').waitFor();
    await list.getByLabel('API key').fill(reference.key);
    await made.page.keyboard.press('Enter');
    const response = await send(made, 'listInvoices');
    expect(response.status()).toBe(200);
    expect(await response.request().allHeaders()).not.toHaveProperty('cookie');
    expect(await readTraces(made)).not.toContain(reference.key);
    await made.page.getByRole('button', { name: 'Use another key' }).click();
    await made.page.getByRole('button', { name: 'Use tenant and key' }).click();
    expect(await made.page.getByLabel('Tenant id').inputValue()).toMatch(/^[0-9a-f-]{36}$/);
    await reference.enter(made);
    await made.page.locator('#connection-text', { hasText: /^Aster Company$/ }).waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('has to enter a key for another tenant, or when the role may not read versions', async () => {
    const other = await visitAs('viewer', '/v1/preview#tenant=01890000-0000-7000-8000-000000000000');
    await other.page.getByRole('button', { name: 'Open the reference' }).waitFor();
    expect(other.requested.filter((address) => address.endsWith('/openapi/v1'))).toEqual([]);
    const unpermitted = await visitAs(['sync:read']);
    await unpermitted.page.getByText('You may not read this reference').waitFor();
    await reference.enter(unpermitted);
    await unpermitted.page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
  });
});

describe('a rejected key or an unknown version gets a clear message', () => {
  const unknownKey = `psk_${'0'.repeat(49)}`;
  const cases: [string, string, () => Parameters<ReferenceSite['enter']>[1], string][] = [
    ['what was typed is wrong', '/v1/preview', () => ({ tenant: '' }), 'Enter the tenant id'],
    ['an unknown version', '/v9/preview', () => ({}), 'There is no version v9'],
    ['a draft that was not asked for', '/v6/preview', () => ({}), 'There is no version v6'],
    ['a draft that does not exist', '/v9/preview?draft=true', () => ({}), 'There is no draft of version v9'],
    ['a retired version', '/v2/preview', () => ({}), 'Version v2 has been retired'],
  ];
  it.each(cases)('%s', async (_case, address, credentials, message) => {
    const made = await reference.visit(address);
    const alert = made.page.getByRole('alert');
    await reference.enter(made, credentials());
    await alert.getByText(message).waitFor();
    expect(await made.page.getByRole('button', { name: 'Open the reference' }).isEnabled()).toBe(true);
    expect(withoutFailedLoads(made)).toEqual([]);
  });

  it('several wrong credentials, an unreachable service, and recovery', async () => {
    const made = await reference.visit();
    const alert = made.page.getByRole('alert');
    const restricted = await makeKey(reference.database.ctx, reference.tenant, { versions: ['v2'] });
    const refusals: [Parameters<ReferenceSite['enter']>[1], string][] = [
      [{ key: unknownKey }, 'This API key is not valid'],
      [{ tenant: 'acme' }, 'This tenant id is not valid'],
      [{ tenant: '01890000-0000-7000-8000-000000000000' }, 'This key belongs to another tenant'],
      [{ key: 'psk_…' }, 'The API key is not valid'],
      [{ key: restricted.secret }, 'This key may not read version v1'],
    ];
    for (const [credentials, message] of refusals) {
      await reference.enter(made, credentials);
      await alert.getByText(message).waitFor();
    }
    await made.context.setOffline(true);
    await reference.enter(made);
    await alert.getByText('The service cannot be reached').waitFor();
    await made.context.setOffline(false);
    await made.page.getByRole('button', { name: 'Open the reference' }).click();
    await made.page.locator('.cards').getByRole('link', { name: 'invoices' }).click();
    expect(await alert.count()).toBe(0);
    await made.context.setOffline(true);
    const list = operation(made, 'listInvoices');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('The response is incomplete').waitFor();
    await made.context.setOffline(false);
    await send(made, 'listInvoices');
    await list.getByText('200 OK').waitFor();
  });
});

describe.each(looks)('the public reference at $name', ({ name, width, colorScheme }) => {
  it('fits its window and is accessible', async () => {
    const made = await reference.visit('/v1/preview', { viewport: { width, height: 900 }, colorScheme });
    const { page } = made;
    const look = (what: string, fullPage = false) =>
      expectSound(page, `public-${name}-${what}`, { fullPage });
    await page.getByRole('button', { name: 'Open the reference' }).waitFor();
    await reference.enter(made, { key: 'psk_wrong' });
    await page.getByRole('alert').waitFor();
    await look('problem');
    await reference.enter(made);
    await page.getByRole('heading', { name: 'Test', level: 2 }).waitFor();
    await look('guide');
    await page.locator('.cards').getByRole('link', { name: 'invoices' }).click();
    const list = operation(made, 'listInvoices');
    await list.getByRole('button', { name: 'Newest first' }).click();
    await send(made, 'listInvoices');
    await list.getByText('200 OK').waitFor();
    await list.getByRole('button', { name: 'Show all' }).click();
    await list.locator('.response summary').first().click();
    await look('tried', true);
    await page.goto(`${reference.site.origin}/api/public/openapi/v4/preview#at=${longNameAt}`);
    await reference.enter(made);
    await page.getByRole('heading', { name: longTitle, level: 2 }).waitFor();
    if (width < 880) await page.getByRole('button', { name: 'Operations' }).click();
    await look('many');
  });
});
