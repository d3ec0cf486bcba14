// Request and response schemas of API keys. The secret is returned only once, when it is created or rotated.
import { z } from 'zod';
import { bodyInstant, Day, Id, Instant, shortText } from '../../http/fields.ts';

const scopeList = (item: z.ZodType<string>, max = 100) =>
  z
    .array(item)
    .max(max)
    .refine((list) => new Set(list).size === list.length, 'must not repeat an entry');
const resourceName = 'must be a resource name';
const resourcePattern = '[a-z][a-z0-9-]{0,62}';
export const ScopeValue = z.union(
  [z.string().max(200), z.number(), z.boolean()],
  'must be a string, a number or a boolean',
);
export const ScopeCondition = z
  .strictObject({
    field: z.string().min(1).max(100),
    in: z.array(ScopeValue).min(1).max(100).optional(),
    eq: ScopeValue.optional().describe('One value, shown as `in`'),
  })
  .refine(
    (condition) => (condition.in === undefined) !== (condition.eq === undefined),
    'needs either "in" or "eq"',
  );
const rows = z
  .record(
    z.string().regex(new RegExp(`^(\\*|${resourcePattern})$`), `${resourceName}, or *`),
    z.array(ScopeCondition).max(20),
  )
  .refine((given) => (given['*'] ?? []).length === 0, {
    path: ['*'],
    error: 'must be an empty list: all other resources are read whole',
  })
  .nullable()
  .describe(
    'The readable records by resource: those for which all conditions hold; an empty list means all. Resources that are not named are not ' +
      'readable, except with `"*": []`. Null: all records',
  );
const fields = z
  .record(
    z.string().regex(new RegExp(`^${resourcePattern}$`), resourceName),
    scopeList(z.string().min(1).max(100), 500).min(1),
  )
  .nullable()
  .describe(
    'The readable fields by resource, in addition to the id; other resources are read with all fields. Null: all fields',
  );
const unmasked = z.boolean().describe('Whether masked fields are read as they are');

/** What a key or a token may read; see record-access.ts. */
export const readScopeFields = {
  versions: scopeList(z.string().regex(/^v[1-9]\d{0,5}$/, 'must be a version label such as v1')).default([]),
  resources: scopeList(z.string().regex(new RegExp(`^${resourcePattern}$`), resourceName)).default([]),
  rows: rows.default(null),
  fields: fields.default(null),
  unmasked: unmasked.default(false),
};
const permissionError = 'must be read or write, or the only entry and none';
const permissions = z
  .union(
    [
      scopeList(z.enum(['read', 'write'], permissionError)),
      z.array(z.literal('none', permissionError)).length(1),
    ],
    permissionError,
  )
  .default([])
  .describe('What the key may do on the management interface. `none`: it reads the public interface only');
const scopesText =
  'The lists are independent: empty versions or resources mean all, empty permissions mean read; write includes read';
const Scopes = z.strictObject({ ...readScopeFields, permissions }).describe(scopesText);
const ScopesPatch = z
  .strictObject({
    ...readScopeFields,
    permissions,
    rows: rows.optional(),
    fields: fields.optional(),
    unmasked: unmasked.optional(),
  })
  .describe(`${scopesText}. Absent \`rows\`, \`fields\` and \`unmasked\` stay as they are`);

export const NewApiKey = z.strictObject({
  name: shortText(120),
  scopes: Scopes.prefault({}),
  expiresAt: bodyInstant.optional(),
});
export const ApiKeyPatch = z
  .strictObject({ name: shortText(120), scopes: ScopesPatch, expiresAt: bodyInstant })
  .partial();
export const maxGracePeriodSeconds = 2_592_000;
export const ApiKeyRotation = z.strictObject({
  gracePeriodSeconds: z
    .int()
    .min(0)
    .max(maxGracePeriodSeconds, 'must be at most 2592000 (30 days)')
    .default(0),
});

