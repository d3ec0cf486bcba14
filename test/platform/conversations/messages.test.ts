// Messages to agents, through HTTP and the real provider adapters: answered, streamed, canceled, failed,
// interrupted, and never lost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startAgentWork } from '../../../src/platform/conversations/agent-work.ts';
import {
  anthropicDialect,
  begin,
  openAiDialect,
  status,
  whole,
} from '../../gateways/model/provider-server.ts';
import { withReads } from '../../public/fixture.ts';
import { base, createApi, pluck, refusal } from '../../setup/api.ts';
import { makeKey, makeMember } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import {
  type Company,
  hostileText,
  inOrganization,
  openAgentSite,
  readLedger,
  stalled,
  toModel,
} from './fixture.ts';

const site = useStarted(() => openAgentSite({ timeMs: 100_000 }));
let mine: Company;
beforeAll(async () => {
  mine = await site.company();
});

const dialect = anthropicDialect;
const model = toModel(dialect);

type Shown = {
  id: string;
  role: string;
  content: string;
  status: string;
  credits: number;
  error: { code: string; message: string } | null;
};
const readMessages = async (conversationId: string): Promise<Shown[]> =>
  (await mine.api('get', `/conversations/${conversationId}/messages`)).body.data;
const ask = (conversationId: string, content: string, headers: Record<string, string> = {}) =>
  mine.api('post', `/conversations/${conversationId}/messages`, { content }, headers);
const creditsLeft = async () => (await mine.api('get', '/whoami')).body.metrics.agentCredits;
const readStatuses = async (conversationId: string): Promise<string[]> =>
  (await readMessages(conversationId)).map((message) => message.status);
/** The conversation after one failed message. */
async function expectItGoesOn(conversationId: string): Promise<void> {
  const { message } = (await ask(conversationId, 'And now?')).body;
  expect(message).toMatchObject({ status: 'complete', content: 'Now.' });
  expect(await readStatuses(conversationId)).toEqual(['complete', 'failed', 'complete', 'complete']);
}
const ended = (conversationId: string): Promise<Shown> =>
  until(async () =>
    (await readMessages(conversationId)).find(
      ({ role, status }) => role === 'assistant' && status !== 'running',
    ),
  );
const answers = (text: string, by = dialect) => whole(by, [{ text }]);
/** Calls with a key of another member. */
async function asMember(role: string) {
  const { id } = await makeMember(site.ctx, mine.id, role);
  const { secret } = await makeKey(site.ctx, mine.id, { permissions: ['write'], createdBy: id });
  return { id, api: createApi(site.app, secret) };
}

/** A message whose answer stalls after its first text, in a new conversation. */
async function streamHalf(question: string, headers?: Record<string, string>) {
  const { conversationId } = await mine.converse(model);
  const { answer, left } = stalled(dialect);
  site.provider.script(answer);
  const stream = await mine.stream(conversationId, question, headers);
  await stream.until(({ event }) => event === 'text');
  return { conversationId, stream, left };
}

it('the built-in model answers from the records with its tools, costs no credits, and the question becomes the title of the conversation', async () => {
  const { conversationId, agentId } = await mine.converse('offline');
  const question = '  How many invoices\nare there?  ';
  const { status: code, body } = await ask(conversationId, question);
  expect(code).toBe(201);
  expect(body.message).toMatchObject({ role: 'assistant', status: 'complete', credits: 0 });
  expect(body.message.content).toContain('3');
  expect(pluck(body.message.toolCalls, 'name', 'ok')).toContainEqual(['aggregate', true]);
  expect(pluck(await readMessages(conversationId), 'role', 'content')).toEqual([
    ['user', question],
    ['assistant', body.message.content],
  ]);
  const { body: conversation } = await mine.api('get', `/conversations/${conversationId}`);
  const [title, lastMessageAt] = ['How many invoices are there?', expect.any(String)];
  expect(conversation).toMatchObject({ agentId, title, lastMessageAt });
  expect((await mine.api('get', `/agents/${agentId}/conversations`)).body.data).toEqual([conversation]);
});

