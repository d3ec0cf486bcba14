import { z } from 'zod';
import { Id, Instant, shortText } from '../../http/fields.ts';

export const DomainParams = z.strictObject({ id: Id, domainId: Id });

export const DomainStatus = z.enum(['pending', 'verified', 'failed']);
export type DomainStatus = z.output<typeof DomainStatus>;

export const NewDomain = z.strictObject({
  hostname: shortText(253).describe(
    'For example portal.acme.com; stored in lower case and punycode, without a trailing dot',
  ),
});
export const DomainPatch = z.strictObject({
  isPrimary: z
    .boolean()
    .optional()
    .describe('True only for a verified domain; replaces the current primary domain'),
});

export const Domain = z
  .object({
    id: Id,
    hostname: z.string(),
    status: DomainStatus,
    verification: z
      .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
      .describe(
        'The DNS record that proves control of the hostname. It must stay in the DNS; other TXT records with the same name are allowed',
      ),
    isPrimary: z.boolean(),
    verifiedAt: Instant.nullable(),
    lastCheckedAt: Instant.nullable(),
    lastError: z.string().nullable().describe('What the last DNS lookup found instead of the record'),
    missingSince: Instant.nullable().describe(
      'When a lookup first found the record of a verified domain missing; null while the record exists. After seven days the domain fails',
    ),
    createdAt: Instant,
  })
  .meta({ id: 'Domain' });

export type Domain = z.input<typeof Domain>;
export type DomainPatch = z.output<typeof DomainPatch>;
