// Tenant isolation has two layers; this test removes the first one. Every condition on the organization is
// cut out of the queries on their way to PostgreSQL, and the same requests must get the same responses
// through row-level security alone.
import type { Express } from 'express';
import knexModule, { type Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { poolConfig } from '../../src/db/connect.ts';
import { type Answer, type Api, createApi, type Method } from '../setup/api.ts';
import { makeMember } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();
let forgetful: Knex;
let careless: Express;
let cut = 0;

/** Conditions that compare the organization with a parameter become ones that are always true. */
function forget(sql: string): string {
  const always = (_whole: string, parameter: string): string => {
    cut += 1;
    return `(${parameter}::text is not null)`;
  };
  const without = sql.replaceAll(/(?:"?\w+"?\.)?"?organization_id"? = (\$\d+)/g, always);
  return /(from|update) "organizations"/.test(sql)
    ? without.replaceAll(/(?:"?\w+"?\.)?"id" = (\$\d+)/g, always)
    : without;
}

type Query = (config: { text: string }, ...rest: unknown[]) => unknown;

beforeAll(async () => {
  forgetful = knexModule({
    client: 'pg',
    connection: poolConfig(org.database.address, 'portal_service') as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: 4,
      afterCreate: (
        connection: { query: Query },
        done: (error: Error | null, connection: unknown) => void,
      ) => {
        const query = connection.query.bind(connection) as Query;
        connection.query = (config, ...rest) =>
          query(typeof config === 'object' ? { ...config, text: forget(config.text) } : config, ...rest);
        done(null, connection);
      },
    },
  });
  careless = createApp({ ...org.ctx, db: { ...org.ctx.db, control: forgetful } });
});
afterAll(() => forgetful.destroy());

type Side = {
  readonly id: string;
  readonly honest: Api;
  readonly careless: Api;
  readonly ids: Awaited<ReturnType<typeof makeObjects>>;
};

/** One object of each kind. */
async function makeObjects({ id, api, owner: { id: ownerId } }: Awaited<ReturnType<typeof org.another>>) {
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await api('post', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.id;
  };
  const insert = async (table: string, row: object): Promise<string> => {
    const own = { id: org.admin.raw('gen_random_uuid()'), organization_id: id, ...row };
    return (await org.admin(table).insert(own, ['id']))[0].id;
  };
  const { id: member } = await makeMember(org.ctx, id, 'viewer');
  const team = await made('/teams', { name: 'Team' });
  await api('post', `/teams/${team}/members`, { userId: member });
  const key = await made('/api-keys', { name: 'Key' });
  const schema = await made('/api-schema', {});
  const invoices = { record_type: 'invoice' };
  const full = { ...invoices, mode: 'full' };
  const config = await insert('sync_configs', { ...full, name: 'Own', deletions: 'none' });
  await insert('sync_runs', { ...full, sync_config_id: config, trigger: 'manual', status: 'failed' });
  const seen = { ...invoices, columns: ['tranid'], visibility: 'organization' };
  const view = await insert('views', { ...seen, owner_id: ownerId, name: 'Own' });
  const mailed = { schedule: '0 7 * * *', recipients: ['own@example.test'] };
  const link = await made(`/views/${view}/links`, {});
  const subscription = await made('/subscriptions', { viewId: view, ...mailed });
  const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: new Date() };
  await insert('api_schemas', { ...live, version: 'v999', created_by: ownerId });
  const running = { name: 'Own', model: 'offline', api_version: 'v999', status: 'running' };
  const agent = await insert('agents', running);
  const conversation = await insert('conversations', { agent_id: agent, owner_id: ownerId });
  const message = { conversation_id: conversation, role: 'user', content: 'Own words', status: 'complete' };
  await insert('conversation_messages', message);
  return {
    ...{ key, schema, config, view, link, subscription, agent, conversation, team, member },
    page: await made('/portal/pages', { slug: 'page', title: 'Page' }),
    template: await made('/portal/templates', { key: 'key', kind: 'document', body: 'Own words' }),
    role: await made(`/organizations/${id}/roles`, { name: 'Clerk', permissions: [] }),
  };
}

