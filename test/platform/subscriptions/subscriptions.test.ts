// Subscriptions through the management interface: which views can be sent, who may do so, recipients, and
// what disables a subscription.
import { beforeAll, describe, expect, it } from 'vitest';
import { loadInvoices } from '../../public/fixture.ts';
import { createApi, listCodes, listIds, refusal } from '../../setup/api.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openSubscriptionSite } from './fixture.ts';

const site = useStarted(() => openSubscriptionSite());
let viewId: string;
beforeAll(async () => {
  viewId = await site.view({ visibility: 'organization' });
});

const rights = [
  'record:read',
  'view:read',
  'view:create',
  'view:update',
  'subscription:read',
  'subscription:create',
  'subscription:update',
  'subscription:delete',
];
const validInput = { schedule: '0 7 * * 1-5', timezone: 'Europe/London', recipients: ['ada@example.test'] };

describe('POST /subscriptions', () => {
  it('201 with defaults, the next run in its time zone, and addresses in lower case', async () => {
    const { status, body } = await site.owner('post', '/subscriptions', {
      ...validInput,
      viewId,
      recipients: ['Ada@Example.test', 'bob@example.test'],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      viewId,
      view: { id: viewId, name: 'Open invoices' },
      owner: { id: site.organization.ownerId },
      format: 'html',
      templateId: null,
      enabled: true,
      disabledReason: null,
      lastSlot: null,
      recipients: [
        { email: 'ada@example.test', status: 'active', unsubscribedAt: null },
        { email: 'bob@example.test', status: 'active', unsubscribedAt: null },
      ],
    });
    const next = new Date(body.nextRunAt);
    const inLondon = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/London',
      hour: '2-digit',
      minute: '2-digit',
      weekday: 'short',
    });
    expect(inLondon.format(next)).toMatch(/^(Mon|Tue|Wed|Thu|Fri) 07:00$|^(Mon|Tue|Wed|Thu|Fri), 07:00$/);
  });

  it.each([
    ['an invalid schedule', { schedule: '99 * * * *' }, 'invalid_schedule'],
    ['six fields', { schedule: '0 0 7 * * 1' }, 'invalid_schedule'],
    ['a schedule that is never due', { schedule: '0 0 30 2 *' }, 'invalid_schedule'],
    ['an unknown time zone', { timezone: 'Mars/Phobos' }, 'invalid_schedule'],
    ['a duplicate address in another case', { recipients: ['a@b.test', 'A@B.test'] }, 'duplicate'],
    ['an address with a line break', { recipients: ['a@b.test\r\nBcc: c@d.test'] }, 'invalid_format'],
    ['a template for csv', { format: 'csv', templateId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' }, 'not_html'],
    ['a view that does not exist', { viewId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21' }, 'unknown_view'],
  ])('422 for %s', async (_name, change, code) => {
    expect(await refusal(site.owner('post', '/subscriptions', { ...validInput, viewId, ...change }))).toEqual(
      [422, code],
    );
  });
});

describe('access to a subscription', () => {
  it('is visible to its owner and to people who see the view; its owner and people with member:update may change it', async () => {
    const [maker, other, third] = [
      await site.member(rights),
      await site.member(rights),
      await site.member(rights),
    ];
    const secret = await site.view({ name: 'Secret' }, maker.api);
    expect(listCodes(await other.api('post', '/subscriptions', { ...validInput, viewId: secret }))).toEqual([
      'unknown_view',
    ]);
    const [hidden, shared] = [
      await site.subscribe({ viewId: secret }, maker.api),
      await site.subscribe({ viewId }, maker.api),
    ];
    expect(listIds(await maker.api('get', '/subscriptions'))).toEqual(
      expect.arrayContaining([hidden.id, shared.id]),
    );
    const address = `/subscriptions/${hidden.id}`;
    const unseen = [
      await other.api('get', address),
      await other.api('patch', address, { enabled: false }),
      await other.api('delete', address),
      await other.api('post', `${address}/send`),
      await other.api('get', `${address}/deliveries`),
    ];
    expect(unseen.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    const listed = listIds(await third.api('get', '/subscriptions'));
    expect([listed.includes(shared.id), listed.includes(hidden.id)]).toEqual([true, false]);
    expect(listCodes(await third.api('patch', `/subscriptions/${shared.id}`, { enabled: false }))).toEqual([
      'subscription_owner_needed',
    ]);
    expect((await site.owner('patch', `/subscriptions/${shared.id}`, { enabled: false })).body).toMatchObject(
      {
        enabled: false,
        disabledReason: null,
        nextRunAt: null,
        owner: { id: maker.id },
      },
    );
  });

  it("403 when a caller without view:read changes someone else's subscription, whose mails are read with the owner's right", async () => {
    const maker = await site.member(rights);
    const { id } = await site.subscribe({ viewId, recipients: ['ada@example.test'] }, maker.api);
    const managing = ['member:update', 'subscription:read', 'subscription:update'];
    const [blind, manager] = [
      await site.member(managing),
      await site.member([...managing, 'view:read', 'record:read']),
    ];
    const change = { recipients: ['blind@example.test'] };
    const refused = await blind.api('patch', `/subscriptions/${id}`, change);
    expect([refused.status, refused.body.error?.message]).toEqual([
      403,
      'Missing required permission: view:read',
    ]);
    expect((await site.owner('get', `/subscriptions/${id}`)).body.recipients).toMatchObject([
      { email: 'ada@example.test' },
    ]);
    expect((await manager.api('patch', `/subscriptions/${id}`, change)).status).toBe(200);
  });
});

describe('a subscription is disabled', () => {
  it('by deleting its view, immediately; it can be enabled with another view', async () => {
    const deletedView = await site.view({ name: 'Going' });
    const { id } = await site.subscribe({ viewId: deletedView });
    expect((await site.owner('delete', `/views/${deletedView}`)).status).toBe(204);
    const address = `/subscriptions/${id}`;
    expect((await site.owner('get', address)).body).toMatchObject({
      enabled: false,
      view: null,
      nextRunAt: null,
      disabledReason: { code: 'view_deleted' },
    });
    expect(listCodes(await site.owner('post', `${address}/send`))).toEqual(['view_deleted']);
    expect(listCodes(await site.owner('patch', address, { enabled: true }))).toEqual(['view_not_seen']);
    expect((await site.owner('patch', address, { viewId, enabled: true })).body).toMatchObject({
      enabled: true,
      disabledReason: null,
      viewId,
    });
  });

  it('when its owner leaves; the person who enables it becomes the owner', async () => {
    const leaver = await site.member(rights);
    const { id } = await site.subscribe({ viewId }, leaver.api);
    const members = `/organizations/${site.organization.id}/members`;
    expect((await site.owner('delete', `${members}/${leaver.id}?keys=revoke`)).status).toBe(204);
    expect((await site.owner('get', `/subscriptions/${id}`)).body).toMatchObject({
      enabled: false,
      owner: null,
      disabledReason: { code: 'owner_left' },
    });
    expect((await site.owner('patch', `/subscriptions/${id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
      disabledReason: null,
      owner: { id: site.organization.ownerId },
    });
    await site.owner('delete', `/subscriptions/${id}`);
  });

  it('when its owner no longer sees the view: the slot fails with that message, and nothing is read', async () => {
    const [maker, other] = [await site.member(rights), await site.member(rights)];
    const shared = await site.view({ name: 'Shared', visibility: 'organization' }, maker.api);
    const { id } = await site.subscribe({ viewId: shared }, other.api);
    expect(
      (await maker.api('patch', `/views/${shared}`, { visibility: 'private', name: 'Whom to dismiss' }))
        .status,
    ).toBe(200);
    // Its name is hidden immediately, not only from the next slot on.
    const bodies = [
      (await other.api('get', `/subscriptions/${id}`)).body,
      (await other.api('get', `/subscriptions?viewId=${shared}`)).body.data[0],
      (await other.api('patch', `/subscriptions/${id}`, { recipients: ['bob@example.test'] })).body,
    ];
    expect(bodies).toMatchObject(Array.from({ length: 3 }, () => ({ id, view: null, disabledReason: null })));
    await site.tick();
    const { body } = await other.api('get', `/subscriptions/${id}`);
    expect(body).toMatchObject({
      enabled: false,
      view: null,
      disabledReason: { code: 'view_hidden' },
      lastSlot: { deliveries: { failed: 1 } },
    });
    expect((await other.api('get', `/subscriptions/${id}/deliveries?status=failed`)).body.data).toMatchObject(
      [{ error: 'The owner of the subscription no longer sees the view', records: null }],
    );
    expect(listCodes(await other.api('patch', `/subscriptions/${id}`, { enabled: true }))).toEqual([
      'view_not_seen',
    ]);
    const audit = await site.owner(
      'get',
      `/organizations/${site.organization.id}/audit-log?action=subscription.disable`,
    );
    expect(audit.body.data).toMatchObject([{ target: { id }, changes: { disabledReason: 'view_hidden' } }]);
  });
});

it('POST /subscriptions/{id}/send: 202 with the deliveries of a new slot, the same slot for a repeated key, and 429 after ten an hour', async () => {
  const { id } = await site.subscribe({
    viewId,
    schedule: '0 0 1 1 *',
    recipients: ['ada@example.test', 'bob@example.test'],
  });
  const once = { 'idempotency-key': 'send-once' };
  const first = await site.owner('post', `/subscriptions/${id}/send`, undefined, once);
  expect([first.status, first.body.deliveries.length]).toEqual([202, 2]);
  expect(first.body.deliveries[0]).toMatchObject({
    trigger: 'manual',
    status: 'queued',
    records: null,
    slot: first.body.slot,
  });
  const again = await site.owner('post', `/subscriptions/${id}/send`, undefined, once);
  expect([again.headers['idempotency-replayed'], again.body]).toEqual(['true', first.body]);
  for (let n = 2; n <= 10; n += 1)
    expect((await site.owner('post', `/subscriptions/${id}/send`)).status).toBe(202);
  expect(await site.owner('post', `/subscriptions/${id}/send`)).toMatchObject({
    status: 429,
    headers: { 'retry-after': '3600' },
  });
  const { body } = await site.owner('get', `/subscriptions/${id}/deliveries?status=queued&pageSize=5`);
  expect([body.pagination.total, body.data.length]).toEqual([20, 5]);
  expect(new Set((await site.deliveries(id)).map(({ messageId }) => messageId)).size).toBe(20);
  expect((await site.owner('delete', `/subscriptions/${id}`)).status).toBe(204);
  expect((await site.owner('get', `/subscriptions/${id}`)).status).toBe(404);
});

it('deliveries are deleted after 90 days, links after two years; the last slot of the schedule is kept', async () => {
  const { id } = await site.subscribe({ viewId });
  await site.tick();
  const old = "now() - interval '91 days'";
  const before = await site.as((tx) => tx('subscription_slots').where({ subscription_id: id }).first('slot'));
  await site.as((tx) =>
    tx.raw(
      `update subscription_deliveries set created_at = ${old} where slot_id in (select id from subscription_slots where subscription_id = ?)`,
      [id],
    ),
  );
  await site.as((tx) =>
    tx.raw(`update subscription_slots set created_at = ${old} where subscription_id = ?`, [id]),
  );
  await site.ctx.db.control.raw('select prune_subscriptions()');
  expect(await site.deliveries(id)).toEqual([]);
  expect(
    await site.as((tx) => tx('subscription_slots').where({ subscription_id: id }).first('slot')),
  ).toEqual(before);
  await site.tick();
  expect(await site.deliveries(id)).toEqual([]);
});

it('another organization can be deleted with views, templates and subscriptions that refer to each other', async () => {
  const { id, slug } = await makeOrganization(site.ctx);
  await loadInvoices(site.ctx, id, []);
  const api = createApi(site.app, (await makeKey(site.ctx, id, { permissions: ['write'] })).secret);
  const template = await api('post', '/portal/templates', {
    key: 'mail',
    kind: 'email',
    subject: 'x',
    body: 'x',
  });
  const own = await site.view({ visibility: 'organization' }, api);
  const made = await site.subscribe({ viewId: own, templateId: template.body.id }, api);
  expect((await api('post', `/subscriptions/${made.id}/send`)).status).toBe(202);
  expect((await api('delete', `/organizations/${id}?confirm=${slug}`)).status).toBe(204);
});
