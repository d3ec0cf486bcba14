// Response schemas of the caller, their sessions and their organizations.
import { z } from 'zod';
import { Id, Instant } from '../../http/fields.ts';
import { ShownScopes } from '../api-keys/api-keys.schemas.ts';

const OrganizationName = z.object({ id: Id, slug: z.string(), name: z.string() });
const RoleName = z.object({ id: z.string(), name: z.string() });

export const WhoAmI = z
  .object({
    user: z.object({
      id: Id,
      email: z.string().nullable().describe('Null for an API key that is for the public interface only'),
      name: z.string(),
    }),
    organization: OrganizationName.nullable().describe(
      'The active organization; its id is the tenant id of the public interface. Null while none is selected: see `nextStep`',
    ),
    membership: z.object({ role: RoleName }).nullable(),
    permissions: z.array(z.string()),
    credential: z.object({ kind: z.enum(['api-key', 'oauth', 'session']), id: z.string() }),
    scopes: ShownScopes.omit({ permissions: true })
      .nullable()
      .describe('What an API key reads on the public interface. Null for other credentials'),
    metrics: z
      .object({
        monthlyActiveUsers: z
          .int()
          .describe(
            'Members with a session or token request, and visitors of the portal, in the current UTC month. Who is both by one address counts once',
          ),
        monthlyActiveVisitors: z.int().describe('The visitors of the portal among them'),
        storage: z
          .object({ bytes: z.int(), records: z.int() })
          .describe("Size of the organization's warehouse"),
        agentCredits: z
          .object({ granted: z.int(), used: z.int(), remaining: z.int(), resetsAt: Instant })
          .describe('For the current UTC month. `remaining` excludes credits reserved by running answers'),
        activeApiKeys: z.int(),
      })
      .nullable()
      .describe('Null for an API key that is for the public interface only'),
    nextStep: z
      .object({
        code: z
          .string()
          .describe('`no_organization`, `organization_needed`, `not_a_member` or `organization_mismatch`'),
        message: z.string(),
      })
      .nullable()
      .describe(
        'What to do while `organization` is null: operations on an organization are refused with this code',
      ),
  })
  .meta({ id: 'WhoAmI' });

export const MySession = z
  .object({
    id: Id,
    createdAt: Instant,
    lastSeenAt: Instant.describe('When it was last used, to the minute'),
    expiresAt: Instant.describe("When it ends if it isn't used again"),
    ip: z.string().nullable().describe('IP address at sign-in'),
    userAgent: z.string().nullable(),
    current: z.boolean().describe('Whether this request uses the session'),
  })
  .meta({ id: 'Session' });

export const MyOrganization = z
  .object({
    ...OrganizationName.shape,
    role: RoleName,
    active: z.boolean().describe('Whether this request acts for it'),
  })
  .meta({ id: 'MyOrganization' });

export const OrganizationChoice = z.strictObject({ organizationId: Id });
export const ChosenOrganization = z
  .object({ organization: OrganizationName, role: RoleName })
  .meta({ id: 'ChosenOrganization' });