export const ShownScopes = z.object({
  versions: z.array(z.string()),
  resources: z.array(z.string()),
  permissions: z.array(z.string()),
  rows: z
    .record(z.string(), z.array(z.object({ field: z.string(), in: z.array(z.string()) })))
    .nullable()
    .describe('The readable records by resource. Null: all'),
  fields: z
    .record(z.string(), z.array(z.string()))
    .nullable()
    .describe('The readable fields by resource. Null: all'),
  unmasked,
});

export const ApiKey = z
  .object({
    id: Id,
    name: z.string(),
    prefix: z.string().describe('The first 12 characters of the secret, to identify the key'),
    scopes: ShownScopes,
    status: z.enum(['active', 'expired', 'revoked']).describe('`expired` also when the secret has ended'),
    expiresAt: Instant.nullable(),
    secretEndsAt: Instant.nullable().describe(
      'When the secret ends because the key was transferred from a former member, who may know it. Rotate the key, or keep the secret, before. ' +
        'Null when the secret has no end',
    ),
    transferredFrom: z
      .string()
      .nullable()
      .describe(
        'E-mail address of that former member; null when the key was not transferred, or rotated since',
      ),
    graceEndsAt: Instant.nullable().describe(
      'Until when the secret before the last rotation works too; null outside of a grace period',
    ),
    lastUsedAt: Instant.nullable(),
    requestsLast7Days: z
      .int()
      .describe('Requests to the public interface in the last 7 days (UTC), today included'),
    createdBy: z.object({ id: Id, email: z.string(), name: z.string() }),
    createdAt: Instant,
    revokedAt: Instant.nullable(),
  })
  .meta({ id: 'ApiKey' });

export const ApiKeyWithSecret = ApiKey.extend({
  secret: z
    .string()
    .nullable()
    .describe('Returned only once; null when the response is replayed for an idempotency key'),
}).meta({ id: 'ApiKeyWithSecret' });

const count = z.int().describe('Number of requests');
/** Fields not grouped by are null; so are version and resource of requests that named no existing one. */
export const ApiKeyUsage = z
  .object({
    day: Day.nullable().describe('UTC'),
    version: z.string().nullable().describe('Null when the request named no version that was ever published'),
    resource: z
      .string()
      .nullable()
      .describe('Null for the OpenAPI description of the version and for unknown resources'),
    subject: z
      .string()
      .nullable()
      .describe('Null for requests without a subject, and when it is not grouped by'),
    requests: count,
    succeeded: count.describe('Answered 2xx'),
    notModified: count.describe('Answered 304'),
    refused: count.describe('Answered 4xx'),
    failed: count.describe('Answered 5xx, or disconnected before the end'),
  })
  .meta({ id: 'ApiKeyUsage' });
const usageGroups = ['day', 'version', 'resource', 'subject'] as const;
export type UsageGroup = (typeof usageGroups)[number];
const defaultGroups: readonly UsageGroup[] = ['day', 'version', 'resource'];
const oneGroup = `(${usageGroups.join('|')})`;
const groupsPattern = `^${oneGroup}(,${oneGroup}){0,3}$`;
export const usageGrouping = z
  .string()
  .regex(
    new RegExp(groupsPattern),
    'must be day, version, resource, subject, or several of them separated by commas',
  )
  .transform((text) => usageGroups.filter((group) => text.split(',').includes(group)))
  .optional()
  .transform((groups): readonly UsageGroup[] => groups ?? defaultGroups)
  .meta({
    openapi: {
      type: 'string',
      pattern: groupsPattern,
      default: defaultGroups.join(','),
      description: 'What the requests are grouped by, separated by commas',
    },
  });

export type ReadScopes = z.output<z.ZodObject<typeof readScopeFields>>;
export type ShownScopes = z.input<typeof ShownScopes>;
export type NewApiKey = z.output<typeof NewApiKey>;
export type ApiKeyPatch = z.output<typeof ApiKeyPatch>;
export type ApiKey = z.input<typeof ApiKey>;
