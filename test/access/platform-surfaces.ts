// The ways by which records leave the management interface: what people without `unmasked:read`, and without
// `record:read`, see there. The service is loaded once more with this module for each of them that is
// switched off: see switch-off.ts.
import supertest from 'supertest';
import { expect } from 'vitest';
import { createApp } from '../../src/app.ts';
import { startSubscriptions } from '../../src/platform/subscriptions/runner.ts';
import { anthropicDialect, type begin, whole } from '../gateways/model/provider-server.ts';
import { call, openMcpSite } from '../mcp/fixture.ts';
import { inOrganization, toModel } from '../platform/conversations/fixture.ts';
import { publishVersion, withReads } from '../public/fixture.ts';
import { type Answer, type Api, createApi, listCodes } from '../setup/api.ts';
import { signInMcpClient } from '../setup/mcp-client.ts';
import { until } from '../setup/until.ts';
import { maskedInvoices, type PlatformFixture } from './platform-fixture.ts';

export type PlatformCheck = (fixture: PlatformFixture) => Promise<void>;

/**
 * Rejects when a valid credential is refused or the service fails: that says nothing about what is hidden.
 */
const readerApi = (app: Parameters<typeof createApi>[0], secret: string): Api => {
  const api = createApi(app, secret);
  return async (...request) => {
    const answer = await api(...request);
    if (answer.status === 401 || answer.status >= 500)
      throw new Error(`${request[1]}: ${answer.status} ${answer.text}`);
    return answer;
  };
};
const expectMasked = (text: string): void => {
  expect(text).toContain('****');
  expect(text).not.toContain('INV-1');
};
const expectRefused = (answer: Answer): void =>
  expect([answer.status, listCodes(answer)]).toEqual([403, ['record_read_needed']]);

const createPerson = async (
  { makePerson, invoices: { ctx, organization } }: PlatformFixture,
  role: string | readonly string[],
): Promise<Api> => readerApi(createApp(ctx), (await makePerson(ctx, organization.id, role)).secret);
const records = (api: Api, { viewId }: PlatformFixture, query = '', accept = 'application/json') =>
  api('get', `/views/${viewId}/records${query}`, undefined, { accept });
const ofVersion = (
  api: Api,
  { versionId }: Pick<PlatformFixture, 'versionId'>,
  query = '',
  accept = 'application/json',
) => api('get', `/api-schema/${versionId}/records/invoices${query}`, undefined, { accept });
const earlier = ({ earlierVersionId: versionId }: PlatformFixture) => ({ versionId });
const preview = (api: Api, { templateId }: PlatformFixture, input: object) =>
  api('post', `/portal/templates/${templateId}/preview`, input);
const aRecord = { recordType: 'invoice', recordId: '1' };
const portal = ['view:read', 'portal:read', 'portal:update'];

/**
 * What a recipient gets of a new subscription: the mail, its attachments, or the status when nothing is sent.
 */
async function deliver(
  { invoices, viewId }: PlatformFixture,
  body: object,
  owner?: Api,
  before?: () => Promise<void>,
): Promise<string> {
  invoices.mails.delivered.length = 0;
  const { id } = await invoices.subscribe({ viewId, ...body }, owner);
  await before?.();
  const runner = startSubscriptions(withReads(invoices.ctx), { pollMs: 3_600_000 });
  await runner.tick();
  await runner.stop();
  const sender = invoices.send();
  const status = await until(async () => {
    const [found] = await invoices.deliveries(id);
    return found !== undefined && ['sent', 'failed'].includes(found.status) ? found.status : undefined;
  });
  await sender.stop();
  await invoices.owner('delete', `/subscriptions/${id}`);
  const files = invoices.mails.delivered.flatMap(({ mail }) =>
    mail.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer)),
  );
  return [status, ...invoices.mails.delivered.map(({ mail }) => `${mail.html}${mail.text}`), ...files].join(
    '\n',
  );
}

const thingsApi = async (
  { makePerson, things: { ctx, organizationId } }: PlatformFixture,
  role: string | readonly string[],
): Promise<Api> => readerApi(createApp(ctx), (await makePerson(ctx, organizationId, role)).secret);
const rejections = async (api: Api, { things }: PlatformFixture): Promise<string> =>
  (await api('get', `/sync-configs/${things.configId}/rejections`)).text;
const proposed = async (api: Api, { things, proposalId }: PlatformFixture): Promise<string> => {
  const { status, text } = await api(
    'get',
    `/sync-configs/${things.configId}/deletion-proposals/${proposalId}`,
  );
  expect(status, text).toBe(200);
  return text;
};
const operator = ['sync:read', 'sync:approve-deletions'];

