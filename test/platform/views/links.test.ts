// Links to views: addresses at which a spreadsheet reads a view as CSV without a header, while their creator may.
import supertest from 'supertest';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { startUsageCounter, type UsageCounter } from '../../../src/public/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { fieldsWith, invoicesEndpoint, loadInvoices, publishVersion } from '../../public/fixture.ts';
import { type Api, createApi, listProblems, pluck, refusal } from '../../setup/api.ts';
import { makeKey } from '../../setup/organization.ts';
import { asBuffer } from '../../setup/raw-body.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

let aheadMs = 0;
const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) };
const lines: string[] = [];
const org = useOrganization({ lines, clock, settings: { cacheTtlMs: 0 } });
const dayMs = 86_400_000;
const endpoint = {
  ...invoicesEndpoint,
  fields: fieldsWith({ status: { scopable: true }, total: { scopable: true }, number: { mask: 'last4' } }),
};
const columns = ['tranid', 'total', 'status', 'entity.name'];

let owner: Api;
let viewId: string;
let table: string;
beforeAll(async () => {
  table = await loadInvoices(org.ctx, org.id, [
    { id: 1, tranid: 'INV-20017', status: 'open', total: '-15.30', entityName: '=HYPERLINK("x")' },
    { id: 2, tranid: 'INV-20018', status: 'paid', total: '7', entityName: '\t+1' },
    { id: 3, tranid: 'INV-20019', status: null, total: '12345678901234567890.10', entityName: 'Ann' },
  ]);
  await publishVersion(org.ctx, org.id, { endpoints: [endpoint] });
  owner = await org.session(org.owner.id);
  viewId = await makeView(owner);
});
beforeEach(async () => {
  aheadMs = 0;
  await org.admin('rate_limits').delete();
});

async function makeView(api: Api, change: object = {}): Promise<string> {
  const sort = [{ field: 'id', direction: 'asc' }];
  const view = { name: 'Open invoices', recordType: 'invoice', columns, sort, visibility: 'organization' };
  const made = await api('post', '/views', { ...view, ...change });
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}
async function makeLink(
  given: object = {},
  api = owner,
  view = viewId,
): Promise<{ id: string; url: string }> {
  const made = await api('post', `/views/${view}/links`, given);
  expect(made.status, made.text).toBe(201);
  return made.body;
}
/** As a spreadsheet does. */
const open = (url: string, headers: Record<string, string> = {}, method: 'get' | 'head' = 'get') =>
  supertest(org.app)[method](url.replace('http://127.0.0.1', '')).set(headers).buffer(true).parse(asBuffer);
const readText = async (url: string): Promise<string> => {
  const answer = await open(url);
  expect(answer.status, String(answer.body)).toBe(200);
  return String(answer.body);
};
const ids = async (url: string): Promise<string[]> =>
  (await readText(url))
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0] ?? '');
const expectEnded = async (url: string): Promise<void> => {
  const answer = await open(url);
  expect([answer.status, JSON.parse(String(answer.body)).error.message]).toEqual([
    404,
    'This link does not work',
  ]);
};

