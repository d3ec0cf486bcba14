import { z } from 'zod';
import { Id, Instant, shortText } from '../../http/fields.ts';

export const DomainParams = z.strictObject({ id: Id, domainId: Id });

export const DomainStatus = z.enum(['pending', 'verified', 'failed']);

export const NewDomain = z.strictObject({
  hostname: shortText(253).describe('Such as portal.acme.com; kept in lower case and punycode, without a trailing dot'),
});
export const DomainChange = z.strictObject({
  isPrimary: z.boolean().optional().describe('True only for a verified domain; the former primary domain steps back'),
});

export const Domain = z
  .object({
    id: Id,
    hostname: z.string(),
    status: DomainStatus,
    verification: z
      .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
      .describe('The DNS record that proves control of the hostname; other values beside it do no harm'),
    isPrimary: z.boolean(),
    verifiedAt: Instant.nullable(),
    lastCheckedAt: Instant.nullable(),
    lastError: z.string().nullable().describe('What the last look at the DNS found instead of the record'),
    createdAt: Instant,
  })
  .meta({ id: 'Domain' });

export type DomainView = z.input<typeof Domain>;
export type DomainChanges = z.output<typeof DomainChange>;
