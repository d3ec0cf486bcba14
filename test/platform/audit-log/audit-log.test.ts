import { beforeAll, describe, expect, it } from 'vitest';
import type { ReadEngine, RequestCtx } from '../../../src/core/ctx.ts';
import { createId } from '../../../src/core/id.ts';
import { auditAreas, listActionsOf } from '../../../src/identity/audit-actions.ts';
import { openAuditCsv } from '../../../src/platform/audit-log/audit-csv.ts';
import { createReadEngine } from '../../../src/public/engine.ts';
import { pluck } from '../../setup/api.ts';
import { type Person, useOrganization } from '../../setup/use-organization.ts';

let reads: ReadEngine;
const org = useOrganization({
  reads: (ctx) => (reads = createReadEngine(ctx)),
  settings: {
    exports: { maxRunning: 1, maxWaiting: 0, maxDurationMs: 60_000, minBytesPerSecond: 1, maxSlowMs: 60_000 },
  },
});
let admin: Person;
let team: string;

beforeAll(async () => {
  admin = await org.join('admin');
  team = (await org.api('post', '/teams', { name: 'Team' })).body.id;
  await admin.api('patch', `/teams/${team}`, { name: 'Renamed' });
  await (await org.session(admin.id))('delete', `/teams/${team}`);
});

const read = async (query = '', by = org.owner) => by.api('get', `${org.at}/audit-log${query}`);
const readCsv = (query: string) =>
  org.api('get', `${org.at}/audit-log${query}`, undefined, { accept: 'text/csv' });
const actions = async (query: string): Promise<string[]> => pluck((await read(query)).body.data, 'action');

