// Webhooks that are edited, replayed or looked at while messages wait and attempts fail.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { enterVersions } from '../../../src/platform/api-schemas/shown-columns.ts';
import { announce } from '../../../src/webhooks/index.ts';
import { publishVersion } from '../../public/fixture.ts';
import { createApi } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey, makeMember } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { endpoint, openWebhookSite, type WebhookSite } from './site.ts';

let aheadMs = 0;
const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) };
const database = useStarted(() => testDatabase({ clock, settings: { cacheTtlMs: 0 } }));
let site: WebhookSite;
beforeEach(async () => {
  aheadMs = 0;
  site = await openWebhookSite(database.ctx);
});
afterEach(() => site.stop());

const hour = 3_600_000;
async function sync(record: number): Promise<void> {
  site.erp.put(record);
  await site.fixture.sync();
}
const edit = (id: string, patch: object) => site.call('patch', `/webhooks/${id}`, patch);
/** What came, and what `next` of each leads to. */
async function receive(): Promise<unknown[]> {
  await site.work();
  const found: unknown[] = [];
  for (const { event } of site.receiver.take()) {
    const { version, generation, startOver, next } = event.data;
    const { body } = await site.read(next.slice('/api/public'.length)).expect(200);
    found.push({ version, generation, startOver, ids: body.data.map(({ id }: { id: string }) => id) });
  }
  return found;
}
/** A payment that was announced, as far as webhooks know. */
const pay = () =>
  site.sql((tx) => announce(tx, site.organizationId, 'payment.succeeded', { customerId: '7', amount: '1' }));

describe('an edit', () => {
  it('ends the time for which attempts have failed', async () => {
    const { id } = await site.create();
    site.receiver.answer = () => 500;
    await sync(2);
    await site.work();
    site.receiver.take();
    site.receiver.answer = () => 204;
    expect(await edit(id, { description: 'mended' })).toMatchObject({
      failingSince: null,
      nextAttemptAt: null,
    });
    aheadMs += 6 * 24 * hour;
    expect(await receive()).toHaveLength(1);
    site.receiver.answer = () => 500;
    await sync(3);
    await site.work();
    expect(await site.call('get', `/webhooks/${id}`)).toMatchObject({ enabled: true });
  });

  it('to another key that reads the same goes on where the former ended', async () => {
    const { id } = await site.create();
    site.receiver.answer = () => 500;
    await sync(2);
    await site.work();
    await site.call('delete', `/api-keys/${site.reader.id}`);
    aheadMs += hour;
    await site.work();
    expect(await site.call('get', `/webhooks/${id}`)).toMatchObject({
      disabledReason: { code: 'key_ended' },
    });
    await sync(3);
    const { id: keyId } = await makeKey(site.ctx, site.organizationId, { permissions: ['none'] });
    site.receiver.take();
    site.receiver.answer = () => 204;
    await edit(id, { keyId, enabled: true });
    await site.work();
    const received = site.receiver.take().map(({ event }) => event.data);
    expect(received).toMatchObject([{ generation: 3, upserts: 2, startOver: false }]);
  });

  it('to a key that reads other records, or to another version, makes the receiver start over', async () => {
    const { id } = await site.create({ include: 'records' });
    site.receiver.answer = () => 500;
    await sync(2);
    await site.work();
    const [waiting] = site.receiver.take();
    site.receiver.answer = () => 204;
    const { id: keyId } = await makeKey(site.ctx, site.organizationId, {
      permissions: ['none'],
      rows: {
        resources: {
          things: { recordType: 'thing', conditions: [{ field: 'name', source: 'name', in: ['Record 2'] }] },
        },
      } as never,
    });
    await edit(id, { keyId });
    await site.work();
    const [other] = site.receiver.take();
    expect(other?.id).not.toBe(waiting?.id);
    expect(other?.event.data).toMatchObject({ startOver: true, upserts: null });
    await edit(id, { keyId: site.reader.id });
    expect(await receive()).toMatchObject([{ version: 'v1', startOver: true }]);
    await publishVersion(site.ctx, site.organizationId, { version: 'v2', endpoints: [endpoint] });
    await enterVersions(site.fixture.tenant);
    await edit(id, { version: 'v2' });
    expect(await receive()).toEqual([{ version: 'v2', generation: 2, startOver: true, ids: ['1', '2'] }]);
    expect(await receive()).toEqual([]);
  });

  it('that enables it makes what waits due at once', async () => {
    const { id } = await site.create({ events: ['payment.succeeded'], version: null });
    site.receiver.answer = () => (response) => response.writeHead(503, { 'retry-after': '1000000' }).end();
    await pay();
    await site.work();
    site.receiver.take();
    const [{ nextAttemptAt }] = await site.deliveries(id);
    expect(Date.parse(nextAttemptAt) - Date.now()).toBeLessThan(27 * hour);
    site.receiver.answer = () => 204;
    await edit(id, { enabled: false });
    await edit(id, { enabled: true });
    await site.work();
    expect(site.receiver.take()).toHaveLength(1);
  });
});

