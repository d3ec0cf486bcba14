// Webhooks: what a receiver gets of changed records and other events, what happens while it fails, and the log of it.
import { createPublicKey, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyWebhook } from '../../../packages/client/src/index.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { startWebhooks } from '../../../src/platform/webhooks/deliver.ts';
import { reportStaleSyncs } from '../../../src/sync/alerts/freshness.ts';
import { withReads } from '../../public/fixture.ts';
import { createApi, listCodes, listProblems } from '../../setup/api.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { useStarted } from '../../setup/use-started.ts';
import { erpError } from '../../sync/fixture.ts';
import { type Received, startReceiver } from './receiver.ts';
import { openWebhookSite, type WebhookSite } from './site.ts';

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
/** Changes records in the ERP, and syncs them. */
async function sync(change: () => void): Promise<void> {
  change();
  await site.fixture.sync();
}

describe('changed records', () => {
  it('come with a token that leads to them, and in order', async () => {
    await site.create();
    await site.work();
    expect(site.receiver.take()).toEqual([]);
    await sync(() => (site.erp.put(1, { name: 'Changed' }), site.erp.put(2)));
    await site.work();
    const [message, ...others] = site.receiver.take();
    expect(others).toEqual([]);
    const { type, timestamp, data } = message?.event ?? {};
    expect([type, Date.parse(timestamp ?? '')]).toEqual(['records.changed', expect.any(Number)]);
    expect(data).toEqual({
      ...{ version: 'v1', resource: 'things', generation: 2, upserts: 2, deletes: 0, startOver: false },
      next: expect.stringMatching(/^\/api\/public\/v1\/things\/changes\?since=[\w.-]+$/),
    });
    const changes = (await site.read(data.next.slice('/api/public'.length)).expect(200)).body;
    expect(
      changes.data.map(({ id, record }: { id: string; record: { name: string } }) => [id, record.name]),
    ).toEqual(
      [
        ['1', 'Changed'],
        ['2', 'Record 2'],
      ].map(([id, name]) => [id, id === '1' ? name : changes.data[1].record.name]),
    );
    // A database that lost what the message is about can't list it.
    const { fixture } = site;
    const move = (by: string) =>
      fixture.query(`update ${fixture.schema}.record_state set generation = generation ${by}`);
    await move('- 1');
    await site.read(data.next.slice('/api/public'.length)).expect(410);
    await move('+ 1');
    await sync(() => site.erp.drop(2));
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.data)).toMatchObject([
      { generation: 3, upserts: 0, deletes: 1 },
    ]);
    await site.fixture.sync();
    await site.work();
    expect(site.receiver.take()).toEqual([]);
  });

  it('come as one message after the receiver was down, which covers everything', async () => {
    const { id } = await site.create();
    site.receiver.answer = () => 500;
    await sync(() => site.erp.put(2));
    await site.work();
    expect(site.receiver.take()).toHaveLength(1);
    for (let record = 3; record < 6; record += 1) {
      await sync(() => site.erp.put(record));
      await site.work();
    }
    expect(site.receiver.take()).toEqual([]);
    site.receiver.answer = () => 204;
    aheadMs += 24 * hour;
    await site.work();
    const received = site.receiver.take();
    expect(received.map(({ event }) => event.data)).toMatchObject([{ generation: 5, upserts: 4 }]);
    const changed = await site.read(received[0]?.event.data.next.slice('/api/public'.length)).expect(200);
    const listed = await site.read('/v1/things').expect(200);
    expect(changed.body.data.map(({ record }: { record: object }) => record)).toEqual(
      listed.body.data.filter((record: { id: string }) => record.id !== '1'),
    );
    const log = await site.deliveries(id);
    expect(log.map(({ status, attempts }) => [status, attempts.length])).toEqual([
      ['delivered', 1],
      ['superseded', 1],
    ]);
    expect(log[0].messageId).toBe(received[0]?.id);
  });

  it('come of records that were read again on request', async () => {
    await site.create();
    site.erp.shift(1, { name: 'New' });
    const run = await site.call('post', `/sync-configs/${site.fixture.configId}/reread`, { ids: ['1'] });
    expect(await site.fixture.drive(run.id)).toMatchObject({ mode: 'reread', status: 'succeeded' });
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.data)).toMatchObject([{ upserts: 1, deletes: 0 }]);
  });

  it('come under another id when a process ended before it knew what became of its message', async () => {
    await site.create();
    const called = Promise.withResolvers<void>();
    site.receiver.answer = () => () => called.resolve();
    await sync(() => site.erp.put(2));
    await called.promise;
    await site.worker.stop();
    const [unknown] = site.receiver.take();
    site.receiver.answer = () => 204;
    await sync(() => site.erp.put(3));
    const next = startWebhooks(withReads(site.ctx), { pollMs: 3_600_000 });
    await next.waitUntilIdle();
    await next.stop();
    const received = site.receiver.take();
    expect(received.map(({ event }) => event.data)).toMatchObject([{ generation: 3, upserts: 2 }]);
    expect(received[0]?.id).not.toBe(unknown?.id);
  });

  it('come under another id after a failover that lost the attempt', async () => {
    await site.create();
    site.receiver.answer = () => 500;
    await sync(() => site.erp.put(2));
    await site.work();
    const [lost] = site.receiver.take();
    await asSuperuser(database.address, async (client) => {
      await client.query('update webhook_messages set attempts = 0');
      await client.query('update webhook_endpoints set failures = 0, waits_until = null');
      await client.query('delete from server_timelines');
      await client.query("insert into server_timelines (timeline) values ('000000AA')");
    });
    site.receiver.answer = () => 204;
    await sync(() => site.erp.put(3));
    aheadMs += hour;
    await site.work();
    const received = site.receiver.take();
    expect(received.map(({ event }) => event.data)).toMatchObject([{ generation: 3, upserts: 2 }]);
    expect(received[0]?.id).not.toBe(lost?.id);
  });

  it('are withdrawn when the key doesn’t read them any more, and others still come', async () => {
    const { id } = await site.create({ events: ['records.changed', 'sync.failed'], include: 'records' });
    site.receiver.answer = () => 500;
    await sync(() => site.erp.put(2));
    await site.work();
    site.receiver.take();
    site.receiver.answer = () => 204;
    await site.call('patch', `/api-keys/${site.reader.id}`, { scopes: { resources: ['things'], rows: {} } });
    await site.call('post', `/webhooks/${id}/test`);
    aheadMs += hour;
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.type)).toEqual(['webhook.test']);
  });

  it('come again after a replay, as one message with the present number', async () => {
    const { id } = await site.create();
    for (const record of [2, 3]) {
      await sync(() => site.erp.put(record));
      await site.work();
    }
    site.receiver.take();
    const [, first] = await site.deliveries(id);
    const answer = await site.call('post', `/webhooks/${id}/replay`, { deliveryId: first.id });
    expect(answer).toEqual({ messages: 0, resources: ['things'] });
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.data)).toMatchObject([
      { generation: 3, upserts: 2 },
    ]);
  });

  it('come with the message for an endpoint that wants them, in the scope of its key', async () => {
    const rows = {
      resources: {
        things: { recordType: 'thing', conditions: [{ field: 'name', source: 'name', in: ['Mine'] }] },
      },
      others: false,
    };
    const key = await makeKey(site.ctx, site.organizationId, {
      permissions: ['none'],
      rows,
      fields: { things: ['name'] },
    });
    await site.create({ keyId: key.id, include: 'records' });
    await sync(() => (site.erp.put(2, { name: 'Foreign' }), site.erp.put(3, { name: 'Foreign' })));
    await site.work();
    expect(site.receiver.take()).toEqual([]);
    await sync(() => site.erp.put(2, { name: 'Mine', total: '12.50' }));
    await site.work();
    const [{ body, event } = { body: '', event: undefined }] = site.receiver.take();
    expect(event?.data).toMatchObject({ upserts: 1, deletes: 0, hasMore: false });
    expect(event?.data.changes).toMatchObject([{ op: 'upsert', id: '2', record: { id: '2', name: 'Mine' } }]);
    expect(body).not.toMatch(/Foreign|12\.5/);
    await sync(() => site.erp.put(2, { name: 'Foreign' }));
    await site.work();
    expect(site.receiver.take().map(({ event: { data } }) => data.changes)).toMatchObject([
      [{ op: 'delete', id: '2', record: null }],
    ]);
  });

  it('fit into 20 kB with their message, or as many of them as do', async () => {
    await site.create({ include: 'records' });
    await sync(() => site.erp.fill(300, (id) => [{ name: `${id} `.repeat(100) }]));
    await site.work();
    const [{ body, event } = { body: '', event: undefined }] = site.receiver.take();
    expect(Buffer.byteLength(body)).toBeLessThan(20_000);
    expect(event?.data).toMatchObject({ upserts: 300, hasMore: true });
    expect(event?.data.changes.length).toBeGreaterThan(10);
  });
});

