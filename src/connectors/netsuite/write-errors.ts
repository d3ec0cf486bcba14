// What it means when the record service refuses a write. Which sentences real accounts use is known for few cases [unconfirmed: all but
// missing values, bad references and "already exists"], so nothing depends on them but the advice that a person gets.
import type { GuardedResponse } from '../../core/guarded-fetch.ts';
import { ErpError, type ErpErrorKind } from '../connector.ts';
import { answerError, errorDetail } from './errors.ts';

type Refusal = { readonly kind?: ErpErrorKind; readonly code: string; readonly when: RegExp; readonly fix: string };

/** Tried in this order on `<code> <path> <sentence>`. */
const refusals: readonly Refusal[] = [
  {
    kind: 'forbidden',
    code: 'PERMISSION_MISSING',
    when: /INSUFFICIENT_PERMISSION|permission/i,
    fix: 'Give the role of this connection "Customer Payment" and "Customer Refund" at level Edit and "Invoice" at level View.',
  },
  {
    kind: 'down',
    code: 'RECORD_CHANGED',
    when: /RCRD_HAS_BEEN_CHANGED|record has been changed/i,
    fix: 'Someone edits the record in NetSuite; the next attempt may succeed.',
  },
  {
    code: 'PERIOD_CLOSED',
    when: /period\b.*\b(?:closed|locked)|\b(?:closed|locked)\b.*\bperiod/i,
    fix: 'Reopen the accounting period in NetSuite, then try again.',
  },
  {
    code: 'CUSTOMER_ON_HOLD',
    when: /credit hold|on hold/i,
    fix: 'Take the customer off credit hold in NetSuite, then try again.',
  },
  {
    code: 'CUSTOMER_INACTIVE',
    when: /customer.*inactive|inactive.*customer/i,
    fix: 'Make the customer active again in NetSuite, then try again.',
  },
  {
    code: 'CUSTOMER_UNKNOWN',
    when: /field: (?:customer|entity)\b/i,
    fix: 'The customer is gone from NetSuite or was merged with another: enter the payment by hand for whoever took its place, then say so with end-write-back.',
  },
  {
    code: 'ACCOUNT_UNKNOWN',
    when: /field: (?:account|paymentMethod|refundMethod)\b/i,
    fix: 'Correct the account or method in `writeBack` of PUT /pay/config, then try again.',
  },
  {
    code: 'VALUE_MISSING',
    when: /Please enter value\(s\) for/i,
    fix: 'Name what NetSuite asks for in `writeBack` of PUT /pay/config, or take it off the form that integrations use, then try again.',
  },
  {
    code: 'ALREADY_EXISTS',
    when: /already exists|DUP_RCRD/i,
    fix: 'NetSuite has a record with this external id that the role of this connection does not see: let it see the record, then try again.',
  },
];
const otherwise = 'Correct in NetSuite what its message says, then try again.';

/** The error behind the answer to a write whose status is not 2xx. */
export function writeError(response: GuardedResponse, now: Date): ErpError {
  const general = answerError(response, now);
  const { code, detail, path } = errorDetail(response.text);
  const isRefusal = (response.status === 400 || response.status === 403 || response.status === 404) && code !== '';
  if (!isRefusal || general.kind === 'throttled') return general;
  const text = `${response.status === 403 ? 'INSUFFICIENT_PERMISSION ' : ''}${code} ${path} ${detail}`;
  const found = refusals.find(({ when }) => when.test(text));
  return new ErpError(found?.kind ?? 'query', found?.code ?? 'WRITE_REFUSED', detail, { fix: found?.fix ?? otherwise });
}
