import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, NamedPageQuery, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { agentStatuses } from './agent-state.ts';
import { Agent, AgentModel, AgentPatch, NewAgent } from './agents.schemas.ts';
import * as service from './agents.service.ts';

const checked =
  'A background check sends the model a test request and reads a record of each resource of the version. Then the agent is `running`, ' +
  'or `failed` with a `statusReason`.';

export const agentRoutes = inGroup('Agents', [
  defineRoute('listAgents', 'GET /agents', {
    permission: 'agent:read',
    summary: 'List agents',
    description: 'Newest first. `q` searches in names.',
    query: z.strictObject({
      ...pageFields,
      q: z.string().min(1).max(120).optional(),
      status: z.enum(agentStatuses).optional(),
    }),
    response: createPageSchema(Agent),
    handler: (ctx, { query: { q, status, ...page } }) => service.listAgents(ctx, page, { q, status }),
  }),
  defineRoute('createAgent', 'POST /agents', {
    permission: 'agent:create',
    summary: 'Create an agent',
    description: `An agent answers questions about the records of one version and cannot read anything else. ${checked}`,
    body: NewAgent,
    example: { name: 'Sales desk', instructions: 'Answer in short sentences.', apiVersion: 'v1' },
    response: Agent,
    status: 201,
    handler: (ctx, { body }) => service.createAgent(ctx, body),
  }),
  defineRoute('listAgentModels', 'GET /agents/models', {
    permission: 'agent:read',
    summary: 'List models',
    description:
      'The models that agents may use, the default first. The operator configures them; `offline` is built in and always available.',
    query: NamedPageQuery,
    response: createPageSchema(AgentModel),
    handler: async (ctx, { query }) => service.listAgentModels(ctx, query),
  }),
  defineRoute('getAgent', 'GET /agents/{id}', {
    permission: 'agent:read',
    summary: 'Retrieve an agent',
    description: 'Includes its status and the credits that it used this month.',
    params: IdParams,
    response: Agent,
    handler: (ctx, { params }) => service.getAgent(ctx, params.id),
  }),
  defineRoute('updateAgent', 'PATCH /agents/{id}', {
    permission: 'agent:update',
    summary: 'Update an agent',
    description: `Omitted fields stay; null clears description and instructions. Another model or version restarts the agent. ${checked}`,
    params: IdParams,
    body: AgentPatch,
    example: { instructions: 'Answer in short sentences, and name the invoice numbers.' },
    response: Agent,
    handler: (ctx, { params, body }) => service.updateAgent(ctx, params.id, body),
  }),
  defineRoute('deleteAgent', 'DELETE /agents/{id}', {
    permission: 'agent:delete',
    summary: 'Delete an agent with all its conversations',
    description: 'Credits already used still count.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteAgent(ctx, params.id),
  }),
  defineRoute('restartAgent', 'POST /agents/{id}/restart', {
    permission: 'agent:restart',
    summary: 'Restart an agent',
    description: `An agent cannot be restarted while a check is running. Conversations stay; an answer in progress is finished. ${checked}`,
    params: IdParams,
    response: Agent,
    status: 202,
    additionalErrors: [422],
    handler: (ctx, { params }) => service.transitionAgent(ctx, params.id, 'restart'),
  }),
  defineRoute('startAgent', 'POST /agents/{id}/start', {
    permission: 'agent:restart',
    summary: 'Start a stopped or failed agent',
    description: checked,
    params: IdParams,
    response: Agent,
    status: 202,
    additionalErrors: [422],
    handler: (ctx, { params }) => service.transitionAgent(ctx, params.id, 'start'),
  }),
  defineRoute('stopAgent', 'POST /agents/{id}/stop', {
    permission: 'agent:restart',
    summary: 'Stop an agent',
    description: 'It accepts no messages until it is started again. An answer in progress is finished.',
    params: IdParams,
    response: Agent,
    additionalErrors: [422],
    handler: (ctx, { params }) => service.transitionAgent(ctx, params.id, 'stop'),
  }),
]);