describe('a message', () => {
  const verifiers = (secret: string) =>
    [new Webhook(secret), new Svix(secret)].map((one) => (message: Received) => {
      const headers = Object.fromEntries(
        ['id', 'timestamp', 'signature'].map((name) => [
          `webhook-${name}`,
          String(message.headers[`webhook-${name}`]),
        ]),
      );
      return one.verify(message.body, headers);
    });

  it('is verified by the libraries of the standard, also in the middle of a rotation', async () => {
    const { id, secret } = await site.create();
    const test = async (): Promise<Received> => {
      await site.call('post', `/webhooks/${id}/test`);
      await site.work();
      const [message] = site.receiver.take();
      if (message === undefined) throw new Error('no message');
      return message;
    };
    const first = await test();
    for (const check of verifiers(secret)) check(first);
    for (const check of verifiers(secret))
      expect(() => check({ ...first, body: `${first.body} ` })).toThrow();
    const rotated = await site.call('post', `/webhooks/${id}/rotate`, { overlapHours: 2 });
    expect(rotated.secret).not.toBe(secret);
    const second = await test();
    for (const key of [secret, rotated.secret]) {
      for (const check of verifiers(key)) check(second);
      await verifyWebhook(second.body, second.headers, key);
    }
    await site.call('post', `/webhooks/${id}/rotate`, { overlapHours: 0 });
    const third = await test();
    for (const key of [secret, rotated.secret])
      for (const check of verifiers(key)) expect(() => check(third)).toThrow();
    expect((await site.call('get', `/webhooks/${id}`)).secret).toBeUndefined();
  });

  it('is signed by a private key for receivers that want no shared secret', async () => {
    const { id, secret, publicKey } = await site.create({ signature: 'v1a' });
    expect([secret, publicKey]).toEqual([null, expect.stringMatching(/^whpk_/)]);
    await site.call('post', `/webhooks/${id}/test`);
    await site.work();
    const [message] = site.receiver.take();
    const { headers, body } = message as Received;
    const x = Buffer.from(publicKey.slice(5), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const [, signature = ''] = /^v1a,(\S+)$/.exec(String(headers['webhook-signature'])) ?? [];
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    expect(verify(null, Buffer.from(content), key, Buffer.from(signature, 'base64'))).toBe(true);
  });

  it('has the same id for each attempt, and ends after ten; the log has what was answered', async () => {
    const { id } = await site.create({ events: ['sync.failed'], version: null });
    site.receiver.answer = () => 503;
    await site.call('post', `/webhooks/${id}/test`);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await site.work();
      const [delivery] = await site.deliveries(id);
      expect(delivery.attempts).toHaveLength(attempt);
      if (delivery.nextAttemptAt === null) break;
      // Shown without its part of a second.
      const waitMs = Date.parse(delivery.nextAttemptAt) + 500 - clock.now().getTime();
      waits.push(waitMs / 1_000);
      aheadMs += 1.3 * waitMs + 500;
    }
    const limits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    expect(waits.map((wait, at) => Math.abs(wait / (limits[at] ?? 0) - 1) < 0.3)).toEqual(
      limits.map(() => true),
    );
    const received = site.receiver.take();
    expect([received.length, new Set(received.map(({ id: one }) => one)).size]).toEqual([10, 1]);
    const [dead] = await site.deliveries(id, '?status=failed');
    expect(dead.attempts[0]).toMatchObject({
      ...{
        number: 1,
        reason: 'test',
        status: 503,
        error: 'The answer was 503',
        response: 'as the test wants',
      },
    });
    expect(dead.attempts[9].reason).toBe('retry');
  });
});

