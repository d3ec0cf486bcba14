// Maps what NetSuite or the network did to an ErpError: its kind, stable code, and what a person can do.

import type { GuardedFetchError, GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { readRetryAfter } from '../../../core/network/retry-after.ts';
import { ErpError, type ErpErrorKind } from '../../connector.ts';
import { networkErrors } from '../../http/errors.ts';

const renewCertificate =
  'Create a new certificate, upload it in NetSuite, and enter the certificate id that NetSuite then shows in the connection.';
const fixes = {
  INVALID_LOGIN:
    "Check the account id, the consumer key, the token id and both secrets of this connection, and that the integration, the token and the role are active. NetSuite does not report which one is wrong to callers; see NetSuite's Login Audit Trail.",
  CLIENT_UNKNOWN:
    'Enter the client id (consumer key) of the integration record in NetSuite, and check that the record is enabled and belongs to the account with this account id.',
  CERTIFICATE_EXPIRED: renewCertificate,
  CERTIFICATE_UNKNOWN:
    'Compare the certificate id of the connection with the list under Setup > Integration > OAuth 2.0 Client Credentials (M2M) Setup in NetSuite. If the certificate is not in the list, or is revoked, upload it again and enter the certificate id that NetSuite then shows. If it is active, check its role and user.',
  PRIVATE_KEY_UNUSABLE: renewCertificate,
  PERMISSION_MISSING:
    'Give the role of this connection "REST Web Services", "SuiteAnalytics Workbook" and "View" on the records concerned.',
  HOST_UNREACHABLE:
    'Check the account id and base URL of this connection. If they are correct, NetSuite or the network is down, and the next attempt may succeed.',
  ACCOUNT_UNKNOWN:
    'Correct the account id: it is under Setup > Company > Company Information in NetSuite, and ends in _SB1 for a sandbox. If it is correct, check that this service can resolve host names.',
  TLS_UNTRUSTED:
    "Check that the base URL leads to NetSuite itself. If a proxy intercepts TLS connections, exempt NetSuite's hosts. Check this machine's clock, too.",
  HOST_REFUSED: 'Use the address of the NetSuite account. Private addresses and plain http are not allowed.',
  TIMEOUT: 'NetSuite took too long to respond; the next attempt may succeed.',
  CONCURRENCY_LIMIT_EXCEEDED:
    "Other integrations use up the concurrent requests of this NetSuite account. Lower their concurrency or this service's.",
  CLOCK_SKEW:
    'Synchronize the clock of the machine that this service runs on; NetSuite accepts a difference of at most five minutes.',
  ANSWER_TOO_LARGE: 'Select fewer fields: a response of the ERP may have at most 64 MB.',
  ANSWER_UNREADABLE:
    'Check that the base URL leads to NetSuite itself and not to a proxy or a maintenance page.',
  ANSWER_MALFORMED:
    'Run the sync again. If it happens again, look for broken text in the affected records and correct it in NetSuite.',
  ANSWER_INCONSISTENT:
    'Run the sync again. If it happens again, report the message to the operator of this service.',
  SERVER_ERROR: 'NetSuite failed or is under maintenance; the next attempt may succeed.',
  COLUMN_UNKNOWN:
    'Refresh the metadata of this connection: the field was removed, its feature was disabled, or the permission was revoked.',
  RECORD_TYPE_HIDDEN:
    'Give the role of this connection "View" on these records, or enable their feature in NetSuite.',
  DELETIONS_HIDDEN:
    'Give the role of this connection the permission "Deleted Records". Until then deletions are found only by comparing ids.',
  FIELD_NOT_SYNCABLE: 'Choose fields that the metadata of this connection shows as syncable.',
  QUERY_UNSUITABLE: 'Correct the query of this record type.',
  KEY_COLUMN_UNSUITABLE:
    'Choose a column with an integer in every row that no other row has, or add one to the query.',
  MODIFIED_COLUMN_UNSUITABLE:
    'Choose a column that has a date with its time in every row, or none: then each run reads all rows.',
  QUERY_REFUSED:
    'Refresh the metadata of this connection: a field or record type is no longer readable for its role.',
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

/** For a response that contradicts itself or breaks the rules of NetSuite's interface: not trusted. */
export const inconsistentResponse = (message: string): ErpError =>
  erpError('answer', 'ANSWER_INCONSISTENT', message);

/** Node's error codes for a server that fails TLS authentication or doesn't speak TLS at all. */
const tlsCode = /CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$|HOSTNAME_MISMATCH/;

function explainNetwork(error: GuardedFetchError): readonly [ErpErrorKind, NetsuiteErrorCode, string] {
  const code = error.cause instanceof Error && 'code' in error.cause ? String(error.cause.code) : '';
  if (error.reason === 'network' && code === 'ENOTFOUND')
    return ['down', 'ACCOUNT_UNKNOWN', 'There is no NetSuite account at this address'];
  if (error.reason === 'network' && tlsCode.test(code))
    return ['down', 'TLS_UNTRUSTED', `The TLS connection is not trusted (${code})`];
  return networkErrors[error.reason];
}

export function networkError(error: GuardedFetchError): ErpError {
  const [kind, code, message] = explainNetwork(error);
  return erpError(kind, code, `${message}: ${error.message}`, { cause: error });
}

/** Parsing a longer body would hold the event loop. */
const maxErrorLength = 1_000_000;

/** The first of NetSuite's own error details in the body; empty texts where the body has none. */
export function errorDetail(text: string): { code: string; detail: string; path: string } {
  if (text.length > maxErrorLength) return noDetail;
  try {
    const body: unknown = JSON.parse(text);
    const details: unknown =
      typeof body === 'object' && body !== null ? Reflect.get(body, 'o:errorDetails') : undefined;
    const first: unknown = Array.isArray(details) ? details[0] : undefined;
    if (typeof first !== 'object' || first === null) return noDetail;
    const member = (name: string): string => String(Reflect.get(first, name) ?? '');
    return {
      code: member('o:errorCode'),
      detail: member('detail').slice(0, 500),
      path: member('o:errorPath').slice(0, 200),
    };
  } catch {
    return noDetail;
  }
}
const noDetail = { code: '', detail: '', path: '' };

/** Classifies a refused query by NetSuite's message, because NetSuite has one code for all of them. */
function queryError(code: string, detail: string): ErpError {
  if (refusedColumn(detail) !== null) return erpError('query', 'COLUMN_UNKNOWN', detail);
  if (/Record '[^']*' was not found|Invalid search type/i.test(detail))
    return erpError('forbidden', 'RECORD_TYPE_HIDDEN', detail);
  return new ErpError('query', code, detail, { fix: fixes.QUERY_REFUSED });
}

/**
 * For queries of lines: a table that the role can no longer see makes the field `lines` unreadable, not the
 * record type. Throws every other error again.
 */
export function rethrowHiddenLines(error: unknown): never {
  if (!(error instanceof ErpError) || error.code !== 'RECORD_TYPE_HIDDEN') throw error;
  throw erpError('query', 'FIELD_NOT_SYNCABLE', `The lines can't be read: ${error.message}`, {
    cause: error,
  });
}

/**
 * The column that NetSuite's message about a refused query names, in lower case and without its table; null
 * when it names none.
 */
export function refusedColumn(detail: string): string | null {
  const name = /(?:Unknown identifier|Field) '([^']+)'/i.exec(detail)?.[1];
  return name?.toLowerCase().split('.').at(-1) ?? null;
}

/** The error for a response whose status is not 2xx. */
export function responseError(response: GuardedResponse, now: Date): ErpError {
  const { status } = response;
  const { code, detail } = errorDetail(response.text);
  const message = detail === '' ? `The ERP responded with status ${status}` : detail;
  if (status === 401) return erpError('credentials', 'INVALID_LOGIN', message);
  if (status === 403) return erpError('forbidden', 'PERMISSION_MISSING', message);
  if (status === 429 || code === 'CONCURRENCY_LIMIT_EXCEEDED') {
    return erpError('throttled', 'CONCURRENCY_LIMIT_EXCEEDED', message, readRetryAfter(response, now));
  }
  if (status >= 500 || status === 408) {
    return new ErpError('down', code === '' ? 'SERVER_ERROR' : code, message, {
      fix: fixes.SERVER_ERROR,
      ...readRetryAfter(response, now),
    });
  }
  // A redirect or an error without NetSuite's own details comes from something else at that address.
  if (status < 400 || code === '') return erpError('answer', 'ANSWER_UNREADABLE', message);
  return queryError(code, message);
}
