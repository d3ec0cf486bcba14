// What repeating a request with its Idempotency-Key does beyond what test/contract/every-route checks for every
// operation: that it gets the stored response, and another body 422.
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type Api, createApi, listCodes } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

const withKey = (key: string) => ({ 'idempotency-key': key });
const post = (key: string, body: object, api = org.api, path = '/api-keys') =>
  api('post', path, body, withKey(key));
const keysNamed = async (name: string) => (await org.api('get', `/api-keys?q=${name}`)).body.pagination.total;

describe('Idempotency-Key', () => {
  it('is the same in quotes and bare', async () => {
    expect((await post('"quoted-\\"1"', { name: 'quoted' })).status).toBe(201);
    expect((await post('quoted-"1', { name: 'quoted' })).headers['idempotency-replayed']).toBe('true');
    expect(await keysNamed('quoted')).toBe(1);
  });

  it('treats the same fields in another order as the same body', async () => {
    await post('order-1', { name: 'order', scopes: { permissions: ['read'], versions: [] } });
    const second = await post('order-1', { scopes: { versions: [], permissions: ['read'] }, name: 'order' });
    expect([second.status, second.headers['idempotency-replayed']]).toEqual([201, 'true']);
  });

  it('422 for another object under the same key', async () => {
    const [a, b] = [
      await org.api('post', '/api-keys', { name: 'a' }),
      await org.api('post', '/api-keys', { name: 'b' }),
    ];
    expect((await post('rotate-1', {}, org.api, `/api-keys/${a.body.id}/rotate`)).status).toBe(201);
    expect((await post('rotate-1', {}, org.api, `/api-keys/${b.body.id}/rotate`)).status).toBe(422);
  });

  it('is scoped to the credential and the route', async () => {
    await post('mine-1', { name: 'mine' });
    const other = createApi(org.app, (await makeKey(org.ctx, org.id, { permissions: ['write'] })).secret);
    expect((await post('mine-1', { name: 'mine' }, other)).headers['idempotency-replayed']).toBeUndefined();
    expect((await post('mine-1', {}, org.api, '/api-schema')).status).toBe(201);
    expect(await keysNamed('mine')).toBe(2);
  });

  it('runs once for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('race-1', { name: 'race' })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.secret !== null)).toHaveLength(1);
    expect(await keysNamed('race')).toBe(1);
  });

  it('stores an error about the request', async () => {
    const body = { name: 'x', expiresAt: '2020-01-01T00:00:00Z' };
    const [first, second] = [await post('refused-1', body), await post('refused-1', body)];
    expect([first.status, second.status, second.headers['idempotency-replayed']]).toEqual([422, 422, 'true']);
    expect(second.body).toEqual(first.body);
    expect(second.body).not.toHaveProperty('secret');
  });

  it('stores no 403, and replays nothing before the permission is checked', async () => {
    const member = await org.join('admin');
    const { api } = member;
    const setRole = (name: string) =>
      org.sql(async (tx) => {
        await tx('memberships')
          .where({ user_id: member.id })
          .update({ role_id: org.role(name) });
      });
    expect((await post('role-1', { name: 'role' }, api)).status).toBe(201);
    await setRole('viewer');
    expect((await post('role-1', { name: 'role' }, api)).status).toBe(403);
    expect((await post('role-2', { name: 'role' }, api)).status).toBe(403);
    await setRole('admin');
    expect((await post('role-2', { name: 'role' }, api)).headers['idempotency-replayed']).toBeUndefined();
    expect((await post('role-1', { name: 'role' }, api)).headers['idempotency-replayed']).toBe('true');
  });

  it('stores no 5xx', async () => {
    await org.admin.raw('alter table audit_log rename to audit_log_away');
    const failed = await post('failed-1', { name: 'failed' });
    await org.admin.raw('alter table audit_log_away rename to audit_log');
    expect([failed.status, failed.body.error.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(await keysNamed('failed')).toBe(0);
    const again = await post('failed-1', { name: 'failed' });
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, undefined]);
  });

  const setLock = (key: string, interval: string) =>
    org.sql((tx) =>
      tx.raw(`update idempotency_keys set locked_until = now() + interval '${interval}' where key = ?`, [
        key,
      ]),
    );

  it('sends a response that can not be stored; a retry gets 422 answer_lost', async () => {
    await org.admin.raw(
      "create function refuse() returns trigger language plpgsql as 'begin raise exception ''away''; end'",
    );
    await org.admin.raw(
      `create trigger refuse before update on idempotency_keys for each row when (new.status is not null) execute function refuse()`,
    );
    const first = await post('unkept-1', { name: 'unkept' });
    await org.admin.raw('drop trigger refuse on idempotency_keys');
    expect(first.status).toBe(201);
    await setLock('unkept-1', '-1 second');
    const [again, other] = [
      await post('unkept-1', { name: 'unkept' }),
      await post('unkept-1', { name: 'other' }),
    ];
    expect([again.status, listCodes(again), listCodes(other)]).toEqual([
      422,
      ['answer_lost'],
      ['key_reused'],
    ]);
    expect(again.body.error.details[0].message).toContain(first.body.id);
    const third = await post('unkept-1', { name: 'unkept' });
    expect([third.body, third.headers['idempotency-replayed']]).toEqual([again.body, 'true']);
    expect(await keysNamed('unkept')).toBe(1);
  });

  it('422 while the first request is running, and a new run once its lease has expired without a write', async () => {
    const body = { name: 'stuck' };
    await post('stuck-1', body);
    await org.sql((tx) =>
      tx.raw("update idempotency_keys set status = null, body = null where key = 'stuck-1'"),
    );
    await setLock('stuck-1', '5 minutes');
    const hurried = { ...org.ctx.clock, monotonicMs: () => performance.now() * 20 };
    const waiting = await post(
      'stuck-1',
      body,
      createApi(createApp({ ...org.ctx, clock: hurried }), org.owner.secret),
    );
    expect([waiting.status, listCodes(waiting)]).toEqual([422, ['still_running']]);
    await setLock('stuck-1', '-1 second');
    const again = await post('stuck-1', body);
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, undefined]);
  });

  it('writes nothing once another request has taken the key over: the slow one gets 503', async () => {
    const body = { name: 'overtaken' };
    const { promise: isPaused, resolve: pause } = Promise.withResolvers<void>();
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
    const slow = await pausedProcess(pause, resumed);
    const first = post('overtaken-1', body, slow);
    await isPaused;
    await setLock('overtaken-1', '-1 second');
    const second = await post('overtaken-1', body);
    resume();
    expect([(await first).status, second.status]).toEqual([503, 201]);
    expect(await keysNamed('overtaken')).toBe(1);
    expect((await post('overtaken-1', body)).body.id).toBe(second.body.id);
  });

  it('expires after a day', async () => {
    await post('old-1', { name: 'old' });
    await org.sql((tx) =>
      tx.raw("update idempotency_keys set created_at = now() - interval '25 hours' where key = 'old-1'"),
    );
    expect((await post('old-1', { name: 'old' })).headers['idempotency-replayed']).toBeUndefined();
    await org.sql((tx) =>
      tx.raw("update idempotency_keys set created_at = now() - interval '25 hours' where key = 'old-1'"),
    );
    await org.ctx.db.control.raw('select prune_expired()');
    expect(await org.sql((tx) => tx('idempotency_keys').where({ key: 'old-1' }).select('key'))).toEqual([]);
  });

  it('400 for a malformed key; other methods ignore the header', async () => {
    for (const key of ['', 'a b', 'x'.repeat(256), 'ü'])
      expect([key, (await post(encodeURI(key) === key ? key : 'a\tb', { name: 'x' })).status]).toEqual([
        key,
        400,
      ]);
    const { body } = await org.api('post', '/api-keys', { name: 'deleted' });
    for (let time = 0; time < 2; time += 1)
      expect((await org.api('delete', `/api-keys/${body.id}`, undefined, withKey('delete-1'))).status).toBe(
        204,
      );
  });
});

/** A process that pauses in the middle of its handler, after it has claimed the key. */
async function pausedProcess(pause: () => void, resumed: Promise<void>): Promise<Api> {
  const { ctx } = org;
  let claimed = false;
  const transaction = async (work: (tx: unknown) => Promise<unknown>): Promise<unknown> => {
    const isHandler = claimed;
    const made = await ctx.db.control.transaction(async (tx) => {
      if (isHandler) {
        pause();
        await resumed;
      }
      const result = await work(tx);
      claimed ||= (result as { kind?: string } | undefined)?.kind === 'mine';
      return result;
    });
    return made;
  };
  const control = new Proxy(ctx.db.control, {
    get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  });
  return createApi(createApp({ ...ctx, db: { ...ctx.db, control } }), org.owner.secret);
}