async function side(): Promise<Side> {
  const organization = await org.another();
  const { id, api, owner } = organization;
  const ids = await makeObjects(organization);
  // A key's last use is recorded only if it is later than the recorded one; so nothing of this organization
  // changes by itself.
  await org.admin('api_keys').where({ id: owner.keyId }).update({ last_used_at: '2100-01-01' });
  return { id, honest: api, careless: createApi(careless, owner.secret), ids };
}

const listPaths = (id: string): string[] => [
  ...['/api-keys', '/api-schema', '/sync-configs', '/sync-runs', '/teams', '/views', '/subscriptions'],
  ...['/agents', '/conversations', '/portal/pages', '/portal/templates'],
  ...['members', 'roles', 'audit-log'].map((list) => `/organizations/${id}/${list}`),
];

/** The requests of one organization for another's objects, below its own id where the path has one. */
const requestsFor = (own: string, ids: Side['ids']): [Method, string, object?][] => [
  ['get', `/api-keys/${ids.key}`],
  ['patch', `/api-keys/${ids.key}`, { name: 'taken over' }],
  ['post', `/api-keys/${ids.key}/rotate`, {}],
  ['delete', `/api-keys/${ids.key}`],
  ['get', `/api-schema/${ids.schema}`],
  ['get', `/api-schema/${ids.schema}/sources/invoice`],
  ['get', `/api-schema/${ids.schema}/records/invoice`],
  ['patch', `/api-schema/${ids.schema}`, { notes: 'taken over' }],
  ['delete', `/api-schema/${ids.schema}`],
  ['get', `/sync-configs/${ids.config}`],
  ['get', `/sync-configs/${ids.config}/history`],
  ['patch', `/sync-configs/${ids.config}`, { name: 'taken over' }],
  ['delete', `/sync-configs/${ids.config}`],
  ['get', `/views/${ids.view}`],
  ['get', `/views/${ids.view}/records`],
  ['get', `/views/${ids.view}/rows`],
  ['get', `/views/${ids.view}/links`],
  ['delete', `/views/${ids.view}/links/${ids.link}`],
  ['patch', `/views/${ids.view}`, { name: 'taken over' }],
  ['delete', `/views/${ids.view}`],
  ['get', `/agents/${ids.agent}`],
  ['patch', `/agents/${ids.agent}`, { name: 'taken over' }],
  ['post', `/agents/${ids.agent}/stop`],
  ['get', `/agents/${ids.agent}/conversations`],
  ['post', `/agents/${ids.agent}/conversations`, {}],
  ['get', `/conversations/${ids.conversation}`],
  ['get', `/conversations/${ids.conversation}/messages`],
  ['post', `/conversations/${ids.conversation}/messages`, { content: 'Tell me' }],
  ['patch', `/conversations/${ids.conversation}`, { title: 'taken over' }],
  ['delete', `/conversations/${ids.conversation}`],
  ['delete', `/agents/${ids.agent}`],
  ['get', `/subscriptions/${ids.subscription}`],
  ['get', `/subscriptions/${ids.subscription}/deliveries`],
  ['post', `/subscriptions/${ids.subscription}/send`],
  ['patch', `/subscriptions/${ids.subscription}`, { recipients: ['taken@example.test'] }],
  ['delete', `/subscriptions/${ids.subscription}`],
  ['get', `/portal/pages/${ids.page}`],
  ['patch', `/portal/pages/${ids.page}`, { title: 'taken over' }],
  ['post', `/portal/pages/${ids.page}/publish`, { revision: 1 }],
  ['delete', `/portal/pages/${ids.page}`],
  ['get', `/portal/templates/${ids.template}`],
  ['patch', `/portal/templates/${ids.template}`, { body: 'taken over' }],
  ['delete', `/portal/templates/${ids.template}`],
  ['get', `/organizations/${own}/roles/${ids.role}`],
  ['patch', `/organizations/${own}/roles/${ids.role}`, { name: 'taken over' }],
  ['delete', `/organizations/${own}/roles/${ids.role}`],
  ['get', `/organizations/${own}/members/${ids.member}`],
  ['patch', `/organizations/${own}/members/${ids.member}`, {}],
  ['delete', `/organizations/${own}/members/${ids.member}`],
  ['get', `/teams/${ids.team}`],
  ['patch', `/teams/${ids.team}`, { name: 'taken over' }],
  ['delete', `/teams/${ids.team}/members/${ids.member}`],
  ['delete', `/teams/${ids.team}`],
];

