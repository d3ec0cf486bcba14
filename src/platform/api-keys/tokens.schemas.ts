// Request and response schemas of the tokens that API keys mint.
import { z } from 'zod';
import { Instant, shortText } from '../../http/fields.ts';
import { maxTokenSeconds } from '../../identity/record-token.ts';
import { readScopeFields } from './api-keys.schemas.ts';

export const Subject = shortText(200);

const NewToken = z.strictObject({
  scopes: z
    .strictObject(readScopeFields)
    .describe('Limits the token further than the key is limited at the time of each request'),
  subject: Subject.optional().describe(
    'For whom the token is, such as the id of a customer: usage is counted and tokens are revoked by it',
  ),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxTokenSeconds, 'must be at most 3600 (one hour)')
    .default(maxTokenSeconds),
});
export const NewTokens = z.strictObject({ tokens: z.array(NewToken).min(1).max(100) });

export const MintedTokens = z
  .object({
    tokens: z
      .array(
        z.object({
          token: z.string().describe('Send it as `Authorization: Bearer` to the public interface or `/mcp`'),
          subject: z.string().nullable(),
          expiresAt: Instant,
        }),
      )
      .nullable()
      .describe(
        'In the order of the request. Returned only once; null when the response is replayed for an idempotency key',
      ),
  })
  .meta({ id: 'MintedTokens' });

export type NewTokens = z.output<typeof NewTokens>;
export type MintedTokens = z.input<typeof MintedTokens>;
