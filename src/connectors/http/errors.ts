// What an ERP can do wrong whose interface is HTTP: kinds, stable codes, and what a person can do about it.
import type { GuardedFetchError, GuardedResponse } from '../../core/network/guarded-fetch.ts';
import { readRetryAfter } from '../../core/network/retry-after.ts';
import { ErpError, type ErpErrorKind } from '../connector.ts';

const fixes = {
  SIGN_IN_REFUSED: 'Check the sign-in of this connection, and that its client or user is still active.',
  TOKEN_ADDRESS_MOVED: 'Enter the address that the token address redirects to.',
  PERMISSION_MISSING: 'Give the client or user of this connection permission to read these records.',
  HOST_REFUSED: 'Use a public https address of the ERP. Private addresses and plain http are not allowed.',
  HOST_UNREACHABLE:
    'Check the address of this connection. If it is correct, the ERP or the network is down, and the next attempt may succeed.',
  TIMEOUT: 'The ERP took too long to respond; the next attempt may succeed.',
  TOO_MANY_REQUESTS: 'Nothing to do: the sync retries later. If it recurs, lower the number of requests.',
  SERVER_ERROR: 'The ERP failed; the next attempt may succeed.',
  SERVER_UNAVAILABLE: 'The ERP is under maintenance or overloaded; the next attempt may succeed.',
  PAGE_REPEATS: 'Run the sync again. If it happens again, report the message to the support of the ERP.',
  CURSOR_GONE: 'Run the sync again: the record at which the read continues was deleted.',
  ANSWER_TOO_LARGE: 'Select fewer fields, or set a smaller page size.',
  ANSWER_UNREADABLE:
    'Check that the address leads to the ERP itself and not to a sign-in or maintenance page.',
} as const;

export const httpError = (
  kind: ErpErrorKind,
  code: keyof typeof fixes,
  message: string,
  options: { cause?: unknown; retryAfterMs?: number } = {},
): ErpError => new ErpError(kind, code, message, { fix: fixes[code], ...options });

/** What a request that got no response means, by what the guarded fetch says. */
export const networkErrors = {
  'refused-address': ['query', 'HOST_REFUSED', 'The address of the ERP is not allowed'],
  'bad-url': ['query', 'HOST_REFUSED', 'The address of the ERP is not allowed'],
  timeout: ['down', 'TIMEOUT', 'The ERP did not respond in time'],
  'too-large': ['answer', 'ANSWER_TOO_LARGE', 'The response of the ERP is too large'],
  network: ['down', 'HOST_UNREACHABLE', 'The ERP sent no complete response'],
  aborted: ['down', 'HOST_UNREACHABLE', 'The request was aborted'],
} as const satisfies Record<string, readonly [ErpErrorKind, keyof typeof fixes, string]>;

export function networkError(error: GuardedFetchError): ErpError {
  const [kind, code, message] = networkErrors[error.reason];
  return httpError(kind, code, `${message}: ${error.message}`, { cause: error });
}

/** What a status other than 2xx says by itself; null where only the ERP's own message says what is wrong. */
export function statusError(response: GuardedResponse, now: Date, message: string): ErpError | null {
  const { status } = response;
  if (status === 401) return httpError('credentials', 'SIGN_IN_REFUSED', message);
  if (status === 403) return httpError('forbidden', 'PERMISSION_MISSING', message);
  const wait = readRetryAfter(response, now);
  if (status === 429 || (status === 503 && wait.retryAfterMs !== undefined))
    return httpError('throttled', 'TOO_MANY_REQUESTS', message, wait);
  if (status === 408 || (status > 501 && status < 600))
    return httpError('down', 'SERVER_UNAVAILABLE', message, wait);
  if (status === 500) return httpError('down', 'SERVER_ERROR', message, wait);
  return status < 400 ? httpError('answer', 'ANSWER_UNREADABLE', message) : null;
}
