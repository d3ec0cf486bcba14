import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { type Person, type World, world } from '../members/world.ts';

let database: TestDatabase;
let app: Express;
let w: World;
let admin: Person;
let team: string;

beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
  w = await world(database.ctx, app);
  admin = await w.join('admin');
  team = (await w.owner.api('post', '/teams', { name: 'Team' })).body.id;
  await admin.api('patch', `/teams/${team}`, { name: 'Renamed' });
  await (await w.session(admin.id))('delete', `/teams/${team}`);
});
afterAll(() => database.close());

const read = async (query = '', by = w.owner) => by.api('get', `${w.at}/audit-log${query}`);
const actions = async (query: string): Promise<string[]> => (await read(query)).body.data.map((entry: { action: string }) => entry.action);

describe('GET /organizations/{id}/audit-log', () => {
  it('lists person, action, time, credential and address, newest first', async () => {
    const { body } = await read();
    expect(body.pagination).toEqual({ total: 3, page: 1, pageSize: 25, totalPages: 1 });
    expect(body.data).toEqual([
      {
        id: expect.any(String),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        actor: { id: admin.id, email: admin.email },
        credential: { kind: 'session', id: expect.any(String) },
        action: 'team.delete',
        target: { type: 'team', id: team },
        changes: { name: 'Renamed' },
        ip: '127.0.0.1',
        requestId: expect.any(String),
      },
      expect.objectContaining({ action: 'team.update', credential: { kind: 'api-key', id: admin.keyId }, changes: { name: 'Renamed' } }),
      expect.objectContaining({ action: 'team.create', changes: { name: 'Team', description: '' } }),
    ]);
  });

  it('is filtered by action, actor, target and time, and counts exactly', async () => {
    expect(await actions('?action=team.update')).toEqual(['team.update']);
    expect(await actions(`?actorId=${admin.id}`)).toEqual(['team.delete', 'team.update']);
    expect(await actions(`?actorId=${w.owner.id}&targetId=${team}`)).toEqual(['team.create']);
    expect(await actions('?targetId=nothing')).toEqual([]);
    const soon = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
    const early = encodeURIComponent('2020-01-01T00:00:00+01:00');
    expect(await actions(`?after=${soon}`)).toEqual([]);
    expect(await actions(`?before=${early}`)).toEqual([]);
    expect(await actions(`?after=${early}&before=${soon}`)).toHaveLength(3);
    const page = (await read('?pageSize=2&page=2')).body;
    expect([page.pagination.total, page.pagination.totalPages, page.data.length]).toEqual([3, 2, 1]);
  });

  it('400 for an unknown filter, 403 without audit:read', async () => {
    const backwards = 'after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z';
    for (const query of ['action=team', 'action=', 'actorId=x', 'after=yesterday', 'before=2020-01-01', backwards, 'targetId=', 'q=x'])
      expect([query, (await read(`?${query}`)).status]).toEqual([query, 400]);
    const blind = await w.join(['team:read']);
    expect((await read('', blind)).body.error.message).toBe('Missing required permission: audit:read');
    expect((await read('', await w.join('viewer'))).status).toBe(200);
  });

  it('keeps names of people who left', async () => {
    const leaver = await w.join('admin');
    const made = (await leaver.api('post', '/teams', { name: 'Last deed' })).body.id;
    await w.owner.api('delete', `${w.at}/members/${leaver.id}?keys=revoke`);
    expect((await read(`?targetId=${made}`)).body.data).toMatchObject([{ actor: { id: leaver.id, email: leaver.email } }]);
  });

  it('cannot be changed or emptied by the service itself', async () => {
    for (const sql of [
      "update audit_log set changes = '{}'",
      'update audit_log set at = now()',
      'delete from audit_log',
      'truncate audit_log',
    ])
      await expect(inTransaction({ db: database.ctx.db, organizationId: w.id }, (tx) => tx.raw(sql))).rejects.toThrow(/permission denied/);
  });

  it('uses its indexes', async () => {
    const plan = async (filter: string) =>
      inTransaction({ db: database.ctx.db, organizationId: w.id }, async (tx) => {
        await tx.raw('set local enable_seqscan = off; set local enable_sort = off; set local enable_bitmapscan = off');
        const sql = `explain select * from audit_log where organization_id = '${w.id}' and ${filter} order by at desc, id desc limit 25`;
        return (await tx.raw<{ rows: { 'QUERY PLAN': string }[] }>(sql)).rows.map((row) => row['QUERY PLAN']).join('\n');
      });
    expect(await plan("action = 'x'")).toContain('audit_log_organization_id_action_at_id_idx');
    expect(await plan(`actor_id = '${w.owner.id}'`)).toContain('audit_log_organization_id_actor_id_at_id_idx');
    expect(await plan("target_id = 'x'")).toContain('audit_log_organization_id_target_id_at_id_idx');
  });
});
