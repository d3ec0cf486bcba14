// Mails of a view with masked fields are masked for everyone, and a subscription runs only as long as its
// owner may read records.
import { beforeAll, describe, expect, it } from 'vitest';
import { fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { listCodes, refusal } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openSubscriptionSite } from './fixture.ts';

const last4 = { mask: 'last4' };
const masks = { customerName: { mask: 'hash' }, date: { mask: 'year' }, total: last4, totalText: last4 };
const endpoint = { ...invoicesEndpoint, fields: fieldsWith(masks) };

const site = useStarted(() => openSubscriptionSite());
let viewId: string;
beforeAll(async () => {
  await publishVersion(site.ctx, site.organization.id, { endpoints: [endpoint] });
  viewId = await site.view({ visibility: 'organization' });
});

async function deliver(): Promise<void> {
  site.mails.delivered.length = 0;
  await site.tick();
  site.send();
}
const secrets = /Ann|=1\+1|01-31|02-01|1,?234[.]50|15[.]30|67890[.]10/;

describe('a mail', () => {
  it('shows masked values in HTML and plain text, amounts too', async () => {
    const { id } = await site.subscribe({ viewId });
    await deliver();
    await site.settled(id, ['sent']);
    const { html = '', text = '' } = site.mailsTo('ada@example.test')[0]?.mail ?? {};
    for (const part of [html, text]) {
      expect(part).toContain('INV-1');
      expect(part).toContain('****');
      expect(part).toContain('2026');
      expect(part).not.toMatch(secrets);
      expect(part).not.toContain('NaN');
    }
    await site.owner('delete', `/subscriptions/${id}`);
  });

  it('attaches a masked CSV file', async () => {
    const { id } = await site.subscribe({ viewId, format: 'csv', recipients: ['csv@example.test'] });
    await deliver();
    await site.settled(id, ['sent']);
    const [file] = site.mailsTo('csv@example.test')[0]?.mail.attachments ?? [];
    const csv = Buffer.from(file?.content as ArrayBuffer).toString('utf8');
    expect(csv).toMatch(/^1,INV-1,[0-9a-f]{64},2026,\*\*\*\*\r$/m);
    expect(csv).not.toMatch(secrets);
    await site.owner('delete', `/subscriptions/${id}`);
  });
});

describe('record:read', () => {
  const rights = ['view:read', 'subscription:create', 'subscription:read', 'subscription:update'];

  it('is needed to create a subscription, and to change one of someone else', async () => {
    const { api } = await site.member(rights);
    const body = { viewId, schedule: '* * * * *', recipients: ['eve@example.test'] };
    expect(await refusal(api('post', '/subscriptions', body))).toEqual([403, 'record_read_needed']);
    const keeper = await site.member([...rights, 'member:update']);
    const { id } = await site.subscribe({ viewId });
    expect(
      listCodes(await keeper.api('patch', `/subscriptions/${id}`, { recipients: ['eve@example.test'] })),
    ).toEqual(['record_read_needed']);
    await site.owner('delete', `/subscriptions/${id}`);
  });

  it('when its owner loses it, nothing is sent and the subscription is disabled', async () => {
    const maker = await site.member([...rights, 'record:read']);
    const { id } = await site.subscribe({ viewId }, maker.api);
    await site.as(async (tx) => {
      const { role_id: roleId } = await tx('memberships').where({ user_id: maker.id }).first('role_id');
      await tx('roles').where({ id: roleId }).update({ permissions: rights });
    });
    await deliver();
    await site.settled(id, ['failed']);
    expect(site.mails.delivered).toEqual([]);
    expect((await maker.api('get', `/subscriptions/${id}`)).body).toMatchObject({
      enabled: false,
      disabledReason: { code: 'view_hidden' },
    });
    expect(listCodes(await maker.api('patch', `/subscriptions/${id}`, { enabled: true }))).toEqual([
      'view_not_seen',
    ]);
  });
});

it('a mail that shows some of the records links a file that is masked for everyone', async () => {
  const rows = Array.from({ length: 60 }, (_, n) => ({
    id: n + 1,
    tranid: `INV-${n + 1}`,
    entityName: 'Ann',
  }));
  await loadInvoices(site.ctx, site.organization.id, rows);
  const { id } = await site.subscribe({ viewId });
  await deliver();
  await site.settled(id, ['sent']);
  const { html = '', text = '' } = site.mailsTo('ada@example.test')[0]?.mail ?? {};
  for (const part of [html, text])
    expect(part).toContain(`/api/platform/v1/views/${viewId}/records?masked=true`);
});
