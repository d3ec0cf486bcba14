// The identity provider at which visitors may sign in. The client secret is write-only.
import { z } from 'zod';
import { isLoopbackHttp } from '../../core/network/loopback.ts';
import { Instant, shortText } from '../../http/fields.ts';
import { isHttpsUrl } from './targets.ts';

/** Plain http is for an issuer on this machine. */
const isIssuer = (text: string): boolean =>
  (isHttpsUrl(text) || (isLoopbackHttp(text) && isHttpsUrl(text.replace(/^http:/, 'https:')))) &&
  !/[?#]/.test(text);

const issuer = z
  .string()
  .max(2_000)
  .refine(isIssuer, 'must be an https address without a query')
  .meta({
    openapi: { type: 'string', format: 'uri', maxLength: 2_000, pattern: '^https?://' },
    description: 'As the metadata at its `/.well-known/openid-configuration` names it',
  });
const clientId = z
  .string()
  .regex(/^[\x21-\x7e]{1,300}$/, 'must be 1 to 300 visible ASCII characters')
  .describe('What the portal is registered as there');
const label = shortText(60)
  .nullable()
  .describe('What the button calls the provider; null: the host of the issuer');

export const SignInInput = z.strictObject({
  openIdConnect: z
    .strictObject({
      issuer,
      clientId,
      clientSecret: z
        .string()
        .min(1)
        .max(1_000)
        .nullable()
        .optional()
        .describe(
          'Write-only. Absent keeps the stored one, for the same issuer and client; null: a client without a secret, which proves itself by PKCE alone',
        ),
      label: label.default(null),
    })
    .nullable()
    .describe('Null: visitors sign in by mail alone'),
});
export type SignInInput = z.output<typeof SignInInput>;
export type OpenIdConnectInput = NonNullable<SignInInput['openIdConnect']>;

export const SignIn = z
  .object({
    openIdConnect: z
      .object({ issuer: z.string(), clientId: z.string(), hasClientSecret: z.boolean(), label })
      .nullable(),
    callbackUrls: z
      .array(z.string())
      .describe(
        'Register these redirect URIs at the provider: of `/portal/{slug}`, and of the verified primary domain',
      ),
    updatedAt: Instant.nullable(),
  })
  .meta({ id: 'PortalSignIn' });