describe('a link', () => {
  it('reads the CSV of the view, masked whatever its creator sees, without a header', async () => {
    const { url } = await makeLink();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1\/links\/[\w-]{43}\.csv$/);
    const file = (query: string) =>
      owner('get', `/views/${viewId}/records${query}`, undefined, { accept: 'text/csv' });
    expect((await file('')).text).toContain('INV-20017');
    const answer = await open(url);
    expect(String(answer.body)).toBe((await file('?masked=true')).text);
    expect(String(answer.body)).toContain('****0017');
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="Open invoices.csv"',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'x-total-count': '3',
    });
    const head = await open(url, {}, 'head');
    expect([head.status, head.headers['content-type'], head.text ?? '']).toEqual([
      200,
      'text/csv; charset=utf-8',
      '',
    ]);
    const packed = await supertest(org.app)
      .get(new URL(url).pathname)
      .set('accept-encoding', 'gzip')
      .buffer(true)
      .parse(asBuffer);
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(String(packed.body)).toBe(String(answer.body));
  });

  it('protects texts from being read as formulas, unless the address says raw', async () => {
    const { url } = await makeLink();
    const text = await readText(url);
    expect(text).toContain('"\'=HYPERLINK(""x"")"');
    expect(text).toContain(",paid,'\t+1\r\n");
    expect(text).toContain(',-15.30,');
    const raw = await makeLink({ raw: true });
    expect(raw.url).toMatch(/\.csv\?raw=true$/);
    expect(await readText(raw.url)).toBe(text.replaceAll("'", ''));
    expect(await readText(`${url}?raw=true`)).toBe(await readText(raw.url));
    for (const query of ['?page=1', '?raw=yes', '?raw=true&raw=true', '?q=x', '?raw=%'])
      expect([query, (await open(`${url}${query}`)).status]).toEqual([query, 400]);
  });

  it('reads the rows of its restriction alone; a missing value never matches', async () => {
    const restricted = async (...rows: object[]) => ids((await makeLink({ rows })).url);
    expect(await restricted({ field: 'status', in: ['open', 'paid'] })).toEqual(['1', '2']);
    expect(await restricted({ field: 'total', in: ['7.00', 12] }, { field: 'status', in: ['paid'] })).toEqual(
      ['2'],
    );
    expect(await restricted({ field: 'id', in: [3, '1'] }, { field: 'status', in: ['open'] })).toEqual(['1']);
    const refused = (field: string, value: unknown) =>
      owner('post', `/views/${viewId}/links`, { rows: [{ field, in: [value] }] }).then((answer) => [
        answer.status,
        ...listProblems(answer),
      ]);
    expect(await refused('seq', '1')).toEqual([422, 'rows[0].field not_scopable']);
    expect(await refused('tranid', 'INV-20017')).toEqual([422, 'rows[0].field not_scopable']);
    expect(await refused('total', 'seven')).toEqual([422, 'rows[0].in[0] invalid_value']);
    expect(await refused('status', 7)).toEqual([422, 'rows[0].in[0] invalid_value']);
  });

  it('refuses while a field of its rows is stale or masked', async () => {
    const { url } = await makeLink({ rows: [{ field: 'status', in: ['open'] }] });
    const mark = (stale: object) =>
      org.ctx.db.data.query(`update ${tenantSchema(org.id)}.record_state set stale_fields = $1`, [stale]);
    await mark({ status: { since: '2026-01-01T00:00:00Z', syncedAt: '2026-01-01T00:00:00Z' } });
    const stale = await until(async () => {
      const answer = await open(url);
      return answer.status === 503 && JSON.parse(String(answer.body)).error.details;
    });
    expect(pluck(stale, 'code')).toEqual(['scope_field_stale']);
    await mark({});
    await until(async () => (await open(url)).status === 200);
    const id = await publishVersion(org.ctx, org.id, {
      version: 'v2',
      endpoints: [{ ...invoicesEndpoint, fields: fieldsWith({ status: { mask: 'hash' } }) }],
    });
    expect((await open(url)).status).toBe(422);
    const body = { rows: [{ field: 'status', in: ['open'] }] };
    expect(await refusal(owner('post', `/views/${viewId}/links`, body))).toEqual([422, 'masked_field']);
    await org.admin('api_schemas').where({ id }).update({ status: 'retired' });
    expect((await open(url)).status).toBe(200);
  });
});