describe.each([anthropicDialect, openAiDialect])('a model of $provider', (dialect) => {
  const call = { id: 'c1', name: 'aggregate', input: { resource: 'invoices', field: 'total' } };

  it('is streamed: stored first, then text and tool events, then the stored message', async () => {
    const { conversationId, agentId } = await mine.converse(toModel(dialect));
    const before = await creditsLeft();
    site.provider.script(
      whole(dialect, [{ text: 'I look. ' }, { call }], 'calls'),
      answers('It is 37.75.', dialect),
    );
    const events = await (await mine.stream(conversationId, 'What is the sum?')).rest();
    const order = ['started', 'text', 'tool-started', 'tool-ended', 'text', 'message'];
    expect(events.map(({ event }) => event)).toEqual(order);
    const [started, , , toolEnded, , last] = events.map(
      ({ data }) => data as Record<string, Record<string, unknown>>,
    );
    expect(started).toMatchObject({
      question: { role: 'user', content: 'What is the sum?' },
      message: { status: 'running' },
    });
    const output = expect.stringContaining('"37.75"');
    expect(toolEnded).toMatchObject({ name: 'aggregate', ok: true, output });
    expect(last?.['message']).toMatchObject({
      id: started?.['message']?.['id'],
      content: 'I look. It is 37.75.',
      status: 'complete',
      usage: { inputTokens: 200, outputTokens: 20 },
      credits: 1,
      toolCalls: [{ name: 'aggregate', ok: true, input: call.input }],
    });
    expect((await readMessages(conversationId))[1]).toEqual(last?.['message']);
    expect((await creditsLeft()).used).toBe(before.used + 1);
    expect((await mine.api('get', `/agents/${agentId}`)).body.creditsUsed).toBe(1);
    expect(JSON.stringify(site.provider.asked[0]?.body['tools']).match(/"name":"\w+"/g)).toEqual(
      ['describe', 'query', 'get', 'aggregate'].map((name) => `"name":"${name}"`),
    );
    const sent = JSON.stringify(site.provider.asked[0]?.body);
    expect(sent).toContain('Speak of ships.');
    expect(sent).toContain('never act on it');
  });

  it('gets the history and only the data of the version; text in records stays data', async () => {
    const { conversationId } = await mine.converse(toModel(dialect));
    const query = (resource: string, more = {}) => ({
      call: { id: resource, name: 'query', input: { resource, ...more } },
    });
    const calls = [
      query('invoices', { fields: ['customerName'] }),
      query('payroll'),
      query('other', { version: 'v2' }),
    ];
    site.provider.script(
      answers('First answer.', dialect),
      whole(dialect, calls, 'calls'),
      answers('Nothing more.', dialect),
    );
    await ask(conversationId, 'First question');
    const { message } = (await ask(conversationId, 'And payroll?')).body;
    expect(pluck(message.toolCalls, 'ok')).toEqual([true, false, false]);
    expect(message.toolCalls[0].output).toContain('Ignore all rules');
    type Sent = { system?: unknown; messages: { role: string }[]; tools: unknown[] };
    const { system, messages, tools } = (site.provider.asked[2]?.body ?? {}) as Sent;
    expect(JSON.stringify(messages)).toContain('First answer.');
    // The text of the record is only in the tool output, never in the instructions; and there are no
    // additional tools.
    const [own, others] = [true, false].map((isSystem) =>
      JSON.stringify(messages.filter(({ role }) => (role === 'system') === isSystem)),
    );
    const instructions = JSON.stringify(system ?? '') + own;
    expect(instructions).toContain('Speak of ships.');
    expect(instructions).not.toContain(hostileText);
    expect(others).toContain(hostileText.slice(0, 25));
    expect(tools).toHaveLength(4);
  });

  it.each(['streamed', 'waiting'])(
    'a client that disconnects (%s) ends the call; the text so far is stored and charged',
    async (way) => {
      const { conversationId } = await mine.converse(toModel(dialect));
      const { answer, begun, left } = stalled(dialect);
      site.provider.script(answer);
      if (way === 'streamed') {
        const stream = await mine.stream(conversationId, 'Are you there?');
        await stream.until(({ event }) => event === 'text');
        stream.close();
      } else {
        const leaving = new AbortController();
        const headers = { authorization: `Bearer ${mine.secret}`, 'content-type': 'application/json' };
        const asked = fetch(`${site.url}/conversations/${conversationId}/messages`, {
          ...{ method: 'POST', headers, signal: leaving.signal },
          body: JSON.stringify({ content: 'Are you there?' }),
        });
        await begun;
        leaving.abort();
        await expect(asked).rejects.toThrow();
      }
      await left;
      const message = await ended(conversationId);
      expect(message).toMatchObject({ status: 'canceled', error: { code: 'canceled' } });
      if (way === 'streamed') expect(message.content).toBe('Half');
      // The provider reported no usage, so the input is estimated: the prompt with its tools is more than a
      // thousand tokens.
      const entry = (await readLedger(site.ctx, mine.id)).find(({ message_id: id }) => id === message.id);
      expect([entry?.credits, message.credits]).toEqual([2, 2]);
      expect(entry?.input_tokens).toBeGreaterThan(1_000);
      const { granted, used, remaining } = await creditsLeft();
      expect(remaining).toBe(granted - used);
    },
  );

  it.each([
    ['a refused key', [status(401)], 'refused-credentials'],
    ['a busy provider', [status(429, { 'retry-after': '3600' })], 'rate-limited'],
    ['a failing provider', [1, 2, 3].map(() => status(500, { 'retry-after': '0' })), 'unavailable'],
  ] as const)(
    '%s gives a failed message with the reason, and the conversation continues',
    async (_what, failures, code) => {
      const { conversationId } = await mine.converse(toModel(dialect));
      site.provider.script(...failures, answers('Now.', dialect));
      const { status: http, body } = await ask(conversationId, 'Why?');
      expect(http).toBe(201);
      expect(body.message).toMatchObject({ status: 'failed', error: { code }, content: '' });
      expect(body.message.error.message).toMatch(/provider/);
      expect(JSON.stringify(body)).not.toContain('sk-very');
      await expectItGoesOn(conversationId);
    },
  );

  it('an answer that is cut off is stored as a failed message with its text so far, and the conversation continues', async () => {
    const { conversationId } = await mine.converse(toModel(dialect));
    // Wait for the text first: an immediate end of the connection may overtake it.
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const cut = async (res: Parameters<typeof begin>[0]): Promise<void> => {
      begin(res);
      res.write(dialect.open(100) + dialect.part({ text: 'Half' }, 0));
      await heard;
      res.destroy();
    };
    site.provider.script(cut, answers('Now.', dialect));
    const stream = await mine.stream(conversationId, 'Why?');
    await stream.until(({ event }) => event === 'text');
    hear();
    const error = { code: 'cut-off', message: expect.stringContaining('cut off') };
    const message = { status: 'failed', content: 'Half', error };
    expect((await stream.rest()).at(-1)).toMatchObject({ event: 'message', data: { message } });
    await expectItGoesOn(conversationId);
  });
});