const talks = ['conversation:create', 'conversation:read'];
type Asked = { readonly version: string; readonly resource: string };
const masking: Asked = { version: 'v3', resource: 'secrets' };
const toolCall = (id: string, { resource } = masking) => ({
  id,
  name: 'query',
  input: { resource, fields: ['number'], pageSize: 1 },
});
type Respond = (
  res: Parameters<typeof begin>[0],
  lose: (id: string) => Promise<void>,
  personId: string,
) => Promise<void>;
const callAgain: Respond = (res) =>
  Promise.resolve(whole(anthropicDialect, [{ call: toolCall('b') }], 'calls')(res, asked));
const asked = { headers: {}, url: '', body: {} };

/** The answer to a question for which the model calls tools twice; `second` is its second call. */
async function ask(
  { makePerson, agents, company }: PlatformFixture,
  role: string | readonly string[],
  second: Respond = callAgain,
  about = masking,
): Promise<Answer> {
  const { ctx, provider } = agents;
  const { id, secret } = await makePerson(ctx, company.id, role);
  const { conversationId, agentId } = await company.converse(toModel(anthropicDialect));
  await inOrganization(ctx, company.id, async (tx) => {
    await tx('agents').where({ id: agentId }).update({ api_version: about.version });
    await tx('conversations').where({ id: conversationId }).update({ owner_id: id });
  });
  const lose = (personId: string) =>
    inOrganization(ctx, company.id, async (tx) => {
      const { role_id: roleId } = await tx('memberships').where({ user_id: personId }).first('role_id');
      await tx('roles').where({ id: roleId }).update({ permissions: talks });
    });
  provider.script(
    whole(anthropicDialect, [{ call: toolCall('a', about) }], 'calls'),
    (res) => void second(res, lose, id),
    whole(anthropicDialect, [{ text: 'Done.' }]),
  );
  return readerApi(createApp(ctx), secret)('post', `/conversations/${conversationId}/messages`, {
    content: 'Which?',
  });
}