describe('a link ends', () => {
  it('at its time: 90 days, or another of the next 366', async () => {
    const [usual, short] = [
      await makeLink(),
      await makeLink({ expiresAt: new Date(Date.now() + dayMs).toISOString() }),
    ];
    aheadMs = dayMs + 60_000;
    await expectEnded(short.url);
    await readText(usual.url);
    aheadMs = 90 * dayMs + 60_000;
    await expectEnded(usual.url);
    aheadMs = 0;
    for (const days of [-1, 367]) {
      const expiresAt = new Date(Date.now() + days * dayMs).toISOString();
      expect(await refusal(owner('post', `/views/${viewId}/links`, { expiresAt }))).toEqual([
        422,
        'out_of_range',
      ]);
    }
  });

  it('when it is revoked, by its creator or someone with member:update', async () => {
    const [creator, other] = [await org.join('viewer'), await org.join('viewer')];
    const { id, url } = await makeLink({}, creator.api);
    expect(await refusal(other.api('delete', `/views/${viewId}/links/${id}`))).toEqual([
      403,
      'link_creator_needed',
    ]);
    await readText(url);
    expect((await creator.api('delete', `/views/${viewId}/links/${id}`)).status).toBe(204);
    await expectEnded(url);
    const second = await makeLink({}, creator.api);
    const elsewhere = await makeView(owner);
    expect((await owner('delete', `/views/${elsewhere}/links/${second.id}`)).status).toBe(404);
    expect((await owner('delete', `/views/${viewId}/links/${second.id}`)).status).toBe(204);
    await expectEnded(second.url);
  });

  it('while its creator may not read records or see the view, and works again after', async () => {
    const rights = ['view:read', 'record:read'];
    const { id, api } = await org.join(rights);
    const { url } = await makeLink({}, api);
    const setRights = async (permissions: string[]) =>
      org.sql(async (tx) => {
        const { role_id: roleId } = await tx('memberships').where({ user_id: id }).first('role_id');
        await tx('roles').where({ id: roleId }).update({ permissions });
      });
    for (const left of rights) {
      await setRights([left]);
      await expectEnded(url);
      await setRights(rights);
      await readText(url);
    }
    await owner('patch', `/views/${viewId}`, { visibility: 'private' });
    await expectEnded(url);
    await owner('patch', `/views/${viewId}`, { visibility: 'organization' });
    await readText(url);
  });

  it('when its creator leaves, with its API key, and with the view', async () => {
    const { id, secret, keyId } = await org.join('viewer');
    const session = await org.session(id);
    const [own, ofKey] = [await makeLink({}, session), await makeLink({}, createApi(org.app, secret))];
    const listed = (await session('get', `/views/${viewId}/links`)).body.data;
    expect(pluck(listed.slice(0, 2), 'keyId')).toEqual([keyId, null]);
    expect((await owner('delete', `/api-keys/${keyId}`)).status).toBe(204);
    await expectEnded(ofKey.url);
    await readText(own.url);
    expect((await owner('delete', `${org.at}/members/${id}`)).status).toBe(204);
    await expectEnded(own.url);
    expect(await org.sql((tx) => tx('view_links').where({ id: own.id }))).toEqual([]);
    const view = await makeView(owner);
    const { id: linkId, url } = await makeLink({}, owner, view);
    await owner('delete', `/views/${view}`);
    await expectEnded(url);
    expect(await org.sql((tx) => tx('view_links').where({ id: linkId }))).toEqual([]);
  });

  it('with the secret that made it, at the end of its grace period', async () => {
    const scopes = { versions: [], resources: [], permissions: ['write'] };
    const made = await owner('post', '/api-keys', { name: 'Reports', scopes, expiresAt: null });
    const { id: keyId, secret } = made.body;
    const { url } = await makeLink({}, createApi(org.app, secret));
    await readText(url);
    const rotate = (gracePeriodSeconds: number) =>
      owner('post', `/api-keys/${keyId}/rotate`, { gracePeriodSeconds });
    const { secret: next } = (await rotate(3_600)).body;
    await readText(url);
    const ofOther = await makeLink({}, createApi(org.app, next));
    expect((await rotate(0)).status).toBe(201);
    await expectEnded(url);
    await expectEnded(ofOther.url);
    await org.admin.raw('select prune_expired()');
    expect(await org.sql((tx) => tx('view_links').where({ api_key_id: keyId }))).toEqual([]);
  });

  it('also while reads of it wait, of which there are two at most', async () => {
    const { id, url } = await makeLink();
    const holder = await org.admin.transaction();
    await holder.raw(`lock table ${tenantSchema(org.id)}.${table} in access exclusive mode`);
    const waiting = [open(url), open(url)].map((read) => read.then(({ status }) => status));
    await until(async () => {
      const { rows } = await org.admin.raw("select from pg_stat_activity where wait_event_type = 'Lock'");
      return rows.length > 1;
    });
    const third = await open(url);
    expect([third.status, third.headers['retry-after']]).toEqual([429, '5']);
    await owner('delete', `/views/${viewId}/links/${id}`);
    await holder.rollback();
    expect(await Promise.all(waiting)).toEqual([404, 404]);
    await readText((await makeLink()).url);
  });

  it('while its organization is being deleted', async () => {
    const { url } = await makeLink();
    await org.admin('organizations').where({ id: org.id }).update({ deleting_since: new Date() });
    await expectEnded(url);
    await org.admin('organizations').where({ id: org.id }).update({ deleting_since: null });
    await readText(url);
  });

  it('and its answer is that of an unknown one, as a page for a person', async () => {
    const { id, url } = await makeLink();
    await owner('delete', `/views/${viewId}/links/${id}`);
    const plain = async (address: string) => {
      const { status, headers, body } = await open(address);
      return [status, headers['x-robots-tag'], { ...JSON.parse(String(body)).error, requestId: '' }];
    };
    const unknown = `http://127.0.0.1/links/${'A'.repeat(43)}.csv`;
    for (const address of [unknown, `${unknown}?x=1`, url.replace('.csv', ''), 'http://127.0.0.1/links/x'])
      expect(await plain(address)).toEqual(await plain(url));
    const page = await open(url, { accept: 'text/html' });
    expect([page.status, page.type]).toEqual([404, 'text/html']);
    expect(String(page.body)).toContain('Ask for a new one where you got it.');
  });
});

