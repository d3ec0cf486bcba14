// Which integration sent a request. It is known once the request is signed in.
import type { Response } from 'express';

const KEY = 'integration';

export function setIntegration(response: Response, integration: string): void {
  response.locals[KEY] = integration;
}

/**
 * The client id (OAuth 2.0) or consumer key (token-based) of the caller's integration; empty before the
 * sign-in.
 */
export const getIntegration = (response: Response): string =>
  (response.locals[KEY] as string | undefined) ?? '';
