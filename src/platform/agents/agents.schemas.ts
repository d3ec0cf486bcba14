import { z } from 'zod';
import { Id, Instant, longText, uniqueName } from '../../http/fields.ts';
import { agentStatuses } from './agent-state.ts';

const name = uniqueName(120);
const description = longText(1_000);
const instructions = longText(8_000).describe(
  "The organization's instructions to the model. They cannot extend what the agent can read",
);
const model = z.string().min(1).max(220).describe('One of `GET /agents/models`');
const apiVersion = z
  .string()
  .regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1')
  .describe('A published or deprecated version; the agent can read only its resources');

export const NewAgent = z.strictObject({
  name,
  description: description.default(''),
  instructions: instructions.default(''),
  model: model.optional().describe('One of `GET /agents/models`; defaults to the first'),
  apiVersion,
});
export const AgentPatch = z.strictObject({
  name: name.optional(),
  description: description.nullable().optional(),
  instructions: instructions.nullable().optional(),
  model: model.optional(),
  apiVersion: apiVersion.optional(),
});

export const Agent = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    instructions: z.string(),
    model: z.string(),
    apiVersion: z.string(),
    status: z.enum(agentStatuses).describe('Only a running agent answers messages'),
    statusReason: z.string().nullable().describe('Why the agent failed; null otherwise'),
    lastStartedAt: Instant.nullable().describe('When a check last succeeded'),
    creditsUsed: z.int().describe('In the current UTC month'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Agent' });

export const AgentModel = z
  .object({
    name: z.string(),
    isDefault: z.boolean().describe('Used for agents that name none'),
    builtIn: z.boolean().describe('Works without a provider and understands a fixed set of questions'),
  })
  .meta({ id: 'AgentModel', example: { name: 'offline', isDefault: true, builtIn: true } });

export type NewAgent = z.output<typeof NewAgent>;
export type AgentPatch = z.output<typeof AgentPatch>;
export type Agent = z.input<typeof Agent>;