const shown = ({ status, body }: Answer) => [
  status,
  { ...body, ...(body.error !== undefined && { error: { ...body.error, requestId: '' } }) },
];

const readEverything = async (id: string): Promise<string[]> => {
  const { rows: tables } = await org.admin.raw<{ rows: { name: string }[] }>(
    "select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'organization_id' order by 1",
  );
  const texts = await Promise.all(
    tables.map(({ name }) =>
      org.admin.raw<{ rows: { t: string }[] }>(
        `select t::text as t from ${name} t where organization_id = ? order by 1`,
        [id],
      ),
    ),
  );
  return texts.flatMap(({ rows }) => rows.map(({ t }) => t));
};

describe('with every condition on the organization cut out of the queries', () => {
  it('lists show the same objects and none of another organization', async () => {
    const [mine] = [await side(), await side()];
    for (const list of listPaths(mine.id)) {
      const honest = await mine.honest('get', `${list}?pageSize=100`);
      cut = 0;
      const forgot = await mine.careless('get', `${list}?pageSize=100`);
      expect([list, cut > 0, honest.status, honest.body.pagination?.total > 0]).toEqual([
        list,
        true,
        200,
        true,
      ]);
      expect([list, forgot.text]).toEqual([list, honest.text]);
    }
    const own = await mine.careless('get', `/organizations/${mine.id}`);
    expect(own.body.id).toBe(mine.id);
    expect((await mine.careless('get', '/organizations')).body.data).toHaveLength(1);
  });

  it("another organization's objects are absent as before, and unchanged", async () => {
    const [mine, theirs] = [await side(), await side()];
    await mine.careless('get', '/whoami');
    const before = await readEverything(theirs.id);
    expect(before.length).toBeGreaterThan(10);
    for (const [method, path, body] of requestsFor(mine.id, theirs.ids)) {
      const honest = await mine.honest(method, path, body);
      cut = 0;
      const forgot = await mine.careless(method, path, body);
      expect([method, path, cut > 0, honest.status]).toEqual([method, path, true, 404]);
      expect(shown(forgot)).toEqual(shown(honest));
    }
    expect(await readEverything(theirs.id)).toEqual(before);
  });

  it('writes affect the own organization only, even if the removed condition was their only limit', async () => {
    const [mine, theirs] = [await side(), await side()];
    const before = await readEverything(theirs.id);
    const { slug } = (await mine.honest('get', `/organizations/${mine.id}`)).body;
    cut = 0;
    expect((await mine.careless('patch', `/organizations/${mine.id}`, { name: 'Renamed' })).body.name).toBe(
      'Renamed',
    );
    expect((await mine.careless('delete', `/organizations/${mine.id}?confirm=${slug}`)).status).toBe(204);
    expect(cut).toBeGreaterThan(4);
    expect(await readEverything(theirs.id)).toEqual(before);
    expect((await theirs.honest('get', '/whoami')).body.organization.name).not.toBe('Renamed');
    expect(
      (await org.admin('organizations').where({ id: theirs.id }).first('deleting_since')).deleting_since,
    ).toBeNull();
  });
});
