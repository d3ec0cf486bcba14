// The organization's people, by keyboard: invitations, roles, teams, domains, and the audit log that shows
// all of it.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { makeMember, makeSession } from '../../setup/organization.ts';
import { press, tabTo, type, useConsole } from './console-site.ts';

const site = useConsole();

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const locateRow = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');

/** Follows a link of the navigation by keyboard. */
const goTo = (page: Page, name: string) =>
  press(page, page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name, exact: true }));

describe('members and invitations', () => {
  it('a person is invited, and the invitation is withdrawn', async () => {
    const { page, finish } = await site.open('/people');
    await press(page, button(page, 'Invite a person'));
    await type(page, dialog(page).getByLabel('E-mail address'), 'new@console.example');
    await tabTo(page, dialog(page).getByLabel('Role'));
    await page.keyboard.type('editor');
    await press(page, button(page, 'Send invitation'));
    await locateRow(page, 'new@console.example').getByText('Open').waitFor();
    expect(new URL(page.url()).search).toBe('?show=invitations');
    expect(await locateRow(page, 'new@console.example').textContent()).toContain('editor');
    await press(page, locateRow(page, 'new@console.example').getByRole('button', { name: 'Withdraw' }));
    await press(page, button(page, 'Withdraw this invitation'));
    await locateRow(page, 'new@console.example').getByText('Withdrawn').waitFor();
    await finish({ name: 'people-invitations' });
  });

  it('a member gets another role, and is removed with the keys named', async () => {
    const { id, email } = await makeMember(site.database.ctx, site.organizationId, 'admin');
    const { body } = await site.api('post', '/api-keys', { name: 'Of the leaver' });
    await site.arrange((tx) => tx('api_keys').where({ id: body.id }).update({ created_by: id }));
    const { page, finish } = await site.open('/people');
    await type(page, page.getByRole('searchbox'), email);
    await locateRow(page, site.owner.email).waitFor({ state: 'hidden' });
    await press(page, locateRow(page, email).getByRole('button', { name: 'Change role' }));
    await tabTo(page, dialog(page).getByLabel('Role'));
    await page.keyboard.type('viewer');
    await press(page, dialog(page).getByRole('button', { name: 'Change role' }));
    await locateRow(page, email).getByText('viewer').waitFor();
    await finish({ name: 'people-members' });
    await press(page, locateRow(page, email).getByRole('button', { name: 'Remove' }));
    await dialog(page).getByText('1 active API key of this person: Of the leaver').waitFor();
    await finish({ name: 'people-remove' });
    await press(page, button(page, 'Remove this member'));
    await page.getByText('Nothing matches these filters.').waitFor();
    expect((await site.api('get', `/api-keys/${body.id}`)).body.revokedAt).not.toBeNull();
  });

  it('a viewer sees the members, and no action on them', async () => {
    const { page, finish } = await site.open('/people', { role: 'viewer' });
    await locateRow(page, site.owner.email).waitFor();
    for (const name of ['Invite a person', 'Change role', 'Remove'])
      expect(await button(page, name).count(), name).toBe(0);
    await finish();
  });

  it('an address of a part that the person may not see shows one that they may', async () => {
    const { page, finish } = await site.open('/people?show=invitations', { role: ['member:read'] });
    await locateRow(page, site.owner.email).waitFor();
    expect(await page.getByRole('link', { name: 'Invitations' }).count()).toBe(0);
    await finish();
  });

  it('the organization is renamed, and deleting it asks for its short name', async () => {
    const { page, finish } = await site.open('/people?show=organization');
    await type(page, page.getByLabel('Name', { exact: true }), 'Aster Trading');
    await press(page, button(page, 'Save'));
    await page.getByText('Saved').waitFor();
    await page.getByRole('complementary').getByText('Aster Trading').waitFor();
    await press(page, button(page, 'Delete the organization'));
    await type(page, dialog(page).getByRole('textbox'), 'wrong');
    await press(page, button(page, 'Delete everything'));
    await dialog(page).getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await finish({ name: 'people-organization', statuses: [400] });
  });

  it('another session of the person is ended', async () => {
    await makeSession(site.database.ctx, site.owner.id, site.organizationId);
    const { page, finish } = await site.open('/people?show=sessions');
    await page.getByText('This session').waitFor();
    const ends = page.getByRole('button', { name: 'End', exact: true });
    const before = await ends.count();
    await press(page, ends.first());
    await press(page, button(page, 'End this session'));
    await expect.poll(() => ends.count()).toBe(before - 1);
    await finish({ name: 'people-sessions' });
  });
});