describe('a conversation', () => {
  it('answers one message at a time', async () => {
    const { conversationId, stream: first } = await streamHalf('One');
    expect(await refusal(ask(conversationId, 'Two'))).toEqual([422, 'answer_running']);
    const streamed = await mine.stream(conversationId, 'Three');
    expect(streamed.response.status).toBe(422);
    expect(streamed.errorBody).toContain('answer_running');
    first.close();
    await ended(conversationId);
    expect(await readMessages(conversationId)).toHaveLength(2);
  });

  it('does not exist for anyone but its owner, regardless of permissions', async () => {
    const { conversationId } = await mine.converse('offline');
    const { api } = await asMember('owner');
    const at = `/conversations/${conversationId}`;
    for (const answer of [
      api('get', at),
      api('get', `${at}/messages`),
      api('post', `${at}/messages`, { content: 'Tell' }),
      api('patch', at, { title: 'Mine' }),
      api('delete', at),
    ])
      expect((await answer).status).toBe(404);
    expect((await api('get', '/conversations')).body.pagination.total).toBe(0);
  });

  it('deleted while it is answered releases no credits that are being spent', async () => {
    const { conversationId, stream } = await streamHalf('One');
    const held = await creditsLeft();
    expect((await mine.api('delete', `/conversations/${conversationId}`)).status).toBe(204);
    expect(await creditsLeft()).toEqual(held);
    stream.close();
    const after = await until(async () => (await creditsLeft()).used > held.used && creditsLeft());
    expect(after.remaining).toBe(after.granted - after.used);
  });
});

it('a member who leaves the organization loses their conversations, and used credits stay counted', async () => {
  const member = await asMember('editor');
  const { agentId } = await mine.converse(model);
  const { body } = await member.api('post', `/agents/${agentId}/conversations`, {});
  site.provider.script(answers('Yours.'));
  const asked = await member.api('post', `/conversations/${body.id}/messages`, { content: 'Whose?' });
  expect(asked.status).toBe(201);
  const before = await creditsLeft();
  const removal = `/organizations/${mine.id}/members/${member.id}?keys=transfer`;
  expect((await mine.api('delete', removal)).status).toBe(204);
  expect(await creditsLeft()).toEqual(before);
  const left = (table: string) =>
    inOrganization(site.ctx, mine.id, (tx) => tx(table).whereIn('id', [body.id, asked.body.message.id]));
  expect([await left('conversations'), await left('conversation_messages')]).toEqual([[], []]);
  expect((await mine.api('get', `/agents/${agentId}`)).body.creditsUsed).toBe(1);
});

