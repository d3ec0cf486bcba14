// Classifies the record service's refusals of a write. The messages of real accounts are known for few cases
// [unconfirmed: all but missing values, bad references and "already exists"], so nothing depends on them but
// the code and the advice that a person gets.
import type { GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { ErpError, type ErpErrorKind } from '../../connector.ts';
import { errorDetail, responseError } from './errors.ts';

type Refusal = {
  readonly kind?: ErpErrorKind;
  readonly code: string;
  readonly when: RegExp;
  readonly fix: string;
};

/** Matched in this order against `<code> <path> <message>`. */
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
    fix: 'Someone is editing the record in NetSuite; the next attempt may succeed.',
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
    fix: 'The customer was deleted in NetSuite or merged with another. Enter the payment by hand for the customer that replaced it, then end the write-back of this one.',
  },
  {
    code: 'ACCOUNT_UNKNOWN',
    when: /field: (?:account|paymentMethod|refundMethod)\b/i,
    fix: 'Correct the account or method of the write-back in the payment configuration, then try again.',
  },
  {
    code: 'VALUE_MISSING',
    when: /Please enter value\(s\) for/i,
    fix: 'Provide the value that NetSuite requires in the payment configuration, under write-back, or remove the field from the form that integrations use, then try again.',
  },
  {
    code: 'ALREADY_EXISTS',
    when: /already exists|DUP_RCRD/i,
    fix: 'NetSuite has a record with this external id that is hidden from the role of this connection. Give the role access to the record, then try again.',
  },
];
const defaultFix = "Correct the problem that NetSuite's message names, then try again.";

/** The error for a refused write: a response whose status is not 2xx. */
export function writeError(response: GuardedResponse, now: Date): ErpError {
  const general = responseError(response, now);
  const { code, detail, path } = errorDetail(response.text);
  const isRefusal =
    (response.status === 400 || response.status === 403 || response.status === 404) && code !== '';
  if (!isRefusal || general.kind === 'throttled') return general;
  const text = `${response.status === 403 ? 'INSUFFICIENT_PERMISSION ' : ''}${code} ${path} ${detail}`;
  const known = refusals.find(({ when }) => when.test(text));
  return new ErpError(known?.kind ?? 'query', known?.code ?? 'WRITE_REFUSED', detail, {
    fix: known?.fix ?? defaultFix,
  });
}
