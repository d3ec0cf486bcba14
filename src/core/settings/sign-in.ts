// Settings of signing in.
import { z } from 'zod';
import { derived, variable } from './declare.ts';
import { httpUrl, text } from './values.ts';

export const signInSettings = {
  SIGN_IN_BY_MAIL: variable(
    z.enum(['false', 'true', 'with-provider'], 'must be true, false or with-provider'),
    'false',
    'true: members sign in with a code that is mailed to them, without an identity provider; production requires SMTP_URL. with-provider: those',
    'whom the identity provider has not signed in yet may do so as well. A code passes by the second factor of a provider.',
  ),
  signIn: {
    /** With a mailed code. */
    byMail: derived<boolean>(),
    /** With a link that the service prints: not in production, and only while its address is loopback. */
    byLink: derived<boolean>(),
  },
  OIDC_ISSUER: variable(
    httpUrl.optional(),
    '',
    'The identity provider whose access tokens are accepted by the management interface and /mcp; set all three or none. Tokens issued for',
    'PUBLIC_URL/mcp are accepted as well as those for the audience.',
  ),
  OIDC_AUDIENCE: variable(text.optional()),
  OIDC_JWKS_URI: variable(httpUrl.optional()),
  OIDC_CLIENT_ID: variable(
    text.optional(),
    '',
    "The service's client at that provider, for sign-in by the code flow with PKCE. Redirect address: PUBLIC_URL/auth/callback. Without a secret",
    'it is a public client. Leave empty to disable sign-in.',
  ),
  OIDC_CLIENT_SECRET: variable(text.optional()),
  OIDC_USERINFO_URI: variable(
    httpUrl.optional(),
    '',
    "The provider's userinfo endpoint, used once per user when access tokens carry no verified e-mail address. Leave empty to disable.",
  ),
  oidc: derived<{
    readonly issuer: string;
    /** The identifier of this service as a resource (`aud` of access tokens), never a client id. */
    readonly audience: string;
    readonly jwksUri: string;
    /** Requested once per person for a verified e-mail address when the token carries none. */
    readonly userinfoUri: string | null;
    /** This service's registration as a client of the sign-in provider; null switches sign-in off. */
    readonly client: { readonly id: string; readonly secret: string | null } | null;
  } | null>(),
};
