import { z } from 'zod';
import { Id, Instant, longText, shortText } from '../../http/fields.ts';
import { agentStatuses } from './agent-state.ts';

const name = shortText(120);
const description = longText(1_000);
const instructions = longText(8_000).describe("The organization's own words to the model. They never widen what the agent may read");
const model = z.string().min(1).max(220).describe('One of `GET /agents/models`');
const apiVersion = z
  .string()
  .regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1')
  .describe('A published or deprecated version: its resources are all that the agent can read');

export const NewAgent = z.strictObject({
  name,
  description: description.default(''),
  instructions: instructions.default(''),
  model: model.optional().describe('One of `GET /agents/models`; the default one unless given'),
  apiVersion,
});
export const AgentChange = z.strictObject({
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
    status: z.enum(agentStatuses).describe('Only a running agent answers'),
    statusReason: z.string().nullable().describe('Why it failed, in words; null otherwise'),
    lastStartedAt: Instant.nullable().describe('When a check last found that model and version work'),
    creditsUsed: z.int().describe('In the current UTC month'),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'Agent' });

export const AgentModel = z
  .object({
    name: z.string(),
    isDefault: z.boolean().describe('Taken for agents that name none'),
    builtIn: z.boolean().describe('Works without a provider, and understands a fixed set of question forms'),
  })
  .meta({ id: 'AgentModel', example: { name: 'offline', isDefault: true, builtIn: true } });

export type AgentInput = z.output<typeof NewAgent>;
export type AgentChanges = z.output<typeof AgentChange>;
export type AgentShown = z.input<typeof Agent>;
