// Agents on a version without resources, in the state in which a check leaves them, and the owner's
// conversations with them.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { asBuilt, type BuilderGroup, type Fixture } from '../builder.ts';

async function agent({ organization, sql }: Fixture, status = 'running'): Promise<string> {
  const id = createId();
  const row = {
    id,
    organization_id: organization.id,
    name: `Agent ${id}`,
    model: 'offline',
    api_version: 'v1',
    status,
  };
  await sql((tx) => tx('agents').insert(row));
  return id;
}
async function conversation(fixture: Fixture): Promise<{ id: string; agentId: string }> {
  const [id, agentId] = [createId(), await agent(fixture)];
  const row = { id, organization_id: fixture.organization.id, agent_id: agentId, owner_id: fixture.owner.id };
  await fixture.sql((tx) => tx('conversations').insert(row));
  return { id, agentId };
}
const ofAgent = async (fixture: Fixture) => ({ params: { id: await agent(fixture) } });
const ofStopped = async (fixture: Fixture) => ({ params: { id: await agent(fixture, 'stopped') } });
const ofConversation = async (fixture: Fixture) => ({ params: { id: (await conversation(fixture)).id } });

const fields = {
  'body.name': fc.uuid().map((id) => `Agent ${id}`),
  'body.model': fc.constant('offline'),
  'body.apiVersion': asBuilt,
} as const;

export const agentBuilders: BuilderGroup = {
  setUp: async ({ organization, owner, sql }) => {
    const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: '2026-03-02T10:00:00Z' };
    const row = {
      id: createId(),
      organization_id: organization.id,
      version: 'v1',
      created_by: owner.id,
      ...live,
    };
    await sql((tx) => tx('api_schemas').insert(row));
  },
  builders: {
    listAgents: { build: () => ({ query: { status: 'running' } }) },
    createAgent: {
      build: ({ next }) => ({ body: { name: `Agent ${next()}`, model: 'offline', apiVersion: 'v1' } }),
      fields,
      repeatable: true,
    },
    listAgentModels: { build: () => ({}) },
    getAgent: { build: ofAgent },
    updateAgent: {
      build: async (fixture) => ({ ...(await ofAgent(fixture)), body: { apiVersion: 'v1' } }),
      fields,
    },
    deleteAgent: { build: ofAgent },
    restartAgent: { build: ofAgent },
    startAgent: { build: ofStopped },
    stopAgent: { build: ofAgent },
    listAgentConversations: { build: ofAgent },
    createConversation: {
      build: async (fixture) => ({ ...(await ofAgent(fixture)), body: { title: 'Open invoices' } }),
      repeatable: true,
    },
    listConversations: {
      build: async (fixture) => ({ query: { agentId: (await conversation(fixture)).agentId } }),
    },
    getConversation: { build: ofConversation },
    updateConversation: {
      build: async (fixture) => ({ ...(await ofConversation(fixture)), body: { title: 'Other words' } }),
    },
    deleteConversation: { build: ofConversation },
    listMessages: { build: ofConversation },
    createMessage: {
      build: async (fixture) => ({
        ...(await ofConversation(fixture)),
        body: { content: 'What can you do?' },
      }),
      fields: { 'body.content': fc.stringMatching(/^[A-Za-z ?]{0,40}[a-z]$/) },
      inputs: 10,
    },
  },
};
