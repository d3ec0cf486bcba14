// The sentences with which the record service refuses. Those of NetSuite that are known are as they are; the others are likely.
import { Refusal } from '../wire.ts';
import type { RecordType } from './record-types.ts';

const ACCESSING = 'Error while accessing a resource. ';

const userError = (sentence: string): Refusal => new Refusal(400, { detail: ACCESSING + sentence, 'o:errorCode': 'USER_ERROR' });

export const noType = (name: string, path: string): Refusal =>
  new Refusal(404, { detail: `Record type '${name}' does not exist.`, 'o:errorUrl': path, 'o:errorCode': 'NONEXISTENT_ID' });

/** A transaction that isn't there is answered in another way than an entity. */
export function noInstance(type?: RecordType): Refusal {
  if (type?.transactionType !== undefined) {
    return new Refusal(
      400,
      { detail: `${ACCESSING}Transaction type specified is incorrect.`, 'o:errorCode': 'USER_ERROR' },
      { headers: { connection: 'close' } },
    );
  }
  return new Refusal(404, {
    detail: 'The record instance does not exist. Provide a valid record instance ID.',
    'o:errorCode': 'NONEXISTENT_ID',
  });
}

export const notPermitted = (type: RecordType): Refusal =>
  new Refusal(403, {
    detail: `Permission Violation: The current role does not have permission to perform this action on the record type ${type.name}.`,
    'o:errorCode': 'INSUFFICIENT_PERMISSION',
  });

export const notAllowed = (method: string): Refusal =>
  new Refusal(405, { detail: `The method ${method} is not allowed here.`, 'o:errorCode': 'INVALID_METHOD' });

export const invalidBody = (cause?: unknown): Refusal =>
  new Refusal(400, { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' }, { cause });

/** `path` says where in the body the value is, `field` its name. */
export const invalidValue = (value: unknown, path: string, field: string = path): Refusal =>
  new Refusal(400, {
    detail: `${ACCESSING}Invalid Field Value ${typeof value === 'object' ? JSON.stringify(value) : String(value)} for the following field: ${field}`,
    'o:errorPath': path,
    'o:errorCode': 'INVALID_CONTENT',
  });

export const unknownName = (path: string): Refusal =>
  new Refusal(400, { detail: `Unknown property name '${path}'.`, 'o:errorPath': path, 'o:errorCode': 'INVALID_CONTENT' });

export const badHeader = (name: string, values: readonly string[]): Refusal =>
  new Refusal(400, {
    detail: `The header ${name} must be one of ${values.join(', ')}.`,
    'o:errorHeader': name,
    'o:errorCode': 'INVALID_HEADER',
  });

export const missingValues = (titles: readonly string[]): Refusal => userError(`Please enter value(s) for: ${titles.join(', ')}`);

export const REFUSED = {
  exists: () => userError('This record already exists.'),
  noLines: () => userError('You must enter at least one line item for this transaction.'),
  hasDependents: () => userError('This record cannot be deleted because it has dependent records.'),
  isLinked: () => userError('This transaction cannot be deleted because it is linked to by one or more transactions.'),
  lessThanApplied: () => userError('The total of this transaction cannot be less than what is applied to it.'),
  notOpen: (doc: string, what = 'invoice') => userError(`The transaction ${doc} is not an open ${what} of this customer.`),
  appliesTooMuch: (doc: string) => userError(`The amount applied to the transaction ${doc} exceeds what is due on it.`),
  paysTooMuch: () => userError('The amounts applied exceed the amount of this transaction.'),
  periodClosed: () => userError('The date of this transaction is in an accounting period that is closed.'),
  inactive: () => userError('The customer of this transaction is inactive.'),
  onHold: () => userError('The customer of this transaction is on credit hold.'),
  noTransform: (to: string) => userError(`This record cannot be transformed to ${to}.`),
};
