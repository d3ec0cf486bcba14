// From what NetSuite (or the network) did to one request, to an ErpError: what kind it is, its stable code, and what a
// person can do about it.
import type { GuardedFetchError, GuardedResponse } from '../../core/guarded-fetch.ts';
import { ErpError, type ErpErrorKind } from '../connector.ts';

const fixes = {
  INVALID_LOGIN:
    'Check the account id, the consumer key, the token id and both secrets of this connection, and that integration, token and role are active. NetSuite does not tell callers which it is; its Login Audit Trail does.',
  CLIENT_UNKNOWN:
    'Enter the client id (consumer key) of the integration record in NetSuite, and check that the record is enabled and that the account id is that of its account.',
  CERTIFICATE_EXPIRED:
    'Make a new certificate with POST /netsuite/connection/certificate, upload it in NetSuite, and enter the certificate id that NetSuite shows.',
  CERTIFICATE_UNKNOWN:
    'Upload the certificate of this connection under Setup > Integration > OAuth 2.0 Client Credentials (M2M) Setup, and enter the certificate id that NetSuite shows.',
  PRIVATE_KEY_UNUSABLE: 'Make a new certificate for this connection and upload it in NetSuite.',
  PERMISSION_MISSING:
    'Give the role of this connection "REST Web Services", "SuiteAnalytics Workbook" and "View" on the records concerned.',
  HOST_UNREACHABLE:
    'Check the account id and base URL of this connection; if they are right, NetSuite or the network is down, and the next attempt may succeed.',
  ACCOUNT_UNKNOWN:
    'Correct the account id: it is under Setup > Company > Company Information in NetSuite, with _SB1 at its end for a sandbox. If it is right, this service cannot look up names.',
  TLS_UNTRUSTED:
    "Check that the base URL leads to NetSuite itself. If a proxy opens this service's connections, let NetSuite's hosts through it untouched; check this machine's clock too.",
  HOST_REFUSED: 'Use the address of the NetSuite account; private addresses and plain http are refused here.',
  TIMEOUT: 'NetSuite took too long to answer; the next attempt may succeed.',
  CONCURRENCY_LIMIT_EXCEEDED:
    "Other integrations use up the requests that this NetSuite account may have at once; lower their number or this service's concurrency.",
  CLOCK_SKEW: 'Set the clock of the machine that this service runs on; NetSuite accepts at most five minutes of difference.',
  ANSWER_TOO_LARGE: 'Select fewer fields, or raise the largest answer that this service accepts from an ERP.',
  ANSWER_UNREADABLE: 'Check that the base URL leads to NetSuite itself and not to a proxy or a maintenance page.',
  ANSWER_MALFORMED: 'Run the sync again; if it happens again, look for broken text in the records concerned and enter it anew in NetSuite.',
  ANSWER_INCONSISTENT: 'Run the sync again; if it happens again, report it with the message to the operator of this service.',
  SERVER_ERROR: 'NetSuite failed or is under maintenance; the next attempt may succeed.',
  COLUMN_UNKNOWN: 'Refresh the metadata of this connection: the field was removed, or its feature or permission was taken away.',
  RECORD_TYPE_HIDDEN: 'Give the role of this connection "View" on these records, or switch their feature on in NetSuite.',
  DELETIONS_HIDDEN:
    'Give the role of this connection the permission "Deleted Records"; until then deletions are found by comparing ids alone.',
  FIELD_NOT_SYNCABLE: 'Choose fields that the metadata of this connection shows as syncable.',
  QUERY_REFUSED: 'Refresh the metadata of this connection: a field or record type is no longer readable for its role.',
} as const;
export type NetsuiteErrorCode = keyof typeof fixes;

export function erpError(
  kind: ErpErrorKind,
  code: NetsuiteErrorCode,
  message: string,
  options: { cause?: unknown; retryAfterMs?: number } = {},
): ErpError {
  return new ErpError(kind, code, message, { fix: fixes[code], ...options });
}

/** An answer that breaks the rules of the interface and so can't be trusted. */
export const inconsistent = (message: string): ErpError => erpError('answer', 'ANSWER_INCONSISTENT', message);

