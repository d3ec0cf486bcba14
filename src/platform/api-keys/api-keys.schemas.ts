// Request and response schemas of API keys. The secret is returned only once, when it is created or rotated.
import { z } from 'zod';
import { bodyInstant, Day, Id, Instant, shortText } from '../../http/fields.ts';

const scopeList = (item: z.ZodType<string>) =>
  z
    .array(item)
    .max(100)
    .refine((list) => new Set(list).size === list.length, 'must not repeat an entry');
const Scopes = z
  .strictObject({
    versions: scopeList(z.string().regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1')).default([]),
    resources: scopeList(z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be a resource name')).default([]),
    permissions: scopeList(z.enum(['read', 'write'])).default([]),
  })
  .describe('The lists are independent: empty versions or resources mean all, empty permissions mean read; write includes read');

export const NewApiKey = z.strictObject({ name: shortText(120), scopes: Scopes.prefault({}), expiresAt: bodyInstant.optional() });
export const ApiKeyPatch = z.strictObject({
  name: shortText(120).optional(),
  scopes: Scopes.optional(),
  expiresAt: bodyInstant.optional(),
});
export const maxGracePeriodSeconds = 2_592_000;
export const ApiKeyRotation = z.strictObject({
  gracePeriodSeconds: z.int().min(0).max(maxGracePeriodSeconds, 'must be at most 2592000 (30 days)').default(0),
});

export const ApiKey = z
  .object({
    id: Id,
    name: z.string(),
    prefix: z.string().describe('The first 12 characters of the secret, to identify the key'),
    scopes: z.object({ versions: z.array(z.string()), resources: z.array(z.string()), permissions: z.array(z.string()) }),
    status: z.enum(['active', 'expired', 'revoked']).describe('`expired` also when the secret has ended'),
    expiresAt: Instant.nullable(),
    secretEndsAt: Instant.nullable().describe(
      'When the secret ends because the key was transferred from a former member, who may know it. Rotate the key, or keep the secret, before. ' +
        'Null when the secret has no end',
    ),
    transferredFrom: z
      .string()
      .nullable()
      .describe('E-mail address of that former member; null when the key was not transferred, or rotated since'),
    lastUsedAt: Instant.nullable(),
    createdBy: z.object({ id: Id, email: z.string(), name: z.string() }),
    createdAt: Instant,
    revokedAt: Instant.nullable(),
  })
  .meta({ id: 'ApiKey' });

export const ApiKeyWithSecret = ApiKey.extend({
  secret: z.string().nullable().describe('Returned only once; null when the response is replayed for an idempotency key'),
}).meta({ id: 'ApiKeyWithSecret' });

const count = z.int().describe('Number of requests');
/** Fields that the usage is not grouped by are null, and so are version and resource of requests that named no existing one. */
export const ApiKeyUsage = z
  .object({
    day: Day.nullable().describe('UTC'),
    version: z.string().nullable().describe('Null when the request named no version that was ever published'),
    resource: z.string().nullable().describe('Null for the OpenAPI description of the version and for unknown resources'),
    requests: count,
    succeeded: count.describe('Answered 2xx'),
    notModified: count.describe('Answered 304'),
    refused: count.describe('Answered 4xx'),
    failed: count.describe('Answered 5xx, or disconnected before the end'),
  })
  .meta({ id: 'ApiKeyUsage' });
const usageGroups = ['day', 'version', 'resource'] as const;
export type UsageGroup = (typeof usageGroups)[number];
const oneGroup = `(${usageGroups.join('|')})`;
const groupsPattern = `^${oneGroup}(,${oneGroup}){0,2}$`;
export const usageGrouping = z
  .string()
  .regex(new RegExp(groupsPattern), 'must be day, version, resource, or several of them separated by commas')
  .transform((text) => usageGroups.filter((group) => text.split(',').includes(group)))
  .optional()
  .transform((groups): readonly UsageGroup[] => groups ?? usageGroups)
  .meta({
    openapi: {
      type: 'string',
      pattern: groupsPattern,
      default: usageGroups.join(','),
      description: 'What the requests are grouped by, separated by commas',
    },
  });

export type NewApiKey = z.output<typeof NewApiKey>;
export type ApiKeyPatch = z.output<typeof ApiKeyPatch>;
export type ApiKey = z.input<typeof ApiKey>;
