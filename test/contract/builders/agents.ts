// Agents on a version without resources, in the state in which a check leaves them, and the owner's
// conversations with them.
import fc from 'fast-check';
import { createId } from '../../../src/core/id.ts';
import { asBuilt, type BuilderGroup, byId, type Fixture, insertRow } from '../builder.ts';

const agent = (fixture: Fixture, status = 'running'): Promise<string> =>
  insertRow(fixture, 'agents', { name: `Agent ${createId()}`, model: 'offline', api_version: 'v1', status });
async function conversation(fixture: Fixture): Promise<{ id: string; agentId: string }> {
  const agentId = await agent(fixture);
  const row = { agent_id: agentId, owner_id: fixture.owner.id };
  return { id: await insertRow(fixture, 'conversations', row), agentId };
}
const ofAgent = byId(agent);
const ofStopped = byId((fixture) => agent(fixture, 'stopped'));
const ofConversation = byId(async (fixture) => (await conversation(fixture)).id);

const fields = {
  'body.name': fc.uuid().map((id) => `Agent ${id}`),
  'body.model': fc.constant('offline'),
  'body.apiVersion': asBuilt,
} as const;

export const agentBuilders: BuilderGroup = {
  setUp: async (fixture) => {
    const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: '2026-03-02T10:00:00Z' };
    await insertRow(fixture, 'api_schemas', { ...live, version: 'v1', created_by: fixture.owner.id });
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
