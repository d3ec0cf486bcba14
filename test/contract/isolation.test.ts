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
  readonly ids: Record<
    | 'key'
    | 'schema'
    | 'config'
    | 'view'
    | 'subscription'
    | 'agent'
    | 'conversation'
    | 'page'
    | 'template'
    | 'role'
    | 'team'
    | 'member',
    string
  >;
};

/** An organization with one object of each kind. */
async function side(): Promise<Side> {
  const { id, api, owner } = await org.another();
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await api('post', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.id;
  };
  const { id: member } = await makeMember(org.ctx, id, 'viewer');
  const team = await made('/teams', { name: 'Team' });
  await api('post', `/teams/${team}/members`, { userId: member });
  const ids = {
    key: await made('/api-keys', { name: 'Key' }),
    schema: await made('/api-schema', {}),
    config: await madeConfig(id),
    ...(await madeSubscription(made, await madeView(id))),
    page: await made('/portal/pages', { slug: 'page', title: 'Page' }),
    template: await made('/portal/templates', { key: 'key', kind: 'document', body: 'Own words' }),
    ...(await madeConversation(id)),
    role: await made(`/organizations/${id}/roles`, { name: 'Clerk', permissions: [] }),
    team,
    member,
  };
  // A key's last use is recorded only if it is later than the recorded one; so nothing of this organization
  // changes by itself.
  await org.admin('api_keys').where({ id: owner.keyId }).update({ last_used_at: '2100-01-01' });
  return { id, honest: api, careless: createApi(careless, owner.secret), ids };
}

const madeConfig = async (organizationId: string): Promise<string> => {
  const config = {
    organization_id: organizationId,
    name: 'Own',
    record_type: 'invoice',
    mode: 'full',
    deletions: 'none',
  };
  const [row] = await org
    .admin('sync_configs')
    .insert({ ...config, id: org.admin.raw('gen_random_uuid()') }, ['id']);
  await org.admin('sync_runs').insert({
    id: org.admin.raw('gen_random_uuid()'),
    organization_id: organizationId,
    sync_config_id: row.id,
    record_type: 'invoice',
    mode: 'full',
    trigger: 'manual',
    status: 'failed',
  });
  return row.id;
};

const madeView = async (organizationId: string): Promise<string> => {
  const { user_id: ownerId } = await org
    .admin('memberships')
    .where({ organization_id: organizationId })
    .first('user_id');
  const view = {
    organization_id: organizationId,
    owner_id: ownerId,
    name: 'Own',
    record_type: 'invoice',
    columns: ['tranid'],
  };
  const [row] = await org
    .admin('views')
    .insert({ ...view, visibility: 'organization', id: org.admin.raw('gen_random_uuid()') }, ['id']);
  return row.id;
};

async function madeConversation(organizationId: string): Promise<{ agent: string; conversation: string }> {
  const { user_id: ownerId } = await org
    .admin('memberships')
    .where({ organization_id: organizationId })
    .orderBy('joined_at')
    .first('user_id');
  const own = { organization_id: organizationId, id: org.admin.raw('gen_random_uuid()') };
  const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: new Date() };
  await org.admin('api_schemas').insert({ ...own, ...live, version: 'v999', created_by: ownerId });
  const row = { ...own, name: 'Own', model: 'offline', api_version: 'v999', status: 'running' };
  const [{ id: agent }] = await org.admin('agents').insert(row, ['id']);
  const [{ id: conversation }] = await org
    .admin('conversations')
    .insert({ ...own, agent_id: agent, owner_id: ownerId }, ['id']);
  const message = { conversation_id: conversation, role: 'user', content: 'Own words', status: 'complete' };
  await org.admin('conversation_messages').insert({ ...own, ...message });
  return { agent, conversation };
}

async function madeSubscription(made: (path: string, body: object) => Promise<string>, view: string) {
  const subscription = await made('/subscriptions', {
    viewId: view,
    schedule: '0 7 * * *',
    recipients: ['own@example.test'],
  });
  return { view, subscription };
}

