// Maps what an OData service or the network did to an ErpError: its kind, stable code, and what a person can
// do about it.
import type { GuardedFetchError, GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { readRetryAfter } from '../../../core/network/retry-after.ts';
import { findJson } from '../../../core/text/parse-json.ts';
import { ErpError, type ErpErrorKind } from '../../connector.ts';

const fixes = {
  SIGN_IN_REFUSED: 'Check the sign-in of this connection, and that its client or user is still active.',
  TOKEN_ADDRESS_MOVED: 'Enter the address that the token address redirects to.',
  PERMISSION_MISSING: 'Give the client or user of this connection permission to read these records.',
  HOST_REFUSED: 'Use a public https address of the ERP. Private addresses and plain http are not allowed.',
  HOST_UNREACHABLE:
    'Check the service root of this connection. If it is correct, the ERP or the network is down, and the next attempt may succeed.',
  TIMEOUT: 'The ERP took too long to respond; the next attempt may succeed.',
  TOO_MANY_REQUESTS: 'Nothing to do: the sync retries later. If it recurs, lower the number of requests.',
  SERVER_ERROR: 'The ERP failed or is under maintenance; the next attempt may succeed.',
  ANSWER_TOO_LARGE: 'Select fewer fields, or set a smaller page size.',
  METADATA_TOO_LARGE:
    'Ask the operator of this service to raise ERP_MAX_METADATA_MB, or publish fewer entity sets in the ERP.',
  METADATA_UNREADABLE: 'Check that the service root is that of an OData v4 service.',
  ANSWER_UNREADABLE:
    'Check that the service root leads to the OData service itself and not to a sign-in or maintenance page.',
  ANSWER_INCONSISTENT:
    'Run the sync again. If it happens again, report the message to the operator of this service.',
  LINK_REFUSED: 'Enter the service root with the host name that the ERP uses for itself.',
  PAGE_REPEATS: 'Run the sync again. If it happens again, report the message to the support of the ERP.',
  COLUMN_UNKNOWN: 'Refresh the metadata of this connection: the property no longer exists.',
  ENTITY_SET_UNKNOWN:
    'Refresh the metadata of this connection, and check its service root, tenant and company.',
  FIELD_NOT_SYNCABLE: 'Choose fields that the metadata of this connection shows as syncable.',
  QUERY_REFUSED: 'Refresh the metadata of this connection: the ERP does not support the query.',
} as const;
type OdataErrorCode = keyof typeof fixes;

export const erpError = (
  kind: ErpErrorKind,
  code: OdataErrorCode,
  message: string,
  options: { cause?: unknown; retryAfterMs?: number } = {},
): ErpError => new ErpError(kind, code, message, { fix: fixes[code], ...options });

/** For a response that contradicts itself or the request: not trusted. */
export const inconsistentResponse = (message: string): ErpError =>
  erpError('answer', 'ANSWER_INCONSISTENT', message);

const networkErrors = {
  'refused-address': ['query', 'HOST_REFUSED', 'The address of the ERP is not allowed'],
  'bad-url': ['query', 'HOST_REFUSED', 'The address of the ERP is not allowed'],
  timeout: ['down', 'TIMEOUT', 'The ERP did not respond in time'],
  'too-large': ['answer', 'ANSWER_TOO_LARGE', 'The response of the ERP is too large'],
  network: ['down', 'HOST_UNREACHABLE', 'The ERP sent no complete response'],
  aborted: ['down', 'HOST_UNREACHABLE', 'The request was aborted'],
} as const satisfies Record<string, readonly [ErpErrorKind, OdataErrorCode, string]>;

export function networkError(error: GuardedFetchError): ErpError {
  const [kind, code, message] = networkErrors[error.reason];
  return erpError(kind, code, `${message}: ${error.message}`, { cause: error });
}

/** Parsing a longer body would hold the event loop. */
const maxErrorLength = 1_000_000;

/** The message of an OData error response; empty where the body has none. */
function errorMessage({ text }: GuardedResponse): string {
  const body = text.length > maxErrorLength ? undefined : findJson(text);
  const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const message: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
  return typeof message === 'string' ? message.slice(0, 500) : '';
}

/** How ASP.NET, SAP Gateway and CAP name a property that doesn't exist. */
const unknownProperty =
  /(?:find a property named|Property|Resource not found for segment) ['"\u2018]?([\w./]+)['"\u2019]?(?: on type| (?:is )?(?:unknown|not found|invalid)|$)|Property not found/i;

/** The error for a response whose status is not 2xx. */
export function responseError(response: GuardedResponse, now: Date): ErpError {
  const { status } = response;
  const detail = errorMessage(response);
  const message = detail === '' ? `The ERP responded with status ${status}` : detail;
  if (status === 401) return erpError('credentials', 'SIGN_IN_REFUSED', message);
  if (status === 403) return erpError('forbidden', 'PERMISSION_MISSING', message);
  const wait = readRetryAfter(response, now);
  if (status === 429 || (status === 503 && wait.retryAfterMs !== undefined))
    return erpError('throttled', 'TOO_MANY_REQUESTS', message, wait);
  if (status === 501) return erpError('query', 'QUERY_REFUSED', message);
  if (status >= 500 || status === 408) return erpError('down', 'SERVER_ERROR', message, wait);
  // A redirect or an error without OData's own message comes from something else at that address.
  if (status < 400 || detail === '') return erpError('answer', 'ANSWER_UNREADABLE', message);
  if (status === 404) return erpError('forbidden', 'ENTITY_SET_UNKNOWN', message);
  return erpError('query', unknownProperty.test(detail) ? 'COLUMN_UNKNOWN' : 'QUERY_REFUSED', message);
}
