// Maps what an OData service did to an ErpError: its kind, stable code, and what a person can do about it.
import { z } from 'zod';
import type { GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { findJson } from '../../../core/text/parse-json.ts';
import { ErpError, type ErpErrorKind } from '../../connector.ts';
import { httpError, statusError } from '../../http/errors.ts';

const fixes = {
  METADATA_TOO_LARGE:
    'Ask the operator of this service to raise ERP_MAX_METADATA_MB, or publish fewer entity sets in the ERP.',
  METADATA_UNREADABLE: 'Check that the service root is that of an OData v4 service.',
  ANSWER_INCONSISTENT:
    'Run the sync again. If it happens again, report the message to the operator of this service.',
  LINK_REFUSED: 'Enter the service root with the host name that the ERP uses for itself.',
  CHANGES_EXPIRED: 'No action is needed: the next attempt reads all records.',
  COLUMN_UNKNOWN: 'Refresh the metadata of this connection: the property no longer exists.',
  ENTITY_SET_UNKNOWN: 'Refresh the metadata, and check the service root, tenant and company.',
  FIELD_NOT_SYNCABLE: 'Choose fields that the metadata of this connection shows as syncable.',
  QUERY_REFUSED: 'Refresh the metadata of this connection: the ERP does not support the query.',
} as const;

export const erpError = (
  kind: ErpErrorKind,
  code: keyof typeof fixes,
  message: string,
  cause?: unknown,
): ErpError => new ErpError(kind, code, message, { fix: fixes[code], cause });

/** For a response that contradicts itself or the request: not trusted. */
export const inconsistentResponse = (message: string): ErpError =>
  erpError('answer', 'ANSWER_INCONSISTENT', message);

/** Parsing a longer body would hold the event loop. */
const maxErrorLength = 1_000_000;

const ErrorBody = z.object({ error: z.object({ message: z.string() }) });
/** The message of an OData error response; empty where the body has none. */
function errorMessage({ text }: GuardedResponse): string {
  const { data } = ErrorBody.safeParse(text.length > maxErrorLength ? undefined : findJson(text));
  return data?.error.message.slice(0, 500) ?? '';
}

/** How ASP.NET, SAP Gateway and CAP name a property that doesn't exist. */
const unknownProperty =
  /(?:find a property named|Property|Resource not found for segment) ['"\u2018]?([\w./]+)['"\u2019]?(?: on type| (?:is )?(?:unknown|not found|invalid)|$)|Property not found/i;

/** The error for a response whose status is not 2xx. */
export function responseError(response: GuardedResponse, now: Date): ErpError {
  const { status } = response;
  const detail = errorMessage(response);
  const message = detail === '' ? `The ERP responded with status ${status}` : detail;
  const known = statusError(response, now, message);
  if (known !== null) return known;
  if (status === 410) return erpError('query', 'CHANGES_EXPIRED', message);
  // An error without OData's own message comes from something else at that address.
  if (detail === '' && ![414, 431, 501].includes(status))
    return httpError('answer', 'ANSWER_UNREADABLE', message);
  if (unknownProperty.test(detail)) return erpError('query', 'COLUMN_UNKNOWN', message);
  if (status === 404) return erpError('forbidden', 'ENTITY_SET_UNKNOWN', message);
  return erpError('query', 'QUERY_REFUSED', message);
}
