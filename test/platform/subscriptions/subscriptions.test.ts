// Subscriptions through the management interface: which views can be sent, who may do so, recipients, and
// what disables a subscription.
import { describe, expect, it } from 'vitest';
import { loadInvoices } from '../../public/fixture.ts';
import { type Answer, createApi, listIds, refusal } from '../../setup/api.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { useDeliveries } from './fixture.ts';

const { site, view } = useDeliveries({ visibility: 'organization' });

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
const at = (id: string): string => `/subscriptions/${id}`;
const read = async (id: string, api = site.owner): Promise<Answer['body']> => (await api('get', at(id))).body;
const change = (id: string, body: object, api = site.owner) => api('patch', at(id), body);

describe('POST /subscriptions', () => {
  it('201 with defaults, the next run in its time zone, and addresses in lower case', async () => {
    const { status, body } = await site.owner('post', '/subscriptions', {
      ...{ ...validInput, viewId: view.id, recipients: ['Ada@Example.test', 'bob@example.test'] },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ viewId: view.id, view: { id: view.id, name: 'Open invoices' }, format: 'html', templateId: null },
      ...{ owner: { id: site.organization.ownerId }, enabled: true, disabledReason: null, lastSlot: null },
      recipients: [
        { email: 'ada@example.test', status: 'active', unsubscribedAt: null },
        { email: 'bob@example.test', status: 'active', unsubscribedAt: null },
      ],
    });
    const next = new Date(body.nextRunAt);
    const inLondon = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit', weekday: 'short' },
    });
    expect(inLondon.format(next)).toMatch(/^(Mon|Tue|Wed|Thu|Fri),? 07:00$/);
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
    const asked = site.owner('post', '/subscriptions', { ...validInput, viewId: view.id, ...change });
    expect(await refusal(asked)).toEqual([422, code]);
  });
});

describe('access to a subscription', () => {
  it('is visible to its owner and to people who see the view; its owner and people with member:update may change it', async () => {
    const maker = await site.member(rights);
    const [other, third] = [await site.member(rights), await site.member(rights)];
    const secret = await site.view({ name: 'Secret' }, maker.api);
    const blind = other.api('post', '/subscriptions', { ...validInput, viewId: secret });
    expect(await refusal(blind)).toEqual([422, 'unknown_view']);
    const { id: hidden } = await site.subscribe({ viewId: secret }, maker.api);
    const { id: shared } = await site.subscribe({ viewId: view.id }, maker.api);
    expect(listIds(await maker.api('get', '/subscriptions')).sort()).toEqual([hidden, shared].sort());
    for (const [method, end, body] of [
      ['get', ''],
      ['patch', '', { enabled: false }],
      ['delete', ''],
      ['post', '/send'],
      ['get', '/deliveries'],
    ] as const)
      expect([method, end, (await other.api(method, at(hidden) + end, body)).status]).toEqual([
        method,
        end,
        404,
      ]);
    expect(listIds(await third.api('get', '/subscriptions'))).toEqual([shared]);
    const off = { enabled: false };
    expect(await refusal(change(shared, off, third.api))).toEqual([403, 'subscription_owner_needed']);
    expect((await change(shared, off)).body).toMatchObject({
      ...{ enabled: false, disabledReason: null, nextRunAt: null, owner: { id: maker.id } },
    });
  });

  it("403 when a caller without view:read changes someone else's subscription, whose mails are read with the owner's right", async () => {
    const maker = await site.member(rights);
    const { id } = await site.subscribe({ viewId: view.id }, maker.api);
    const managing = ['member:update', 'subscription:read', 'subscription:update'];
    const blind = await site.member(managing);
    const manager = await site.member([...managing, 'view:read', 'record:read']);
    const recipients = ['blind@example.test'];
    const { status, body } = await change(id, { recipients }, blind.api);
    expect([status, body.error.message]).toEqual([403, 'Missing required permission: view:read']);
    expect((await read(id)).recipients).toMatchObject([{ email: 'ada@example.test' }]);
    expect((await change(id, { recipients }, manager.api)).status).toBe(200);
  });
});

