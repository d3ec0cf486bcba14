// Links to views as callers see them. The address is shown once.
import { z } from 'zod';
import { bodyInstant, Id, Instant, shortText } from '../../http/fields.ts';
import { ScopeValue } from '../api-keys/api-keys.schemas.ts';

const name = shortText(120);

export const NewViewLink = z.strictObject({
  name: name.nullable().default(null).describe('What it is for; the name of the view unless given'),
  expiresAt: bodyInstant
    .default(null)
    .describe('At most 366 days from now; 90 days from now unless given. The link then stops working'),
  rows: z
    .array(
      z.strictObject({
        field: z
          .string()
          .min(1)
          .max(200)
          .describe(
            '`id`, or a field of the record type that a published or deprecated version declares `scopable`',
          ),
        in: z.array(ScopeValue).min(1).max(100),
      }),
    )
    .max(20)
    .default([])
    .describe(
      'The records that the link reads, of those that the view selects: all conditions must hold, and a missing value never matches. Values are those of row scopes of API keys',
    ),
  raw: z
    .boolean()
    .default(false)
    .describe(
      'Adds `raw=true` to the address: texts that a spreadsheet would read as a formula stay as they are',
    ),
});
export type NewViewLink = z.output<typeof NewViewLink>;

const fields = {
  id: Id,
  viewId: Id,
  name: z.string(),
  rows: z.array(z.object({ field: z.string(), in: z.array(z.string()) })),
  creator: z.object({ id: Id, email: z.string(), name: z.string() }),
  keyId: Id.nullable().describe(
    'The API key that created it; the link ends with the secret that was used. Null for a person',
  ),
  createdAt: Instant,
  expiresAt: Instant,
  lastUsedAt: Instant.nullable(),
  uses: z.int().describe('Number of reads that began. Those of the last ten seconds may be missing'),
};
export const ViewLink = z.object(fields).meta({ id: 'ViewLink' });
export type ViewLink = z.input<typeof ViewLink>;
export const ViewLinkWithUrl = z
  .object({
    ...fields,
    url: z
      .string()
      .nullable()
      .describe('The address, by which anyone reads the records; null when the response is replayed'),
  })
  .meta({ id: 'ViewLinkWithUrl' });
