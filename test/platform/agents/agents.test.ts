// Lifecycle of an agent: created, checked against the model, restarted, stopped, failed with a readable
// reason.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import { takeJob } from '../../../src/db/jobs.ts';
import {
  type AgentEvent,
  type AgentStatus,
  agentStatuses,
  nextState,
} from '../../../src/platform/agents/agent-state.ts';
import { startAgentWork } from '../../../src/platform/conversations/agent-work.ts';
import { anthropicDialect, openAiDialect, status, whole } from '../../gateways/model/provider-server.ts';
import { publishVersion, withReads } from '../../public/fixture.ts';
import { refusal } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Company, inOrganization, openAgentSite, toModel } from '../conversations/fixture.ts';

const site = useStarted(() => openAgentSite());
let mine: Company;
beforeAll(async () => {
  mine = await site.company();
});

const post = (body: object = {}, { api } = mine) =>
  api('post', '/agents', { name: `Agent ${createId()}`, model: 'offline', apiVersion: 'v1', ...body });
const make = async (body: object = {}) => {
  const answer = await post(body);
  await site.checked();
  return answer;
};
const good = whole(anthropicDialect, [{ text: 'ok' }]);
const read = async (id: string) => (await mine.api('get', `/agents/${id}`)).body;
const steer = async (id: string, verb: string) => {
  const answer = await mine.api('post', `/agents/${id}/${verb}`);
  await site.checked();
  return answer;
};

describe('nextState', () => {
  const events: AgentEvent[] = ['start', 'restart', 'stop', 'change', 'ready', 'fail'];
  it('matches this transition table', () => {
    const table = agentStatuses.map((from) =>
      [from, ...events.map((event) => nextState(from, event) ?? '-')].join(' '),
    );
    expect(table).toEqual([
      'provisioning - - stopped provisioning running failed',
      'running - restarting stopped restarting - failed',
      'stopped provisioning restarting - stopped - -',
      'restarting - - stopped restarting running failed',
      'failed provisioning restarting stopped restarting - -',
    ]);
  });
});

