import { z } from 'zod';
import { Id, Instant } from '../../http/fields.ts';

export const MemberParams = z.strictObject({ id: Id, userId: Id });
export const MemberChange = z.strictObject({ roleId: Id.optional() });

/** What becomes of the keys of someone who leaves. */
export const leavingFields = {
  keys: z
    .enum(['revoke', 'transfer'])
    .optional()
    .describe('What becomes of their living keys; needed when they have some. A key that is transferred never does more than it did'),
  transferTo: Id.optional().describe('The member who takes the keys over; the caller unless given'),
};
export const Leaving = z.strictObject(leavingFields);

export const Member = z
  .object({
    user: z.object({ id: Id, email: z.string(), name: z.string() }),
    role: z.object({ id: Id, name: z.string() }),
    joinedAt: Instant,
    lastActiveAt: Instant.nullable().describe('Last use of a token or session, to the minute; keys do not count'),
  })
  .meta({ id: 'Member' });

export const MemberWithKeys = Member.extend({
  apiKeys: z.array(z.object({ id: Id, name: z.string(), prefix: z.string() })).describe('The living keys that act for this person'),
}).meta({ id: 'MemberWithKeys' });

export type LeavingInput = z.output<typeof Leaving>;
export type MemberView = z.input<typeof Member>;
