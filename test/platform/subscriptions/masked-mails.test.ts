// Mails of a view with masked fields are masked for everyone, and a subscription runs only as long as its
// owner may read records.
import { beforeAll, describe, expect, it } from 'vitest';
import { fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { refusal } from '../../setup/api.ts';
import { useDeliveries } from './fixture.ts';

const last4 = { mask: 'last4' };
const masks = { customerName: { mask: 'hash' }, date: { mask: 'year' }, total: last4, totalText: last4 };
const endpoint = { ...invoicesEndpoint, fields: fieldsWith(masks) };

const { site, view } = useDeliveries({ visibility: 'organization' });
beforeAll(() => publishVersion(site.ctx, site.organization.id, { endpoints: [endpoint] }));
const secrets = /Ann|=1\+1|01-31|02-01|1,?234[.]50|15[.]30|67890[.]10/;

describe('a mail', () => {
  it('shows masked values in HTML and plain text, amounts too', async () => {
    await site.deliver((await site.subscribe({ viewId: view.id })).id);
    const { html, text } = site.readMail();
    for (const part of [html, text]) {
      for (const shown of ['INV-1', '****', '2026']) expect(part).toContain(shown);
      expect(part).not.toMatch(secrets);
      expect(part).not.toContain('NaN');
    }
  });

  it('attaches a masked CSV file', async () => {
    await site.deliver((await site.subscribe({ viewId: view.id, format: 'csv' })).id);
    const { file } = site.readMail();
    expect(file).toMatch(/^1,INV-1,[0-9a-f]{64},2026,\*\*\*\*\r$/m);
    expect(file).not.toMatch(secrets);
  });
});

describe('record:read', () => {
  const rights = ['view:read', 'subscription:create', 'subscription:read', 'subscription:update'];

  it('is needed to create a subscription, and to change one of someone else', async () => {
    const { api } = await site.member(rights);
    const recipients = ['eve@example.test'];
    const body = { viewId: view.id, schedule: '* * * * *', recipients };
    expect(await refusal(api('post', '/subscriptions', body))).toEqual([403, 'record_read_needed']);
    const keeper = await site.member([...rights, 'member:update']);
    const { id } = await site.subscribe({ viewId: view.id });
    const change = keeper.api('patch', `/subscriptions/${id}`, { recipients });
    expect(await refusal(change)).toEqual([403, 'record_read_needed']);
  });

  it('when its owner loses it, nothing is sent and the subscription is disabled', async () => {
    const maker = await site.member([...rights, 'record:read']);
    const { id } = await site.subscribe({ viewId: view.id }, maker.api);
    await site.as(async (tx) => {
      const { role_id: roleId } = await tx('memberships').where({ user_id: maker.id }).first('role_id');
      await tx('roles').where({ id: roleId }).update({ permissions: rights });
    });
    await site.deliver(id, ['failed']);
    expect(site.mails.delivered).toEqual([]);
    const { enabled, disabledReason } = (await maker.api('get', `/subscriptions/${id}`)).body;
    expect([enabled, disabledReason.code]).toEqual([false, 'view_hidden']);
    const change = maker.api('patch', `/subscriptions/${id}`, { enabled: true });
    expect(await refusal(change)).toEqual([422, 'view_not_seen']);
  });
});

it('a mail that shows some of the records links a file that is masked for everyone', async () => {
  const rows = Array.from({ length: 60 }, (_, n) => {
    return { id: n + 1, tranid: `INV-${n + 1}`, entityName: 'Ann' };
  });
  await loadInvoices(site.ctx, site.organization.id, rows);
  await site.deliver((await site.subscribe({ viewId: view.id })).id);
  const { html, text } = site.readMail();
  for (const part of [html, text])
    expect(part).toContain(`/api/platform/v1/views/${view.id}/records?masked=true`);
});
