// The identity record.
import { z } from 'zod';
import { Id, Instant } from '../../http/fields.ts';

export const WhoAmI = z
  .object({
    user: z.object({ id: Id, email: z.string(), name: z.string() }),
    organization: z
      .object({ id: Id, slug: z.string(), name: z.string() })
      .describe('The active organization; its id is the tenant id of the public interface'),
    membership: z.object({ role: z.object({ id: z.string(), name: z.string() }) }),
    permissions: z.array(z.string()),
    credential: z.object({ kind: z.enum(['api-key', 'oauth', 'session']), id: z.string() }),
    metrics: z.object({
      monthlyActiveUsers: z.int().describe('Distinct people with a session or token request in the current UTC month'),
      storage: z.object({ bytes: z.int(), records: z.int() }).describe("Size of the organization's warehouse"),
      agentCredits: z.object({ granted: z.int(), used: z.int(), remaining: z.int(), resetsAt: Instant }),
      activeApiKeys: z.int(),
    }),
  })
  .meta({ id: 'WhoAmI' });