describe('a replay', () => {
  it('covers what it says, also while a message waits', async () => {
    const { id } = await site.create();
    await sync(2);
    expect(await receive()).toMatchObject([{ generation: 2, ids: ['2'] }]);
    const [first] = await site.deliveries(id);
    site.receiver.answer = () => 500;
    await sync(3);
    await site.work();
    site.receiver.take();
    site.receiver.answer = () => 204;
    expect(await site.call('post', `/webhooks/${id}/replay`, { deliveryId: first.id })).toEqual({
      messages: 0,
      resources: ['things'],
    });
    expect(await receive()).toEqual([{ version: 'v1', generation: 3, startOver: false, ids: ['2', '3'] }]);
  });

  it('is not undone by the message that is on its way', async () => {
    const { id } = await site.create();
    await sync(2);
    await receive();
    const [first] = await site.deliveries(id);
    const called = Promise.withResolvers<() => void>();
    site.receiver.answer = () => (response) => called.resolve(() => response.writeHead(204).end());
    await sync(3);
    const finish = await called.promise;
    await site.call('post', `/webhooks/${id}/replay`, { deliveryId: first.id });
    site.receiver.answer = () => 204;
    site.receiver.take();
    finish();
    expect(await receive()).toEqual([{ version: 'v1', generation: 3, startOver: false, ids: ['2', '3'] }]);
  });
});

describe('people who may not read payments', () => {
  it('see no payments in the log, and cannot have them sent', async () => {
    const { id } = await site.create({ events: ['payment.succeeded'], version: null });
    site.receiver.answer = () => 500;
    await pay();
    await site.work();
    site.receiver.take();
    site.receiver.answer = () => 204;
    const permissions = ['webhook:read', 'webhook:update', 'record:read', 'sync:read'];
    const person = await makeMember(site.ctx, site.organizationId, permissions);
    const { secret } = await makeKey(site.ctx, site.organizationId, {
      permissions: ['write'],
      createdBy: person.id,
    });
    const api = createApi(site.app, secret);
    const log = async () => (await api('get', `/webhooks/${id}/deliveries`)).body.data;
    expect(await log()).toMatchObject([
      { type: 'payment.succeeded', data: null, attempts: [{ status: 500, response: null }] },
    ]);
    const own = { events: ['sync.failed'], url: site.receiver.url };
    expect((await api('patch', `/webhooks/${id}`, own)).status).toBe(200);
    const after = new Date(Date.now() - 24 * hour).toISOString();
    expect((await api('post', `/webhooks/${id}/replay`, { after })).body).toEqual({
      messages: 0,
      resources: [],
    });
    aheadMs += hour;
    await site.work();
    expect(site.receiver.take()).toEqual([]);
  });
});

it.each([
  ['in another character set', { 'content-type': 'text/plain; charset=latin1' }, Buffer.from([0xe9, 0xff])],
  ['in another encoding', { 'content-encoding': 'br' }, Buffer.from('x')],
  ['that is very long', {}, Buffer.alloc(2_000_000, 'x')],
])('an answer of 2xx with a body %s is a success', async (_how, headers, body) => {
  const { id } = await site.create();
  site.receiver.answer = () => (response) => response.writeHead(200, headers).end(body);
  await site.call('post', `/webhooks/${id}/test`);
  await site.work();
  expect(await site.deliveries(id)).toMatchObject([
    { status: 'delivered', attempts: [{ status: 200, error: null }] },
  ]);
});
