// What agents read for the asker: masked without unmasked:read, nothing without record:read, and no more once
// that is lost.
import { beforeAll, describe, expect, it } from 'vitest';
import { anthropicDialect, type begin, whole } from '../../gateways/model/provider-server.ts';
import { fieldsWith, invoicesEndpoint, publishVersion } from '../../public/fixture.ts';
import { type Api, createApi, pluck, refusal, signedInApi } from '../../setup/api.ts';
import { makeKey, makeMember, makeSession } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Company, inOrganization, openAgentSite, toModel } from './fixture.ts';

const dialect = anthropicDialect;
const endpoint = { ...invoicesEndpoint, fields: fieldsWith({ number: { mask: 'last4' } }) };
const call = (id: string) => {
  const input = { resource: 'secrets', fields: ['number'], pageSize: 1 };
  return whole(dialect, [{ call: { id, name: 'query', input } }], 'calls');
};
const answer = (text: string) => whole(dialect, [{ text }]);

const site = useStarted(() => openAgentSite({ timeMs: 100_000 }));
let company: Company;
beforeAll(async () => {
  company = await site.company();
  const endpoints = [{ ...endpoint, name: 'secrets' }];
  await publishVersion(site.ctx, company.id, { version: 'v3', endpoints });
});

type Asker = {
  readonly id: string;
  readonly key: Api;
  readonly session: Api;
  readonly sessionId: string;
  conversation(): Promise<string>;
};
async function asker(role: string | readonly string[]): Promise<Asker> {
  const { id } = await makeMember(site.ctx, company.id, role);
  const { secret } = await makeKey(site.ctx, company.id, { permissions: ['write'], createdBy: id });
  const { cookie, id: sessionId } = await makeSession(site.ctx, id, company.id);
  return {
    id,
    key: createApi(site.app, secret),
    session: signedInApi(site.app, site.ctx, cookie),
    sessionId,
    conversation: async () => {
      const { conversationId, agentId } = await company.converse(toModel(dialect));
      await inOrganization(site.ctx, company.id, async (tx) => {
        await tx('agents').where({ id: agentId }).update({ api_version: 'v3' });
        await tx('conversations').where({ id: conversationId }).update({ owner_id: id });
      });
      return conversationId;
    },
  };
}
const post = (api: Api, id: string) => api('post', `/conversations/${id}/messages`, { content: 'Which?' });
const ask = async (api: Api, id: string) => {
  site.provider.script(call('a'), answer('It is INV-1.'));
  return post(api, id);
};
/** Asks; before the second call the person loses something. */
const askAndLose = async (api: Api, id: string, lose: () => Promise<unknown>) => {
  const late = async (res: Parameters<typeof begin>[0]): Promise<void> => {
    await lose();
    await call('b')(res, { headers: {}, url: '', body: {} });
  };
  site.provider.script(call('a'), late, answer('It is INV-2.'));
  return post(api, id);
};
const messages = (api: Api, id: string) => api('get', `/conversations/${id}/messages`);

describe('an answer', () => {
  it("has masked values for an editor and for an owner's key, and plain ones for an owner who is signed in", async () => {
    const [owner, editor] = [await asker('owner'), await asker('editor')];
    for (const api of [editor.session, editor.key, owner.key]) {
      const { body } = await ask(api, await (api === owner.key ? owner : editor).conversation());
      expect(body.message.toolCalls[0].output).toContain('"number":"****"');
    }
    const { body } = await ask(owner.session, await owner.conversation());
    expect(body.message.toolCalls[0].output).toContain('"number":"INV-1"');
  });

  it('with unmasked values has no content for a key of the same person that reads masked, nor for the model that answers it', async () => {
    const owner = await asker('owner');
    const id = await owner.conversation();
    expect((await ask(owner.session, id)).body.message.content).toBe('It is INV-1.');
    expect((await messages(owner.session, id)).text).toContain('INV-1');
    const seen = await messages(owner.key, id);
    expect(seen.text).not.toContain('INV-1');
    expect(seen.body.data[1]).toMatchObject({ content: '', toolCalls: [], error: { code: 'field_masked' } });
    expect((await ask(owner.key, id)).status).toBe(201);
    expect(JSON.stringify(site.provider.asked[0]?.body)).not.toContain('INV-1');
  });
});

describe('record:read', () => {
  const talks = ['conversation:create', 'conversation:read'];

  it('is needed to ask and to read answers', async () => {
    const person = await asker(talks);
    const id = await person.conversation();
    for (const answer of [ask(person.session, id), messages(person.session, id)])
      expect(await refusal(answer)).toEqual([403, 'record_read_needed']);
  });

  it.each<[string, (person: Asker) => Promise<unknown>]>([
    [
      'the role loses it',
      (person) =>
        inOrganization(site.ctx, company.id, async (tx) => {
          const { role_id: roleId } = await tx('memberships').where({ user_id: person.id }).first('role_id');
          await tx('roles').where({ id: roleId }).update({ permissions: talks });
        }),
    ],
    ['the person signs out', (person) => person.session('delete', `/whoami/sessions/${person.sessionId}`)],
  ])('when %s during an answer, no further record is read and the answer stops', async (_name, lose) => {
    const person = await asker([...talks, 'record:read']);
    const id = await person.conversation();
    const { body } = await askAndLose(person.session, id, () => lose(person));
    expect(body.message).toMatchObject({ status: 'failed', error: { code: 'access_lost' } });
    expect(site.provider.asked).toHaveLength(2);
    expect(pluck(body.message.toolCalls, 'ok')[0]).toBe(true);
    expect(body.message.content).not.toContain('INV-2');
    expect(body.message.toolCalls[1]?.output ?? '').not.toContain('"number"');
  });

  it('when the person leaves during an answer, no further record is read and the conversation is gone', async () => {
    const person = await asker([...talks, 'record:read']);
    const id = await person.conversation();
    const leave = () =>
      inOrganization(site.ctx, company.id, (tx) => tx('memberships').where({ user_id: person.id }).delete());
    expect((await askAndLose(person.session, id, leave)).status).toBe(404);
    expect(site.provider.asked).toHaveLength(2);
  });

  it('when the key is revoked during an answer, it stops as well', async () => {
    const person = await asker([...talks, 'record:read']);
    const id = await person.conversation();
    const revoke = () =>
      inOrganization(site.ctx, company.id, (tx) =>
        tx('api_keys').where({ created_by: person.id }).update({ revoked_at: new Date() }),
      );
    const { body } = await askAndLose(person.key, id, revoke);
    expect(body.message).toMatchObject({ status: 'failed', error: { code: 'access_lost' } });
  });
});
