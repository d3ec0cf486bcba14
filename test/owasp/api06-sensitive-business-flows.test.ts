// API6:2023 Unrestricted access to sensitive business flows. Five invitations an hour to one address:
// test/platform/invitations; subscription mails per day and manual sends: test/platform/subscriptions;
// unsubscribe links opened by programs: test/platform/subscriptions/unsubscribe. Here the floods: a client
// that repeats a flow that sends, costs or creates much is stopped, also when it uses many small ways at
// once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { defaultQuotas } from '../../src/core/settings/quotas.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { listen, type Server } from '../contract/http.ts';
import { type Api, apiOf, base, codesOf } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization, makePerson, makeSession } from '../setup/organization.ts';

let database: TestDatabase;
let server: Server;
let organization: { id: string; ownerId: string };
let secret: string;
let owner: Api;
const maxOrganizationsPerPerson = 3;
beforeAll(async () => {
  const quotas = { ...defaultQuotas, invitations: 6 };
  database = await testDatabase({
    settings: {
      allowSignup: true,
      rateLimitPerMinute: 60,
      quotas: quotas,
      maxOrganizationsPerPerson: maxOrganizationsPerPerson,
    },
  });
  const app = createApp(database.ctx);
  server = await listen(app);
  organization = await makeOrganization(database.ctx);
  secret = (await makeKey(database.ctx, organization.id, { permissions: ['write'] })).secret;
  owner = apiOf(server.url, secret);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});
beforeEach(() => database.ctx.db.control.raw('delete from rate_limits'));

const viewer = async (): Promise<string> => {
  const { body } = await owner('get', `/organizations/${organization.id}/roles`);
  return body.data.find(({ name }: { name: string }) => name === 'viewer').id;
};
const mails = async (): Promise<number> => {
  const [row] = await inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) =>
    tx('outgoing_mails').count<{ count: string }[]>({ count: '*' }),
  );
  return Number(row?.count);
};

describe('invitations', () => {
  it('to many addresses stop at the quota, and no more mail is sent', async () => {
    const roleId = await viewer();
    const invite = (email: string) =>
      owner('post', `/organizations/${organization.id}/invitations`, { email, roleId });
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, index) => invite(`guest-${index}@example.test`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 201, 422, 422, 422]);
    expect(answers.flatMap(codesOf)).toEqual(Array(3).fill('limit_reached'));
    expect(await mails()).toBe(6);
  });

  it('to one address in any spelling are one, with one mail until it has been sent', async () => {
    const roleId = await viewer();
    const list = () => owner('get', `/organizations/${organization.id}/invitations`);
    const before = await mails();
    const { body: open } = await list();
    const email: string = open.data[0].email;
    for (const spelled of [email.toUpperCase(), `${email[0]?.toUpperCase()}${email.slice(1)}`, email]) {
      const answer = await owner('post', `/organizations/${organization.id}/invitations`, {
        email: spelled,
        roleId,
      });
      expect([answer.status, answer.body.id]).toEqual([201, open.data[0].id]);
    }
    expect([await mails(), (await list()).body.pagination.total]).toEqual([before, open.pagination.total]);
  });

  it.each([
    'a@example.test\r\nBcc: b@example.test',
    'a@example.test,b@example.test',
    'a@example.test;b@example.test',
    '<a@example.test>',
    '"a b"@example.test, c@d.e',
    'a@example.test\u2028b',
  ])('to %j are rejected: one address, no header', async (email) => {
    const before = await mails();
    const answer = await owner('post', `/organizations/${organization.id}/invitations`, {
      email,
      roleId: await viewer(),
    });
    expect([answer.status, await mails()]).toEqual([422, before]);
  });
});

describe('sign-up', () => {
  it('limits the organizations of a person, whatever the way', async () => {
    const person = await makePerson(database.ctx, 'collector@example.test');
    const { headers } = await makeSession(database.ctx, person.id);
    const make = async (name: string) =>
      server.send({
        method: 'POST',
        path: `${base}/organizations`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      });
    const statuses: number[] = [];
    for (let count = 0; count < maxOrganizationsPerPerson + 1; count += 1)
      statuses.push((await make(`Another ${count}`)).status);
    expect(statuses).toEqual([201, 201, 201, 422]);
    expect((await make('More')).body.error.details).toMatchObject([{ code: 'limit_reached' }]);
  });
});

describe('the rate limit', () => {
  it('is shared by REST and MCP, and a batch counts once per call', async () => {
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'call_operation', arguments: { id: 'listTeams' } },
    });
    const batch = (size: number) =>
      server.send({
        method: 'POST',
        path: '/mcp',
        headers,
        body: JSON.stringify(Array.from({ length: size }, (_, id) => call(id))),
      });
    expect((await batch(40)).status).toBe(200);
    // However long this takes, it counts as one minute.
    await database.ctx.db.control.raw("update rate_limits set resets_at = resets_at + interval '1 hour'");
    expect((await owner('get', '/teams')).status).toBe(200);
    const refused = await batch(40);
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await owner('get', '/teams')).status).toBe(429);
  });
});