describe('an endpoint', () => {
  const fail = async (id: string, answer: WebhookSite['receiver']['answer']) => {
    site.receiver.answer = answer;
    await site.call('post', `/webhooks/${id}/test`);
    await site.work();
    site.receiver.take();
    return site.call('get', `/webhooks/${id}`);
  };

  it('waits after a failure, a redirect among them, as long as its receiver asks for', async () => {
    const { id } = await site.create();
    const other = await startReceiver();
    const shown = await fail(id, () => (response) => {
      response.writeHead(302, { location: other.url, 'retry-after': '3600' }).end();
    });
    expect(other.received).toEqual([]);
    await other.stop();
    const waitMs = Date.parse(shown.nextAttemptAt) - clock.now().getTime();
    expect(Math.abs(waitMs - hour)).toBeLessThan(10_000);
    site.receiver.answer = () => 204;
    await sync(() => site.erp.put(2));
    await site.work();
    expect(site.receiver.take()).toEqual([]);
    aheadMs += 2 * hour;
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.type)).toEqual(['records.changed', 'webhook.test']);
    expect(await site.call('get', `/webhooks/${id}`)).toMatchObject({
      failingSince: null,
      nextAttemptAt: null,
    });
  });

  it('isn’t held up by one message that its receiver never accepts', async () => {
    const { id } = await site.create();
    await fail(id, ({ event }) => (event.type === 'webhook.test' ? 400 : 204));
    await sync(() => site.erp.put(2));
    aheadMs += 20_000;
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.type)).toContain('records.changed');
  });

  it('is disabled by 410, and gets what it missed once it is enabled', async () => {
    const { id } = await site.create();
    expect(await fail(id, () => 410)).toMatchObject({ enabled: false, disabledReason: { code: 'gone' } });
    site.receiver.answer = () => 204;
    for (const record of [2, 3]) await sync(() => site.erp.put(record));
    await site.work();
    expect(site.receiver.take()).toEqual([]);
    await site.call('patch', `/webhooks/${id}`, { enabled: true });
    await site.work();
    const received = site.receiver.take().filter(({ event }) => event.type === 'records.changed');
    expect(received.map(({ event }) => event.data)).toMatchObject([{ generation: 3, upserts: 2 }]);
  });

  it('is disabled after five days of failures, and the owners get a mail', async () => {
    const { id } = await site.create();
    await fail(id, (_message) => (response) => response.destroy());
    aheadMs += 5 * 24 * hour;
    await site.work();
    expect(await site.call('get', `/webhooks/${id}`)).toMatchObject({
      enabled: false,
      disabledReason: { code: 'failing', message: expect.stringContaining('five days') },
    });
    const mails = await site.sql((tx) => tx('outgoing_mails').where({ kind: 'webhook-disabled' }));
    expect(mails.map(({ subject }) => subject)).toEqual(['A webhook was disabled']);
  });

  it('ends with its key', async () => {
    const { id } = await site.create();
    await site.call('delete', `/api-keys/${site.reader.id}`);
    await sync(() => site.erp.put(2));
    await site.work();
    expect(site.receiver.take()).toEqual([]);
    expect((await site.call('get', `/webhooks/${id}`)).disabledReason.code).toBe('key_ended');
    const refused = await site.api('patch', `/webhooks/${id}`, { enabled: true });
    expect([refused.status, listCodes(refused)]).toEqual([422, ['unknown_key']]);
    await site.call('patch', `/webhooks/${id}`, { enabled: false, description: 'Former' });
  });

  it('is refused with what is wrong with it', async () => {
    const good = {
      url: site.receiver.url,
      events: ['records.changed'],
      version: 'v1',
      keyId: site.reader.id,
    };
    const tries: [object, number, string[]][] = [
      [{ url: 'http://example.com/' }, 422, ['url invalid_url']],
      [{ url: 'https://user:secret@example.com/' }, 422, ['url invalid_url']],
      [{ version: null }, 422, ['version required']],
      [{ version: 'v9' }, 422, ['version unknown_version']],
      [{ resources: ['thing'] }, 422, ['resources[0] unknown_resource']],
      [{ events: ['sync.failed'] }, 422, ['version not_followed']],
      [{ keyId: site.organizationId }, 422, ['keyId unknown_key']],
    ];
    for (const [change, status, problems] of tries) {
      const answer = await site.api('post', '/webhooks', { ...good, ...change });
      expect([change, answer.status, listProblems(answer)]).toEqual([change, status, problems]);
    }
    expect((await site.api('post', '/webhooks', { ...good, events: ['records.moved'] })).status).toBe(422);
    const unmasked = await makeKey(site.ctx, site.organizationId, { unmasked: true });
    const editor = await makeKey(site.ctx, site.organizationId, {
      permissions: ['webhook:create', 'record:read'],
    });
    const api = createApi(site.app, editor.secret);
    for (const change of [{ keyId: unmasked.id }, { events: ['payment.succeeded'], version: null }]) {
      const answer = await api('post', '/webhooks', { ...good, ...change });
      expect([change, answer.status]).toEqual([change, 403]);
    }
  });
});

