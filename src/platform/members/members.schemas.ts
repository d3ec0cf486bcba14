import { z } from 'zod';
import { Id, Instant, optionalQueryInteger } from '../../http/fields.ts';
import { maxGracePeriodSeconds } from '../api-keys/api-keys.schemas.ts';
import { isOneRole, roleFields, twoRoles } from '../roles/roles.schemas.ts';

export const MemberParams = z.strictObject({ id: Id, userId: Id });
export const MemberPatch = z.strictObject(roleFields).refine(isOneRole, twoRoles);

/** Seven days. */
export const defaultGracePeriodSeconds = 604_800;
const gracePeriod = (max: number) =>
  optionalQueryInteger(
    { min: 0, max, default: defaultGracePeriodSeconds },
    'The secrets of transferred keys end after this time, unless the keys are rotated or their secrets kept',
  );

/** What happens to the keys of a member who leaves. */
const leavingFields = {
  keys: z
    .enum(['revoke', 'transfer'])
    .optional()
    .describe(
      'What happens to the active keys of the member; required when there are any. A transferred key never gains permissions',
    ),
  transferTo: Id.optional().describe('The member who takes the keys over; defaults to the caller'),
};
export const RemovalOptions = z.strictObject({
  ...leavingFields,
  gracePeriodSeconds: gracePeriod(maxGracePeriodSeconds),
});
/** Members who leave by themselves can't extend the time for which they know working secrets. */
export const LeavingOptions = z.strictObject({
  ...leavingFields,
  gracePeriodSeconds: gracePeriod(defaultGracePeriodSeconds),
});

export const Member = z
  .object({
    user: z.object({ id: Id, email: z.string(), name: z.string() }),
    roleId: Id,
    role: z.object({ id: Id, name: z.string() }),
    joinedAt: Instant,
    lastActiveAt: Instant.nullable().describe(
      'Last use of a token or session, to the minute; API keys do not count',
    ),
  })
  .meta({ id: 'Member' });

export const MemberWithKeys = Member.extend({
  apiKeys: z
    .array(z.object({ id: Id, name: z.string(), prefix: z.string() }))
    .describe('The active keys that act for this person'),
}).meta({ id: 'MemberWithKeys' });

export type LeavingOptions = z.output<typeof RemovalOptions>;
export type Member = z.input<typeof Member>;