const networkErrors = {
  'refused-address': ['query', 'HOST_REFUSED', 'The address of the ERP may not be called'],
  'bad-url': ['query', 'HOST_REFUSED', 'The address of the ERP may not be called'],
  timeout: ['down', 'TIMEOUT', 'The ERP did not answer in time'],
  'too-large': ['answer', 'ANSWER_TOO_LARGE', 'The answer of the ERP is too large'],
  network: ['down', 'HOST_UNREACHABLE', 'The ERP gave no complete answer'],
  aborted: ['down', 'HOST_UNREACHABLE', 'The request was given up'],
} as const satisfies Record<string, readonly [ErpErrorKind, NetsuiteErrorCode, string]>;

/** What Node calls it when the other side does not prove who it is, or does not speak TLS at all. */
const tlsCode = /CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$|HOSTNAME_MISMATCH/;

function explainNetwork(error: GuardedFetchError): readonly [ErpErrorKind, NetsuiteErrorCode, string] {
  const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
  if (error.reason === 'network' && code === 'ENOTFOUND') return ['down', 'ACCOUNT_UNKNOWN', 'No NetSuite account has this address'];
  if (error.reason === 'network' && tlsCode.test(code)) return ['down', 'TLS_UNTRUSTED', `The connection is not safe (${code})`];
  return networkErrors[error.reason];
}

export function networkError(error: GuardedFetchError): ErpError {
  const [kind, code, message] = explainNetwork(error);
  return erpError(kind, code, `${message}: ${error.message}`, { cause: error });
}

/** The first of NetSuite's own error details, wherever the body is one; empty otherwise. */
export function errorDetail(text: string): { code: string; detail: string; path: string } {
  try {
    const body: unknown = JSON.parse(text);
    const details: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'o:errorDetails') : undefined;
    const first: unknown = Array.isArray(details) ? details[0] : undefined;
    if (typeof first !== 'object' || first === null) return nothingTold;
    const member = (name: string): string => String(Reflect.get(first, name) ?? '');
    return { code: member('o:errorCode'), detail: member('detail').slice(0, 500), path: member('o:errorPath').slice(0, 200) };
  } catch {
    return nothingTold;
  }
}
const nothingTold = { code: '', detail: '', path: '' };

/** `Retry-After` in seconds or as a date; undefined when absent or unreadable. */
function retryAfter(response: GuardedResponse, now: Date): { retryAfterMs?: number } {
  const value = response.headers['retry-after']?.trim() ?? '';
  const waitMs = /^\d{1,6}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isFinite(waitMs) ? { retryAfterMs: Math.max(0, waitMs) } : {};
}

/** What NetSuite's sentence about a query means; it has one code for all of them. */
function queryError(code: string, detail: string): ErpError {
  if (refusedColumn(detail) !== null) return erpError('query', 'COLUMN_UNKNOWN', detail);
  if (/Record '[^']*' was not found|Invalid search type/i.test(detail)) return erpError('forbidden', 'RECORD_TYPE_HIDDEN', detail);
  return new ErpError('query', code, detail, { fix: fixes.QUERY_REFUSED });
}

/** The column that such a sentence blames, in lower case and without its table; null when it blames none. */
export function refusedColumn(detail: string): string | null {
  const name = /(?:Unknown identifier|Field) '([^']+)'/i.exec(detail)?.[1];
  return name?.toLowerCase().split('.').at(-1) ?? null;
}

/** The error behind an answer whose status is not 2xx. */
export function answerError(response: GuardedResponse, now: Date): ErpError {
  const { status } = response;
  const { code, detail } = errorDetail(response.text);
  const words = detail === '' ? `The ERP answered ${status}` : detail;
  if (status === 401) return erpError('credentials', 'INVALID_LOGIN', words);
  if (status === 403) return erpError('forbidden', 'PERMISSION_MISSING', words);
  if (status === 429 || code === 'CONCURRENCY_LIMIT_EXCEEDED') {
    return erpError('throttled', 'CONCURRENCY_LIMIT_EXCEEDED', words, retryAfter(response, now));
  }
  if (status >= 500 || status === 408) {
    return new ErpError('down', code === '' ? 'SERVER_ERROR' : code, words, { fix: fixes.SERVER_ERROR, ...retryAfter(response, now) });
  }
  // A redirect or an error without NetSuite's own details comes from something else at that address.
  if (status < 400 || code === '') return erpError('answer', 'ANSWER_UNREADABLE', words);
  return queryError(code, words);
}