describe('roles', () => {
  it('a role is made from another, changed in the matrix and deleted', async () => {
    const { page, finish } = await site.open('/people/roles');
    await page.getByRole('img', { name: 'May delete the organization' }).waitFor();
    await finish({ name: 'people-roles' });
    await press(page, page.getByRole('link', { name: 'New role' }));
    await type(page, page.getByLabel('Name'), 'Auditor');
    await tabTo(page, page.getByLabel('Start from'));
    await page.keyboard.type('viewer');
    await press(page, page.getByLabel('Create views'), { key: 'Space', max: 120 });
    await press(page, button(page, 'Create role'), { max: 120 });
    await page.getByRole('heading', { name: 'Auditor' }).waitFor();
    await press(page, button(page, 'Edit'));
    await tabTo(page, page.getByLabel('Create views'), { max: 120 });
    expect(await page.getByLabel('Create views').isChecked()).toBe(true);
    await page.keyboard.press('Space');
    await finish({ name: 'people-role-edited' });
    await press(page, button(page, 'Save role'), { max: 120 });
    await page.getByRole('heading', { name: 'Auditor' }).waitFor();
    await page.getByRole('img', { name: 'May read views' }).waitFor();
    expect(await page.getByRole('img', { name: 'May create views' }).count()).toBe(0);
    await press(page, button(page, 'Delete'));
    await press(page, button(page, 'Delete this role'));
    await locateRow(page, 'Auditor').waitFor({ state: 'detached' });
  });
});

describe('teams and domains', () => {
  it('a team is created, and a member joins it', async () => {
    const { page, finish } = await site.open('/teams');
    await page.getByText('There are no teams yet.').waitFor();
    await press(page, button(page, 'New team'));
    await type(page, dialog(page).getByLabel('Name'), 'Accounting');
    await press(page, button(page, 'Create team'));
    await page.getByRole('heading', { level: 1, name: 'Accounting' }).waitFor();
    await press(page, button(page, 'Add a member'));
    await type(page, dialog(page).getByLabel('E-mail address'), site.owner.email);
    await press(page, button(page, 'Add to the team'));
    await locateRow(page, site.owner.email).waitFor();
    await finish({ name: 'people-team' });
  });

  it('a domain is added, and shows the record to set', async () => {
    const { page, finish } = await site.open('/domains');
    await press(page, button(page, 'Add a domain'));
    await type(page, dialog(page).getByLabel('Hostname'), 'portal.aster.example');
    await press(page, button(page, 'Add domain'));
    await locateRow(page, 'portal.aster.example').getByText('Waiting for DNS').waitFor();
    await finish({ name: 'people-domains' });
    await press(page, button(page, 'DNS record'));
    await button(page, 'Copy value').waitFor();
    await finish({ name: 'people-domain-record' });
  });
});

describe('the audit log', () => {
  it('shows what was just done, in sentences, filtered by who and where', async () => {
    await site.api('post', '/teams', { name: 'Logged team' });
    const { page, finish } = await site.open('/');
    await goTo(page, 'Audit log');
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    await type(page, page.getByRole('searchbox'), 'team.create');
    const entry = page.getByText(/^\S.* created the team Logged team$/);
    await entry.waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('team.create');
    await press(page, entry);
    await page.getByText('with an API key').first().waitFor();
    await tabTo(page, page.getByLabel('Area'), { back: true });
    await page.keyboard.type('API keys');
    await page.getByText('Nothing matches these filters.').waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await entry.waitFor();
    expect(await locateRow(page, 'Logged team').textContent()).toMatch(/People$/);
    await tabTo(page, page.getByLabel('Person'), { back: true });
    await page.keyboard.type('owner');
    await entry.waitFor();
    await finish({ name: 'people-audit' });
    await page.reload();
    await entry.waitFor();
  });
});
