import { z } from 'zod';
import { Id, Instant, shortText } from '../../http/fields.ts';

const Slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens, at most 63')
  .describe('Unique across organizations');

export const NewOrganization = z.strictObject({
  name: shortText(120),
  slug: Slug.optional().describe('Derived from the name when omitted'),
});
export const OrganizationPatch = z.strictObject({ name: shortText(120).optional(), slug: Slug.optional() });

export const Organization = z
  .object({
    id: Id.describe('Also the tenant id of the public interface'),
    slug: z.string(),
    name: z.string(),
    createdAt: Instant,
  })
  .meta({ id: 'Organization' });

export const CreatedOrganization = Organization.extend({
  active: z
    .boolean()
    .describe('Whether requests of the caller that name no organization act for it from now on'),
  nextStep: z
    .string()
    .nullable()
    .describe('How to act for it when `active` is false, and what its first sync waits for'),
}).meta({ id: 'CreatedOrganization' });

export type NewOrganization = z.output<typeof NewOrganization>;
export type OrganizationPatch = z.output<typeof OrganizationPatch>;
export type Organization = z.input<typeof Organization>;
