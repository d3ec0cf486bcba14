// The record service's error responses. Known wordings are NetSuite's own; the others are assumed (see
// docs/account.md).
import { RestError } from '../wire.ts';
import type { RestRecordType } from './record-type.ts';

const ACCESSING = 'Error while accessing a resource. ';

const userError = (sentence: string): RestError =>
  new RestError(400, { detail: ACCESSING + sentence, 'o:errorCode': 'USER_ERROR' });

export const unknownRecordType = (name: string, path: string): RestError =>
  new RestError(404, {
    detail: `Record type '${name}' does not exist.`,
    'o:errorUrl': path,
    'o:errorCode': 'NONEXISTENT_ID',
  });

/** NetSuite reports an absent transaction differently from an absent entity. */
export function recordNotFound(type?: RestRecordType): RestError {
  if (type?.transactionType !== undefined) {
    return new RestError(
      400,
      { detail: `${ACCESSING}Transaction type specified is incorrect.`, 'o:errorCode': 'USER_ERROR' },
      { headers: { connection: 'close' } },
    );
  }
  return new RestError(404, {
    detail: 'The record instance does not exist. Provide a valid record instance ID.',
    'o:errorCode': 'NONEXISTENT_ID',
  });
}

export const permissionDenied = (type: RestRecordType): RestError =>
  new RestError(403, {
    detail: `Permission Violation: The current role does not have permission to perform this action on the record type ${type.name}.`,
    'o:errorCode': 'INSUFFICIENT_PERMISSION',
  });

export const methodNotAllowed = (method: string): RestError =>
  new RestError(405, {
    detail: `The method ${method} is not allowed here.`,
    'o:errorCode': 'INVALID_METHOD',
  });

export const invalidBody = (cause?: unknown): RestError =>
  new RestError(
    400,
    { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' },
    { cause },
  );

/** `path` is the value's place in the body, `field` its name. */
export const invalidValue = (value: unknown, path: string, field: string = path): RestError =>
  new RestError(400, {
    detail: `${ACCESSING}Invalid Field Value ${typeof value === 'object' ? JSON.stringify(value) : String(value)} for the following field: ${field}`,
    'o:errorPath': path,
    'o:errorCode': 'INVALID_CONTENT',
  });

export const unknownProperty = (path: string): RestError =>
  new RestError(400, {
    detail: `Unknown property name '${path}'.`,
    'o:errorPath': path,
    'o:errorCode': 'INVALID_CONTENT',
  });

export const invalidHeader = (name: string, values: readonly string[]): RestError =>
  new RestError(400, {
    detail: `The header ${name} must be one of ${values.join(', ')}.`,
    'o:errorHeader': name,
    'o:errorCode': 'INVALID_HEADER',
  });

export const missingValues = (titles: readonly string[]): RestError =>
  userError(`Please enter value(s) for: ${titles.join(', ')}`);

export const USER_ERRORS = {
  exists: () => userError('This record already exists.'),
  noLines: () => userError('You must enter at least one line item for this transaction.'),
  hasDependents: () => userError('This record cannot be deleted because it has dependent records.'),
  isLinked: () =>
    userError('This transaction cannot be deleted because it is linked to by one or more transactions.'),
  lessThanApplied: () =>
    userError('The total of this transaction cannot be less than what is applied to it.'),
  notOpen: (doc: string, what = 'invoice') =>
    userError(`The transaction ${doc} is not an open ${what} of this customer.`),
  appliesTooMuch: (doc: string) =>
    userError(`The amount applied to the transaction ${doc} exceeds what is due on it.`),
  paysTooMuch: () => userError('The amounts applied exceed the amount of this transaction.'),
  periodClosed: () => userError('The date of this transaction is in an accounting period that is closed.'),
  noPeriod: () =>
    userError('The transaction date you specified is not within the date range of your accounting period.'),
  isOfSystem: () => userError('This record belongs to the system and cannot be changed or deleted.'),
  inactive: () => userError('The customer of this transaction is inactive.'),
  onHold: () => userError('The customer of this transaction is on credit hold.'),
  noTransform: (to: string) => userError(`This record cannot be transformed to ${to}.`),
};