describe('an agent', () => {
  it('is checked in the background, runs, restarts, stops and starts, and keeps its conversations', async () => {
    const made = await make();
    expect([made.status, made.body.status, made.body.lastStartedAt]).toEqual([201, 'provisioning', null]);
    const { id } = made.body;
    const lastStartedAt = expect.any(String);
    const running = { status: 'running', statusReason: null, lastStartedAt, creditsUsed: 0 };
    expect(await read(id)).toMatchObject(running);
    const { body: conversation } = await mine.api('post', `/agents/${id}/conversations`, {});
    const messages = `/conversations/${conversation.id}/messages`;
    const ask = (content: string) => mine.api('post', messages, { content });
    await ask('How many invoices are there?');
    expect(await steer(id, 'restart')).toMatchObject({ status: 202, body: { status: 'restarting' } });
    expect((await read(id)).status).toBe('running');
    expect((await mine.api('get', messages)).body.pagination.total).toBe(2);
    expect((await steer(id, 'stop')).body.status).toBe('stopped');
    const stopped = await ask('Anyone?');
    expect([stopped.status, stopped.body.error.message]).toEqual([422, 'The agent is stopped']);
    expect(await refusal(steer(id, 'stop'))).toEqual([422, 'illegal_transition']);
    expect((await steer(id, 'start')).body.status).toBe('provisioning');
    expect((await ask('How many invoices?')).status).toBe(201);
  });

  it('422 for an unknown model or version, and for a duplicate name', async () => {
    const unknown = make({ model: 'anthropic/other', apiVersion: 'v9' });
    expect(await refusal(unknown)).toEqual([422, 'unknown_model', 'version_not_served']);
    await publishVersion(site.ctx, mine.id, { version: 'v5', status: 'retired' });
    expect(await refusal(make({ apiVersion: 'v5' }))).toEqual([422, 'version_not_served']);
    const { body: first } = await make();
    expect(await refusal(make({ name: first.name.toUpperCase() }))).toEqual([422, 'duplicate']);
    const { data } = (await mine.api('get', '/agents/models')).body;
    expect(data).toEqual([
      { name: 'anthropic/some-model', isDefault: true, builtIn: false },
      { name: 'openai-compatible/some-model', isDefault: false, builtIn: false },
      { name: 'offline', isDefault: false, builtIn: true },
    ]);
  });

  it.each([anthropicDialect, openAiDialect])(
    'sends a real request to the model of $provider and reports why it failed',
    async (dialect) => {
      site.provider.script(whole(dialect, [{ text: 'ok' }]), status(401), whole(dialect, [{ text: 'ok' }]));
      const { id } = (await make({ model: toModel(dialect) })).body;
      expect((await read(id)).status).toBe('running');
      expect(site.provider.asked).toHaveLength(1);
      await steer(id, 'restart');
      const statusReason = `The model "${toModel(dialect)}" does not respond. The model's provider refused this service's credentials`;
      expect(await read(id)).toMatchObject({ status: 'failed', statusReason });
      const renamed = await mine.api('patch', `/agents/${id}`, { name: `Agent ${createId()}` });
      expect(renamed.body.status).toBe('failed');
      const changed = await mine.api('patch', `/agents/${id}`, { apiVersion: 'v2' });
      expect(changed.body.status).toBe('restarting');
      await site.checked();
      expect(await read(id)).toMatchObject({ status: 'running', apiVersion: 'v2' });
    },
  );

  it('has the state that was requested last: an older check does not change it', async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    site.provider.script(
      async (...given) => {
        await first.promise;
        await good(...given);
      },
      async (...given) => {
        await second.promise;
        await status(401)(...given);
      },
    );
    const { id } = (await post({ model: toModel(anthropicDialect) })).body;
    const asked = (times: number) => until(async () => site.provider.asked.length === times);
    await asked(1);
    expect((await mine.api('post', `/agents/${id}/stop`)).body.status).toBe('stopped');
    expect((await mine.api('post', `/agents/${id}/start`)).body.status).toBe('provisioning');
    await asked(2);
    first.resolve();
    // The complete check of another agent takes longer than the rest of that check.
    const other = (await post()).body;
    await until(async () => (await read(other.id)).status === 'running');
    expect((await read(id)).status).toBe('provisioning');
    second.resolve();
    await site.checked();
    expect(await read(id)).toMatchObject({ status: 'failed', lastStartedAt: null });
  });

  it('fails when a resource of its version cannot be read', async () => {
    const other = await site.company();
    await site.ctx.db.data.query(
      `update wh_${other.id.replaceAll('-', '')}.record_state set active_table = null, generation = 0 where record_type = 'invoice'`,
    );
    const { body } = await post({ name: 'Blind' }, other);
    await site.checked();
    const statusReason = expect.stringContaining('The resource "invoices" of v1 cannot be read: ');
    const blind = (await other.api('get', `/agents/${body.id}`)).body;
    expect(blind).toMatchObject({ status: 'failed', statusReason });
  });

  it('is checked by exactly one other process when the process of its check died', async () => {
    const id = createId();
    const restarting: AgentStatus = 'restarting';
    site.provider.script(good);
    await inOrganization(site.ctx, mine.id, async (tx) => {
      await tx('agents').insert({
        ...{ id, organization_id: mine.id, name: `Left ${id}`, model: toModel(anthropicDialect) },
        ...{ api_version: 'v1', status: restarting },
      });
      await takeJob(tx, { kind: 'agent_checks', organizationId: mine.id, key: id }, -1_000);
    });
    const [one, two] = [startAgentWork(withReads(site.ctx)), startAgentWork(withReads(site.ctx))];
    await Promise.all([site.checked(), one.tick(), two.tick()]);
    expect((await read(id)).status).toBe('running');
    expect(site.provider.asked).toHaveLength(1);
    await Promise.all([one.stop(), two.stop()]);
  });
});