describe('events', () => {
  it('tell of syncs whose state changes, once, and not of runs that were rolled back', async () => {
    await site.create({ events: ['sync.failed', 'sync.recovered', 'sync.partial'], version: null });
    site.erp.failAll(erpError('query', 'BROKEN'));
    expect((await site.fixture.sync()).status).toBe('failed');
    site.erp.onCall = () => undefined;
    await site.work();
    expect(site.receiver.take().map(({ event }) => event)).toMatchObject([
      { type: 'sync.failed', data: { recordType: 'thing', problem: { code: 'BROKEN' } } },
    ]);
    for (let times = 0; times < 2; times += 1) await site.fixture.sync();
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.type)).toEqual(['sync.recovered']);
  });

  it('tell of data that become older than their target without any failed run', async () => {
    await site.create({ events: ['sync.stale', 'sync.recovered'], version: null });
    const { configId } = site.fixture;
    await site.call('patch', `/sync-configs/${configId}`, { freshnessTarget: 60, enabled: false });
    const earlier = "now() - interval '61 minutes'";
    await site.sql((tx) => tx('sync_runs').update({ started_at: tx.raw(earlier) }));
    await site.fixture.query(`update ${site.fixture.schema}.record_state set synced_at = ${earlier}`);
    for (let times = 0; times < 2; times += 1) await reportStaleSyncs(site.ctx);
    await site.work();
    expect(site.receiver.take().map(({ event }) => event)).toMatchObject([
      { type: 'sync.stale', data: { syncConfigId: configId, recordType: 'thing', targetMinutes: 60 } },
    ]);
    await site.fixture.sync();
    await site.work();
    expect(site.receiver.take().map(({ event }) => event.type)).toEqual(['sync.recovered']);
  });

  it('tell of versions that end', async () => {
    await site.create({ events: ['schema.deprecated', 'schema.retired'], version: null });
    const [version] = (await site.call('get', '/api-schema')).data;
    await site.call('post', `/api-schema/${version.id}/deprecate`, { sunsetAt: '2100-01-01T00:00:00Z' });
    await site.call('post', `/api-schema/${version.id}/retire`);
    await site.work();
    expect(
      site.receiver.take().map(({ event: { type, data } }) => [type, data.version, data.sunsetAt]),
    ).toEqual([
      ['schema.deprecated', 'v1', '2100-01-01T00:00:00.000Z'],
      ['schema.retired', 'v1', '2100-01-01T00:00:00.000Z'],
    ]);
  });
});
