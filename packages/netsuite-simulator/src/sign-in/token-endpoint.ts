// POST /services/rest/auth/oauth2/v1/token: OAuth 2.0 client credentials. The client authenticates with a JWT
// signed with the key of a certificate that an administrator uploaded. The response has the OAuth error only;
// the audit trail gets the reason.
import type { Request, Response } from 'express';
import jwt from 'jsonwebtoken';
import type { AuditTrail } from '../audit-trail.ts';
import type { Clock } from '../clock.ts';
import { getOrigin, sendJsonBody } from '../wire.ts';
import { type AccessTokens, TOKEN_SECONDS } from './access-tokens.ts';
import type { Integrations } from './integrations.ts';

export const TOKEN_PATH = '/services/rest/auth/oauth2/v1/token';

type OauthError =
  | 'invalid_request'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'invalid_client';
type Parts = {
  integrations: Integrations;
  tokens: AccessTokens;
  audit: AuditTrail;
  clock: Clock;
  accountId: string;
};

class TokenRequestError extends Error {
  readonly error: OauthError;
  constructor(error: OauthError, reason: string) {
    super(reason);
    this.error = error;
  }
}

const ALGORITHMS: jwt.Algorithm[] = ['PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'];
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const MAX_VALIDITY_SECONDS = 3600;
const CLOCK_TOLERANCE_SECONDS = 300;

/**
 * Responds with a token or an OAuth error (400, or 401 for `invalid_client`). Rejects only with unexpected
 * errors.
 */
export async function handleTokenRequest(parts: Parts, request: Request, response: Response): Promise<void> {
  response.set('cache-control', 'no-store');
  try {
    const clientId = await authorizeTokenRequest(parts, request);
    const body = {
      access_token: parts.tokens.issue(clientId),
      expires_in: TOKEN_SECONDS,
      token_type: 'Bearer',
    };
    await sendJsonBody(response, 200, 'application/json; charset=UTF-8', body);
  } catch (error) {
    if (!(error instanceof TokenRequestError)) throw error;
    const status = error.error === 'invalid_client' ? 401 : 400;
    if (status === 401) response.set('www-authenticate', `Basic realm="${parts.accountId}"`);
    parts.audit.record(`${request.method} ${request.originalUrl}`, status, error.message);
    await sendJsonBody(response, status, 'application/json; charset=UTF-8', { error: error.error });
  }
}

/** Resolves to the client id of the integration. Rejects with TokenRequestError. */
async function authorizeTokenRequest(
  { integrations, clock, accountId }: Parts,
  request: Request,
): Promise<string> {
  const form = parseForm(request);
  const grantType = form('grant_type');
  if (grantType !== 'client_credentials')
    throw new TokenRequestError('unsupported_grant_type', `the grant type is ${grantType}`);
  if (form('client_assertion_type') !== ASSERTION_TYPE)
    throw new TokenRequestError('invalid_request', 'the client assertion type is not jwt-bearer');
  const assertion = form('client_assertion');
  const decoded = jwt.decode(assertion, { complete: true });
  if (!decoded || typeof decoded.payload === 'string')
    throw new TokenRequestError('invalid_grant', 'the assertion is not a JWT');
  const { header, payload } = decoded;
  const certificate = header.kid === undefined ? undefined : await integrations.findCertificate(header.kid);
  if (!certificate)
    throw new TokenRequestError('invalid_grant', `no certificate has the id ${header.kid ?? '(no kid)'}`);
  if (certificate.revoked) throw new TokenRequestError('invalid_grant', 'the certificate has been revoked');
  if (certificate.notAfter <= clock.now())
    throw new TokenRequestError('invalid_grant', 'the certificate has expired');
  if (payload.iss === undefined || !(await integrations.exists(payload.iss))) {
    throw new TokenRequestError(
      'invalid_client',
      `iss ${payload.iss ?? '(none)'} is no client id of this account`,
    );
  }
  if (payload.iss !== certificate.clientId)
    throw new TokenRequestError('invalid_grant', 'the certificate belongs to another integration');
  const claims = verifyAssertion(assertion, certificate.pem, audiences(request, accountId), clock);
  assertValidity(claims, clock);
  assertScope(claims['scope']);
  return certificate.clientId;
}

function parseForm(request: Request): (name: string) => string {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.get('content-type') ?? '')) {
    throw new TokenRequestError(
      'invalid_request',
      'the content type is not application/x-www-form-urlencoded',
    );
  }
  const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
  return (name) => {
    const values = form.getAll(name);
    const [value] = values;
    if (values.length !== 1 || !value)
      throw new TokenRequestError('invalid_request', `${name} must be given once`);
    return value;
  };
}

/** The accepted audiences: the token URL as the caller sent it, and that of a real account. */
function audiences(request: Request, accountId: string): [string, string] {
  const host = `${accountId.toLowerCase().replaceAll('_', '-')}.suitetalk.api.netsuite.com`;
  return [`${getOrigin(request)}${TOKEN_PATH}`, `https://${host}${TOKEN_PATH}`];
}

function verifyAssertion(
  assertion: string,
  pem: string,
  audience: [string, string],
  clock: Clock,
): jwt.JwtPayload {
  try {
    const claims = jwt.verify(assertion, pem, {
      algorithms: ALGORITHMS,
      audience,
      clockTimestamp: Math.floor(clock.now().getTime() / 1000),
    });
    if (typeof claims === 'string')
      throw new TokenRequestError('invalid_grant', 'the assertion has no claims');
    return claims;
  } catch (error) {
    if (error instanceof TokenRequestError) throw error;
    throw new TokenRequestError(
      'invalid_grant',
      `the assertion was not accepted: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function assertValidity({ iat, exp }: jwt.JwtPayload, clock: Clock): void {
  if (iat === undefined || exp === undefined)
    throw new TokenRequestError('invalid_grant', 'the assertion needs iat and exp');
  if (exp - iat > MAX_VALIDITY_SECONDS)
    throw new TokenRequestError('invalid_grant', 'the assertion is valid for more than 60 minutes');
  if (exp <= iat) throw new TokenRequestError('invalid_grant', 'the assertion ends before it begins');
  if (iat > clock.now().getTime() / 1000 + CLOCK_TOLERANCE_SECONDS)
    throw new TokenRequestError('invalid_grant', 'the assertion was issued in the future');
}

/** The scope is an array, or a string separated by commas or spaces: clients send both. */
function assertScope(scope: unknown): void {
  const scopes: unknown[] = Array.isArray(scope)
    ? scope
    : typeof scope === 'string'
      ? scope.split(/[\s,]+/)
      : [];
  if (!scopes.includes('rest_webservices'))
    throw new TokenRequestError('invalid_scope', 'the scope has no rest_webservices');
}