export const platformChecks = {
  'records of a view': async (fixture) => {
    const { status, text } = await records(await createPerson(fixture, 'editor'), fixture);
    expect(status).toBe(200);
    expectMasked(text);
  },
  'CSV of a view': async (fixture) =>
    expectMasked((await records(await createPerson(fixture, 'editor'), fixture, '', 'text/csv')).text),
  'link of a mail': async (fixture) => {
    const api = readerApi(createApp(fixture.invoices.ctx), fixture.unmaskedSecret);
    expect((await records(api, fixture)).text).toContain('INV-1');
    expectMasked((await records(api, fixture, '?masked=true')).text);
  },
  'records of a version': async (fixture) => {
    const api = await createPerson(fixture, 'editor');
    const { status, text } = await ofVersion(api, fixture);
    expect(status).toBe(200);
    expectMasked(text);
    expect(listCodes(await ofVersion(api, fixture, '?number=INV-1'))).toEqual(['field_masked']);
  },
  'CSV of a version': async (fixture) =>
    expectMasked((await ofVersion(await createPerson(fixture, 'editor'), fixture, '', 'text/csv')).text),
  'records of an earlier version': async (fixture) => {
    const api = await createPerson(fixture, 'editor');
    const { status, text } = await ofVersion(api, earlier(fixture));
    expect(status).toBe(200);
    expectMasked(text);
    expect(listCodes(await ofVersion(api, earlier(fixture), '?number=INV-1'))).toEqual(['field_masked']);
    expect(
      (await ofVersion(createApi(createApp(fixture.invoices.ctx), fixture.unmaskedSecret), earlier(fixture)))
        .text,
    ).toContain('INV-1');
  },
  'CSV of an earlier version': async (fixture) =>
    expectMasked(
      (await ofVersion(await createPerson(fixture, 'editor'), earlier(fixture), '', 'text/csv')).text,
    ),
  'version without record:read': async (fixture) => {
    const api = await createPerson(fixture, ['api-schema:read', 'view:read']);
    for (const accept of ['application/json', 'text/csv'])
      expect((await ofVersion(api, fixture, '', accept)).status).toBe(403);
  },
  'view without record:read': async (fixture) => {
    const api = await createPerson(fixture, portal);
    expectRefused(await records(api, fixture));
    expectRefused(await records(api, fixture, '', 'text/csv'));
  },
  mail: async (fixture) => expectMasked(await deliver(fixture, {})),
  'attachment of a mail': async (fixture) => expectMasked(await deliver(fixture, { format: 'csv' })),
  'mail of someone who lost record:read': async (fixture) => {
    const { ctx, organization } = fixture.invoices;
    const rights = ['view:read', 'subscription:create', 'subscription:read'];
    const { id, secret } = await fixture.makePerson(ctx, organization.id, [...rights, 'record:read']);
    const lose = () =>
      fixture.invoices.as(async (tx) => {
        const { role_id: roleId } = await tx('memberships').where({ user_id: id }).first('role_id');
        await tx('roles').where({ id: roleId }).update({ permissions: rights });
      });
    expect(await deliver(fixture, {}, readerApi(fixture.invoices.app, secret), lose)).toBe('failed');
  },
  'link of someone who lost record:read': async (fixture) => {
    const { app, ctx, organization } = fixture.invoices;
    const { id, secret } = await fixture.makePerson(ctx, organization.id, ['view:read', 'record:read']);
    const { body } = await createApi(app, secret)('post', `/views/${fixture.viewId}/links`, {});
    const { pathname } = new URL(body.url);
    const read = () => supertest(createApp(ctx)).get(pathname);
    expectMasked((await read().expect(200)).text);
    await fixture.invoices.as(async (tx) => {
      const { role_id: roleId } = await tx('memberships').where({ user_id: id }).first('role_id');
      await tx('roles')
        .where({ id: roleId })
        .update({ permissions: ['view:read'] });
    });
    expect((await read()).status).toBe(404);
  },
  'preview of a record': async (fixture) =>
    expectMasked((await preview(await createPerson(fixture, 'editor'), fixture, aRecord)).body.html),
  'preview of a view': async (fixture) =>
    expectMasked(
      (await preview(await createPerson(fixture, 'editor'), fixture, { viewId: fixture.viewId })).body.html,
    ),
  'preview of a record without record:read': async (fixture) =>
    expectRefused(await preview(await createPerson(fixture, portal), fixture, aRecord)),
  'preview of a view without record:read': async (fixture) =>
    expectRefused(await preview(await createPerson(fixture, portal), fixture, { viewId: fixture.viewId })),
  rejections: async (fixture) => {
    const text = await rejections(await thingsApi(fixture, 'editor'), fixture);
    expect(text).toContain('total is not a number');
    expect(text).not.toContain('Quagmire');
  },
  'rejections without record:read': async (fixture) => {
    const text = await rejections(await thingsApi(fixture, operator), fixture);
    expect(text).toContain('"92"');
    expect(text).not.toMatch(/Quagmire|total is/);
  },
  'deletion proposal': async (fixture) => {
    const text = await proposed(await thingsApi(fixture, 'editor'), fixture);
    expect(text).toContain('"1.50"');
    expect(text).not.toContain('name 1');
  },
  'deletion proposal without record:read': async (fixture) =>
    expect(await proposed(await thingsApi(fixture, operator), fixture)).not.toMatch(/1\.50|name 1/),
  'tools of an agent': async (fixture) => {
    const { status, text } = await ask(fixture, 'editor');
    expect(status, text).toBe(201);
    expectMasked(text);
  },
  'tools of an agent on an earlier version': async (fixture) => {
    const about = { version: 'v1', resource: 'invoices' };
    const again: Respond = (res) =>
      Promise.resolve(whole(anthropicDialect, [{ call: toolCall('b', about) }], 'calls')(res, asked));
    const { status, text } = await ask(fixture, 'editor', again, about);
    expect(status, text).toBe(201);
    expectMasked(text);
  },
  '/mcp of a person on an earlier version': async () => {
    const site = await openMcpSite({ records: true });
    try {
      await publishVersion(site.ctx, site.organization.id, { version: 'v6', endpoints: [maskedInvoices] });
      const asked = { version: 'v1', resource: 'invoices', pageSize: 1 };
      const { client } = await signInMcpClient(`${site.origin}/mcp`, 'person');
      expectMasked((await call(client, 'query', asked)).text);
      await client.close();
      // A key reads what its version published.
      const { secret } = await site.key(site.organization.id);
      expect((await call(await site.connect(secret), 'query', asked)).text).toContain('INV-1');
    } finally {
      await site.close();
    }
  },
  'agent without record:read': async (fixture) => expectRefused(await ask(fixture, talks)),
  'agent of someone who loses record:read': async (fixture) => {
    const answer = await ask(fixture, [...talks, 'record:read'], async (res, lose, id) => {
      await lose(id);
      await callAgain(res, lose, id);
    });
    expect(answer.body.message).toMatchObject({ status: 'failed', error: { code: 'access_lost' } });
  },
} satisfies Record<string, PlatformCheck>;