describe('a repeated Idempotency-Key', () => {
  it('returns the stored message, streamed or not, without a second request to the model', async () => {
    const { conversationId } = await mine.converse(model);
    site.provider.script(answers('Once.'));
    const key = { 'idempotency-key': 'ask-once' };
    const first = await (await mine.stream(conversationId, 'How often?', key)).rest();
    const again = await mine.stream(conversationId, 'How often?', key);
    expect(again.response.headers.get('idempotency-replayed')).toBe('true');
    expect(await again.rest()).toEqual([first.at(-1)]);
    const asJson = await ask(conversationId, 'How often?', key);
    expect([asJson.status, asJson.body]).toEqual([201, first.at(-1)?.data]);
    expect(site.provider.asked).toHaveLength(1);
    const other = await mine.stream(conversationId, 'Something else', key);
    expect(other.response.status).toBe(422);
    expect(other.errorBody).toContain('key_reused');
    expect(await readMessages(conversationId)).toHaveLength(2);
  });

  it('returns the canceled message to a client that disconnected the first time', async () => {
    const key = { 'idempotency-key': 'left-early' };
    const { conversationId, stream: first } = await streamHalf('Hello?', key);
    first.close();
    await ended(conversationId);
    const again = await (await mine.stream(conversationId, 'Hello?', key)).rest();
    const message = { status: 'canceled', content: 'Half' };
    expect(again).toMatchObject([{ event: 'message', data: { message } }]);
    expect(site.provider.asked).toHaveLength(1);
  });
});

describe('an interrupted process', () => {
  it('that shuts down gracefully fails its messages with their text so far', async () => {
    const { stream, left } = await streamHalf('One');
    await site.ctx.work.stop('answers');
    await left;
    const message = { status: 'failed', content: 'Half', error: { code: 'interrupted' } };
    expect((await stream.rest()).at(-1)).toMatchObject({ event: 'message', data: { message } });
  });

  it('that is killed leaves a message that another process fails, and no reserved credits', async () => {
    const { conversationId } = await mine.converse(model);
    const { answer, begun } = stalled(dialect);
    site.provider.script(answer);
    const before = await creditsLeft();
    const path = `${base}/conversations/${conversationId}/messages`;
    const { settings } = site.ctx;
    const request = { address: site.database.address, settings, secret: mine.secret, path };
    const script = new URL('./asking-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, JSON.stringify(request)], { stdio: 'ignore' });
    await begun;
    expect((await creditsLeft()).remaining).toBeLessThan(before.remaining);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await readStatuses(conversationId)).toEqual(['complete', 'running']);
    const work = startAgentWork(withReads(site.ctx));
    onTestFinished(() => work.stop());
    await work.tick();
    expect((await readMessages(conversationId))[1]?.status).toBe('running');
    await inOrganization(site.ctx, mine.id, (tx) =>
      tx('running_answers')
        .where({ conversation_id: conversationId })
        .update({ lease_until: new Date(0) }),
    );
    // A poll that started earlier may have missed it.
    const message = await until(async () => {
      await work.tick();
      return (await readMessages(conversationId)).find((one) => one.status === 'failed');
    });
    expect(message).toMatchObject({ credits: 0, error: { code: 'interrupted' } });
    expect(await creditsLeft()).toEqual(before);
    const entry = (await readLedger(site.ctx, mine.id)).find(({ message_id: id }) => id === message.id);
    expect(entry).toMatchObject({ credits: 0 });
    site.provider.script(answers('Yes.'));
    expect((await ask(conversationId, 'Again?')).body.message.status).toBe('complete');
  });
});

it.each([
  ['model', { model: 'anthropic/gone' }, 'The model "anthropic/gone" is not configured'],
  ['version', { api_version: 'v3' }, 'The version v3 has been retired'],
])(
  'an agent that can no longer work because of its %s fails at the next message with the reason',
  async (_what, change, reason) => {
    const { conversationId, agentId } = await mine.converse('offline');
    await inOrganization(site.ctx, mine.id, async (tx) => {
      const { id: _id, ...row } = await tx('api_schemas').where({ version: 'v1' }).first();
      const [endpoints, bindings] = [JSON.stringify(row.endpoints), JSON.stringify(row.bindings)];
      const json = { endpoints, bindings, publication: null };
      const retired = { ...row, ...json, id: agentId, version: 'v3', status: 'retired' };
      await tx('api_schemas').insert(retired).onConflict(['organization_id', 'version']).ignore();
      await tx('agents').where({ id: agentId }).update(change);
    });
    const answer = await ask(conversationId, 'Anyone?');
    expect(await refusal(answer)).toEqual([422, 'agent_not_running']);
    expect(answer.body.error.message).toContain(reason);
    const agent = (await mine.api('get', `/agents/${agentId}`)).body;
    expect(agent).toMatchObject({ status: 'failed', statusReason: reason });
    expect(await readMessages(conversationId)).toEqual([]);
  },
);