describe('a subscription is disabled', () => {
  it('by deleting its view, immediately; it can be enabled with another view', async () => {
    const deletedView = await site.view({ name: 'Going' });
    const { id } = await site.subscribe({ viewId: deletedView });
    expect((await site.owner('delete', `/views/${deletedView}`)).status).toBe(204);
    expect(await read(id)).toMatchObject({
      ...{ enabled: false, view: null, nextRunAt: null, disabledReason: { code: 'view_deleted' } },
    });
    expect(await refusal(site.owner('post', `${at(id)}/send`))).toEqual([422, 'view_deleted']);
    expect(await refusal(change(id, { enabled: true }))).toEqual([422, 'view_not_seen']);
    const again = { viewId: view.id, enabled: true };
    expect((await change(id, again)).body).toMatchObject({ ...again, disabledReason: null });
  });

  it('when its owner leaves; the person who enables it becomes the owner', async () => {
    const leaver = await site.member(rights);
    const { id } = await site.subscribe({ viewId: view.id }, leaver.api);
    const members = `/organizations/${site.organization.id}/members`;
    expect((await site.owner('delete', `${members}/${leaver.id}?keys=revoke`)).status).toBe(204);
    const left = { enabled: false, owner: null, disabledReason: { code: 'owner_left' } };
    expect(await read(id)).toMatchObject(left);
    const owner = { id: site.organization.ownerId };
    const enabled = { enabled: true, disabledReason: null, owner };
    expect((await change(id, { enabled: true })).body).toMatchObject(enabled);
  });

  it('when its owner no longer sees the view: the slot fails with that message, and nothing is read', async () => {
    const [maker, other] = [await site.member(rights), await site.member(rights)];
    const shared = await site.view({ name: 'Shared', visibility: 'organization' }, maker.api);
    const { id } = await site.subscribe({ viewId: shared }, other.api);
    const hidden = { visibility: 'private', name: 'Whom to dismiss' };
    expect((await maker.api('patch', `/views/${shared}`, hidden)).status).toBe(200);
    // Its name is hidden immediately, not only from the next slot on.
    for (const body of [
      await read(id, other.api),
      (await other.api('get', `/subscriptions?viewId=${shared}`)).body.data[0],
      (await change(id, { recipients: ['bob@example.test'] }, other.api)).body,
    ])
      expect(body).toMatchObject({ id, view: null, disabledReason: null });
    await site.tick();
    expect(await read(id, other.api)).toMatchObject({
      ...{ enabled: false, view: null, disabledReason: { code: 'view_hidden' } },
      lastSlot: { deliveries: { failed: 1 } },
    });
    const error = 'The owner of the subscription no longer sees the view';
    const failed = await other.api('get', `${at(id)}/deliveries?status=failed`);
    expect(failed.body.data).toMatchObject([{ error, records: null }]);
    expect(await refusal(change(id, { enabled: true }, other.api))).toEqual([422, 'view_not_seen']);
    const log = `/organizations/${site.organization.id}/audit-log?action=subscription.disable`;
    const disabled = { target: { id }, changes: { disabledReason: 'view_hidden' } };
    expect((await site.owner('get', log)).body.data).toMatchObject([disabled]);
  });
});

it('POST /subscriptions/{id}/send: 202 with the deliveries of a new slot, the same slot for a repeated key, and 429 after ten an hour', async () => {
  const recipients = ['ada@example.test', 'bob@example.test'];
  const { id } = await site.subscribe({ viewId: view.id, schedule: '0 0 1 1 *', recipients });
  const send = (headers = {}) => site.owner('post', `${at(id)}/send`, undefined, headers);
  const once = { 'idempotency-key': 'send-once' };
  const first = await send(once);
  expect([first.status, first.body.deliveries.length]).toEqual([202, 2]);
  const { slot } = first.body;
  const queued = { trigger: 'manual', status: 'queued', records: null, slot };
  expect(first.body.deliveries[0]).toMatchObject(queued);
  const again = await send(once);
  expect([again.headers['idempotency-replayed'], again.body]).toEqual(['true', first.body]);
  for (let n = 2; n <= 10; n += 1) expect((await send()).status).toBe(202);
  expect(await send()).toMatchObject({ status: 429, headers: { 'retry-after': '3600' } });
  const { body } = await site.owner('get', `${at(id)}/deliveries?status=queued&pageSize=5`);
  expect([body.pagination.total, body.data.length]).toEqual([20, 5]);
  expect(new Set((await site.deliveries(id)).map(({ messageId }) => messageId)).size).toBe(20);
  expect((await site.owner('delete', at(id))).status).toBe(204);
  expect((await site.owner('get', at(id))).status).toBe(404);
});

it('deliveries are deleted after 90 days, links after two years; the last slot of the schedule is kept', async () => {
  const { id } = await site.subscribe({ viewId: view.id });
  await site.tick();
  const readSlot = () =>
    site.as((tx) => tx('subscription_slots').where({ subscription_id: id }).first('slot'));
  const before = await readSlot();
  const old = "set created_at = now() - interval '91 days'";
  const slots = 'select id from subscription_slots where subscription_id = ?';
  await site.as((tx) => tx.raw(`update subscription_deliveries ${old} where slot_id in (${slots})`, [id]));
  await site.as((tx) => tx.raw(`update subscription_slots ${old} where subscription_id = ?`, [id]));
  await site.ctx.db.control.raw('select prune_subscriptions()');
  expect(await site.deliveries(id)).toEqual([]);
  expect(await readSlot()).toEqual(before);
  await site.tick();
  expect(await site.deliveries(id)).toEqual([]);
});

it('another organization can be deleted with views, templates and subscriptions that refer to each other', async () => {
  const { id, slug } = await makeOrganization(site.ctx);
  await loadInvoices(site.ctx, id, []);
  const api = createApi(site.app, (await makeKey(site.ctx, id, { permissions: ['write'] })).secret);
  const mail = { key: 'mail', kind: 'email', subject: 'x', body: 'x' };
  const template = await api('post', '/portal/templates', mail);
  const own = await site.view({ visibility: 'organization' }, api);
  const made = await site.subscribe({ viewId: own, templateId: template.body.id }, api);
  expect((await api('post', `/subscriptions/${made.id}/send`)).status).toBe(202);
  expect((await api('delete', `/organizations/${id}?confirm=${slug}`)).status).toBe(204);
});