describe('the links of a view', () => {
  it('are made by people who see it and read records, with credentials that write', async () => {
    const path = `/views/${viewId}/links`;
    const reader = createApi(org.app, (await makeKey(org.ctx, org.id)).secret);
    expect(await refusal(reader('post', path, {}))).toEqual([403, 'read_only']);
    expect(await refusal((await org.join(['view:read'])).api('post', path, {}))).toEqual([
      403,
      'record_read_needed',
    ]);
    const hidden = await makeView(owner, { visibility: 'private' });
    const { api } = await org.join('viewer');
    expect((await api('post', `/views/${hidden}/links`, {})).status).toBe(404);
    expect((await api('get', `/views/${hidden}/links`)).status).toBe(404);
  });

  it('are listed for people who manage members, whatever view they are of', async () => {
    const { id: creator } = await org.join('editor');
    const session = await org.session(creator);
    const view = await makeView(session, { visibility: 'private' });
    const { id } = await makeLink({}, session, view);
    const admin = await org.session((await org.join('admin')).id);
    expect((await admin('get', `/views/${view}/links`)).status).toBe(404);
    const [newest] = (await admin('get', '/view-links')).body.data;
    expect(newest).toMatchObject({ id, viewId: view, creator: { id: creator } });
    expect((await admin('delete', `/views/${view}/links/${id}`)).status).toBe(204);
  });

  it('say nothing of a view that does not work', async () => {
    const view = await makeView(owner, {
      filters: [{ field: 'tranid', operator: 'starts_with', value: 'INV' }],
    });
    const { url } = await makeLink({}, owner, view);
    const answer = await open(url);
    expect([answer.status, String(answer.body)]).toEqual([422, expect.not.stringContaining('tranid')]);
  });

  it('are at most 100', async () => {
    const view = await makeView(owner);
    const [first] = [await makeLink({}, owner, view)];
    await org.admin.raw(
      `insert into view_links (id, organization_id, view_id, name, token_hash, rows, created_by, expires_at)
       select gen_random_uuid(), organization_id, view_id, name, sha256(n::text::bytea), rows, created_by, expires_at
       from view_links, generate_series(1, 99) n where id = ?`,
      [first?.id ?? ''],
    );
    expect(await refusal(owner('post', `/views/${view}/links`, {}))).toEqual([422, 'limit_reached']);
  });

  it('are listed with their uses, which are written in batches', async () => {
    const usage: UsageCounter = startUsageCounter(org.ctx, { flushEveryMs: 3_600_000 });
    const counting = createApp(org.ctx, { usage });
    const view = await makeView(owner);
    const { id, url } = await makeLink({ name: 'Report' }, owner, view);
    const read = async () => (await owner('get', `/views/${view}/links`)).body.data;
    const { pathname } = new URL(url);
    for (let time = 0; time < 3; time += 1) await supertest(counting).get(pathname).expect(200);
    await supertest(counting).head(pathname).expect(200);
    await supertest(counting).get(`${pathname}?x=1`).expect(400);
    expect(await read()).toMatchObject([{ id, name: 'Report', uses: 0, lastUsedAt: null }]);
    await until(async () => {
      await usage.flush();
      return (await read())[0].uses === 4;
    });
    expect(await read()).toMatchObject([{ lastUsedAt: expect.any(String), creator: { id: org.owner.id } }]);
    expect(Object.keys((await read())[0])).not.toContain('url');
    await usage.stop();
  });

  it('are audited, without what only those who see the view may know; the token is in no row and no line', async () => {
    const view = await makeView(owner, { visibility: 'private' });
    const { id, url } = await makeLink(
      { name: 'Secret plan', rows: [{ field: 'status', in: ['open'] }] },
      owner,
      view,
    );
    await readText(url);
    await open(`${url}?x=1`);
    await owner('delete', `/views/${view}/links/${id}`);
    await expectEnded(url);
    const log = (await owner('get', `${org.at}/audit-log?targetId=${id}`)).body.data;
    expect(pluck(log, 'action')).toEqual(['view-link.revoke', 'view-link.create']);
    expect(JSON.stringify(log)).not.toMatch(/Secret plan|"open"/);
    const token = url.slice(-47, -4);
    expect(lines.some((line) => line.includes('/links/{token}.csv'))).toBe(true);
    expect(lines.join('')).not.toContain(token);
    for (const table of ['view_links', 'audit_log', 'rate_limits', 'idempotency_keys']) {
      const { rows } = await org.admin.raw(
        `select coalesce(string_agg(t::text, ' '), '') as text from ${table} t`,
      );
      expect(rows[0].text).not.toContain(token);
    }
  });
});

it('guesses are limited, and links that work are not', async () => {
  const unknown = `http://127.0.0.1/links/${'A'.repeat(43)}.csv`;
  const statuses = [];
  for (let guess = 0; guess < 21; guess += 1) statuses.push((await open(unknown)).status);
  expect(statuses.at(-1)).toBe(429);
  await readText((await makeLink()).url);
});