const listPaths = (id: string): string[] => [
  ...[
    '/api-keys',
    '/api-schema',
    '/sync-configs',
    '/sync-runs',
    '/teams',
    '/views',
    '/subscriptions',
    '/agents',
    '/conversations',
    '/portal/pages',
    '/portal/templates',
  ],
  ...['members', 'roles', 'audit-log'].map((list) => `/organizations/${id}/${list}`),
];

/** The requests of one organization for another's objects, below its own id where the path has one. */
const requestsFor = (
  own: string,
  {
    key,
    schema,
    config,
    view,
    subscription,
    agent,
    conversation,
    page,
    template,
    role,
    team,
    member,
  }: Side['ids'],
): [Method, string, object?][] => [
  ['get', `/api-keys/${key}`],
  ['patch', `/api-keys/${key}`, { name: 'taken over' }],
  ['post', `/api-keys/${key}/rotate`, {}],
  ['delete', `/api-keys/${key}`],
  ['get', `/api-schema/${schema}`],
  ['get', `/api-schema/${schema}/sources/invoice`],
  ['get', `/api-schema/${schema}/records/invoice`],
  ['patch', `/api-schema/${schema}`, { notes: 'taken over' }],
  ['delete', `/api-schema/${schema}`],
  ['get', `/sync-configs/${config}`],
  ['get', `/sync-configs/${config}/history`],
  ['patch', `/sync-configs/${config}`, { name: 'taken over' }],
  ['delete', `/sync-configs/${config}`],
  ['get', `/views/${view}`],
  ['get', `/views/${view}/records`],
  ['get', `/views/${view}/rows`],
  ['patch', `/views/${view}`, { name: 'taken over' }],
  ['delete', `/views/${view}`],
  ['get', `/agents/${agent}`],
  ['patch', `/agents/${agent}`, { name: 'taken over' }],
  ['post', `/agents/${agent}/stop`],
  ['get', `/agents/${agent}/conversations`],
  ['post', `/agents/${agent}/conversations`, {}],
  ['get', `/conversations/${conversation}`],
  ['get', `/conversations/${conversation}/messages`],
  ['post', `/conversations/${conversation}/messages`, { content: 'Tell me' }],
  ['patch', `/conversations/${conversation}`, { title: 'taken over' }],
  ['delete', `/conversations/${conversation}`],
  ['delete', `/agents/${agent}`],
  ['get', `/subscriptions/${subscription}`],
  ['get', `/subscriptions/${subscription}/deliveries`],
  ['post', `/subscriptions/${subscription}/send`],
  ['patch', `/subscriptions/${subscription}`, { recipients: ['taken@example.test'] }],
  ['delete', `/subscriptions/${subscription}`],
  ['get', `/portal/pages/${page}`],
  ['patch', `/portal/pages/${page}`, { title: 'taken over' }],
  ['post', `/portal/pages/${page}/publish`, { revision: 1 }],
  ['delete', `/portal/pages/${page}`],
  ['get', `/portal/templates/${template}`],
  ['patch', `/portal/templates/${template}`, { body: 'taken over' }],
  ['delete', `/portal/templates/${template}`],
  ['get', `/organizations/${own}/roles/${role}`],
  ['patch', `/organizations/${own}/roles/${role}`, { name: 'taken over' }],
  ['delete', `/organizations/${own}/roles/${role}`],
  ['get', `/organizations/${own}/members/${member}`],
  ['patch', `/organizations/${own}/members/${member}`, {}],
  ['delete', `/organizations/${own}/members/${member}`],
  ['get', `/teams/${team}`],
  ['patch', `/teams/${team}`, { name: 'taken over' }],
  ['delete', `/teams/${team}/members/${member}`],
  ['delete', `/teams/${team}`],
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
      const [honest, forgot] = [
        await mine.honest('get', `${list}?pageSize=100`),
        await (async () => {
          cut = 0;
          return mine.careless('get', `${list}?pageSize=100`);
        })(),
      ];
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