describe('GET /organizations/{id}/audit-log', () => {
  it('lists person, action, time, credential and address, newest first', async () => {
    const { body } = await read();
    expect(body.pagination).toEqual({ total: 3, page: 1, pageSize: 25, totalPages: 1 });
    expect(body.data).toEqual([
      {
        id: expect.any(String),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        actor: { id: admin.id, email: admin.email, name: expect.any(String) },
        summary: expect.stringMatching(/^\S.* deleted the team Renamed$/),
        area: 'people',
        credential: { kind: 'session', id: expect.any(String) },
        action: 'team.delete',
        target: { type: 'team', id: team },
        changes: { name: 'Renamed' },
        ip: '127.0.0.1',
        requestId: expect.any(String),
      },
      expect.objectContaining({
        action: 'team.update',
        credential: { kind: 'api-key', id: admin.keyId },
        changes: { name: 'Renamed' },
      }),
      expect.objectContaining({ action: 'team.create', changes: { name: 'Team', description: '' } }),
    ]);
  });

  it('is filtered by action, actor, target and time, and counts exactly', async () => {
    expect(await actions('?action=team.update')).toEqual(['team.update']);
    expect(await actions(`?actorId=${admin.id}`)).toEqual(['team.delete', 'team.update']);
    expect(await actions(`?actorId=${org.owner.id}&targetId=${team}`)).toEqual(['team.create']);
    expect(await actions('?targetId=nothing')).toEqual([]);
    const soon = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
    const early = encodeURIComponent('2020-01-01T00:00:00+01:00');
    expect(await actions(`?after=${soon}`)).toEqual([]);
    expect(await actions(`?before=${early}`)).toEqual([]);
    expect(await actions(`?after=${early}&before=${soon}`)).toHaveLength(3);
    expect((await read(`?after=${soon}&before=${early}`)).status).toBe(400);
    const page = (await read('?pageSize=2&page=2')).body;
    expect([page.pagination.total, page.pagination.totalPages, page.data.length]).toEqual([3, 2, 1]);
  });

  it('is filtered by the type of the target, and by text in the action, the address, the target or the changes', async () => {
    expect(await actions('?targetType=team')).toHaveLength(3);
    expect(await actions('?targetType=role')).toEqual([]);
    expect(await actions('?q=RENAMED')).toEqual(['team.delete', 'team.update']);
    expect(await actions('?q=team.cr')).toEqual(['team.create']);
    expect(await actions(`?q=${admin.email.toUpperCase()}`)).toEqual(['team.delete', 'team.update']);
    expect(await actions('?q=100%25_')).toEqual([]);
    expect(await actions('?q=renamed&action=team.delete')).toEqual(['team.delete']);
  });

  it('says every action as a sentence, and divides the actions into areas', async () => {
    const all = auditAreas.flatMap((area) => listActionsOf(area).map((action) => ({ area, action })));
    await org.admin('audit_log').insert(
      all.map(({ action }) => ({
        id: createId(),
        organization_id: org.id,
        at: '2024-01-01T00:00:00Z',
        credential_kind: 'system',
        action,
        target_type: action.includes('mapping') ? 'field-mapping' : 'thing',
        changes: JSON.stringify(action.includes('mapping') ? { recordType: 'Named' } : { name: 'Named' }),
      })),
    );
    const span = 'before=2024-02-01T00:00:00Z&pageSize=100';
    for (const area of auditAreas) {
      const entries: { action: string; summary: string; area: string }[] = (
        await read(`?area=${area}&${span}`)
      ).body.data;
      expect(pluck(entries, 'action').sort()).toEqual([...listActionsOf(area)].sort());
      for (const entry of entries) {
        expect(entry.area).toBe(area);
        expect(entry.summary).toMatch(/^The service [a-z]+( [\w-]+)*$/);
      }
    }
    expect((await read('?area=nothing')).status).toBe(400);
    const [published] = (await read(`?action=api-schema.publish&${span}`)).body.data;
    expect(published.summary).toBe('The service published Named');
  });

  it('names the target as it is called now when the entry does not', async () => {
    const by = await org.join('admin');
    await org.api('post', `/teams/${(await org.api('post', '/teams', { name: 'Sales' })).body.id}/members`, {
      userId: by.id,
    });
    const [added] = (await read('?action=team.add-member')).body.data;
    expect(added.summary).toMatch(/ added a member to the team Sales$/);
  });

  it('searches the last 90 days by text, or the given period', async () => {
    await org.admin.raw(
      `insert into audit_log (id, organization_id, at, credential_kind, action, target_type, changes)
       select gen_random_uuid(), ?, now() - days * interval '1 day', 'system', 'test.aged', 'aged', jsonb_build_object('word', 'Needle', 'days', days)
       from unnest(array[80, 100, 300]) days`,
      [org.id],
    );
    const days = async (query: string): Promise<number[]> =>
      pluck(pluck((await read(query)).body.data, 'changes'), 'days');
    const ago = (count: number): string =>
      encodeURIComponent(new Date(Date.now() - count * 86_400_000).toISOString());
    expect(await days('?targetType=aged')).toEqual([80, 100, 300]);
    expect(await days('?q=needle')).toEqual([80]);
    expect(await days(`?q=needle&after=${ago(200)}`)).toEqual([80, 100]);
    expect(await days(`?q=needle&before=${ago(90)}`)).toEqual([100]);
    expect(await days(`?q=needle&after=${ago(400)}&before=${ago(90)}`)).toEqual([100, 300]);
    expect((await readCsv('?q=needle')).headers['x-total-count']).toBe('1');
  });

  it('sends all matching entries as CSV, guarded against formulas', async () => {
    const formula = (await org.api('post', '/teams', { name: '=1+1, "x"' })).body.id;
    const answer = await readCsv(`?targetId=${formula}`);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'x-total-count': '1',
    });
    const [head, first, end] = answer.text.split('\r\n');
    expect(head).toBe(
      '\ufeffat,actorEmail,actorId,credentialKind,credentialId,action,targetType,targetId,changes,ip,requestId,id,summary,area',
    );
    expect(first).toContain(
      `,api-key,${org.owner.keyId},team.create,team,${formula},"{""name"":""=1+1, \\""x\\"""`,
    );
    expect(first).toMatch(/,"[^,]+ created the team =1\+1, ""x""",people$/);
    expect(end).toBe('');
    // More entries than are read at a time, many of one instant.
    await org.admin.raw(
      `insert into audit_log (id, organization_id, at, credential_kind, action, target_type, target_id)
       select gen_random_uuid(), ?, '2025-01-01T00:00:00.123456Z'::timestamptz + (i / 700) * interval '1 microsecond', 'system', 'test.many', 'test', '=' || i
       from generate_series(1, 2500) i`,
      [org.id],
    );
    const many = await readCsv('?action=test.many');
    expect(many.headers['x-total-count']).toBe('2500');
    const [, ...rows] = many.text.trimEnd().split('\r\n');
    const targets = rows.map((row) => row.split(',')[7]);
    expect(new Set(targets)).toEqual(new Set(Array.from({ length: 2500 }, (_, index) => `'=${index + 1}`)));
    expect(targets).toHaveLength(2500);
    expect((await readCsv('?page=2')).status).toBe(400);
  });

  it('writes CSV within the queue and the time limit of exports', async () => {
    const csv = () => readCsv('?targetType=team');
    const { queue } = reads.exports;
    const release = queue.tryAcquire(org.id);
    expect(await csv()).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
    release?.();
    for (const attempt of [1, 2]) expect([attempt, (await csv()).status]).toEqual([attempt, 200]);
    const { settings } = org.ctx;
    const principal = { permissions: new Set() } as unknown as RequestCtx['principal'];
    const short = { ...settings, exports: { ...settings.exports, maxDurationMs: 20 } };
    const own = { ...org.ctx, reads, organizationId: org.id, principal };
    const ctx = { ...own, settings: short } as unknown as RequestCtx;
    const file = await openAuditCsv(ctx, {}, new AbortController().signal);
    if (!file.aborted.aborted)
      await new Promise((resolve) => file.aborted.addEventListener('abort', resolve));
    const readAll = async (): Promise<void> => {
      for await (const _chunk of file.bytes);
    };
    await expect(readAll()).rejects.toThrow('time limit');
    expect(queue.stats().running).toBe(0);
    const left = new AbortController();
    await openAuditCsv({ ...ctx, settings }, {}, left.signal);
    expect(queue.stats().running).toBe(1);
    left.abort();
    expect(queue.stats().running).toBe(0);
  });

  it('has no entry for requests that were refused', async () => {
    const total = async () => (await read()).body.pagination.total;
    const before = await total();
    expect((await org.api('post', '/api-keys', { name: '' })).status).toBe(422);
    expect((await org.api('post', '/api-schema', { basedOn: 'v99' })).status).toBe(422);
    expect(await total()).toBe(before);
  });

  it('keeps names of people who left', async () => {
    const leaver = await org.join('admin');
    const made = (await leaver.api('post', '/teams', { name: 'Last deed' })).body.id;
    await org.api('delete', `${org.at}/members/${leaver.id}?keys=revoke`);
    const actor = { id: leaver.id, email: leaver.email };
    const summary = `${leaver.email} created the team Last deed`;
    expect((await read(`?targetId=${made}`)).body.data).toMatchObject([{ actor, summary }]);
  });

  it('cannot be changed or emptied by the service itself', async () => {
    const updates = ["changes = '{}'", 'at = now()'].map((change) => `update audit_log set ${change}`);
    for (const sql of [...updates, 'delete from audit_log', 'truncate audit_log'])
      await expect(org.sql((tx) => tx.raw(sql))).rejects.toThrow(/permission denied/);
  });

  it('uses its indexes', async () => {
    const plan = async (filter: string) =>
      org.sql(async (tx) => {
        await tx.raw(
          'set local enable_seqscan = off; set local enable_sort = off; set local enable_bitmapscan = off',
        );
        const sql = `explain select * from audit_log where organization_id = '${org.id}' and ${filter} order by at desc, id desc limit 25`;
        const { rows } = await tx.raw<{ rows: { 'QUERY PLAN': string }[] }>(sql);
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      });
    for (const [column, value] of [
      ['action', 'x'],
      ['actor_id', org.owner.id],
      ['target_type', 'x'],
      ['target_id', 'x'],
    ] as const)
      expect(await plan(`${column} = '${value}'`)).toContain(`audit_log_organization_id_${column}_at_id_idx`);
  });
});
