// Properties that several record types share.
import { defineProperty, type Property } from './property.ts';

export const ID = defineProperty('id', 'Internal ID', 'string', 'id');
export const CURRENCY = defineProperty('currency', 'Currency', 'reference', 'currency', {
  to: 'currency',
  writes: 'create',
});
export const CHANGED = defineProperty(
  'lastModifiedDate',
  'Last Modified Date',
  'date-time',
  'lastmodifieddate',
);
export const EXTERNAL_ID = defineProperty('externalId', 'External ID', 'string', 'externalid', {
  writes: 'always',
});
export const INACTIVE = defineProperty('isInactive', 'Inactive', 'boolean', 'isinactive', {
  writes: 'always',
});
export const SUBSIDIARY = defineProperty('subsidiary', 'Subsidiary', 'reference', 'subsidiary', {
  to: 'subsidiary',
});
export const EMAIL = defineProperty('email', 'Email', 'string', 'email', { writes: 'always' });
export const PHONE = defineProperty('phone', 'Phone', 'string', 'phone', { writes: 'always' });
export const FIRST_NAME = defineProperty('firstName', 'First Name', 'string', 'firstname', {
  writes: 'always',
});
export const LAST_NAME = defineProperty('lastName', 'Last Name', 'string', 'lastname', { writes: 'always' });
export const COMPANY_NAME = defineProperty('companyName', 'Company Name', 'string', 'companyname', {
  writes: 'always',
});
export const CREATED = defineProperty('dateCreated', 'Date Created', 'date-time', 'datecreated');

export const TRANSACTION: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  defineProperty('tranId', 'Document Number', 'string', 'tranid', { writes: 'always' }),
  defineProperty('tranDate', 'Date', 'date', 'trandate', { writes: 'always' }),
  CURRENCY,
  defineProperty('exchangeRate', 'Exchange Rate', 'number', 'exchangerate', { writes: 'always' }),
  defineProperty('memo', 'Memo', 'string', 'memo', { writes: 'always' }),
  defineProperty('createdDate', 'Date Created', 'date-time', 'createddate'),
  SUBSIDIARY,
  CHANGED,
];
export const OTHER_NUMBER = defineProperty('otherRefNum', 'PO/Check Number', 'string', 'otherrefnum', {
  writes: 'always',
});

export const PERSON: readonly Property[] = [
  ID,
  EXTERNAL_ID,
  INACTIVE,
  defineProperty('entityId', 'Name', 'string', 'entityid'),
  EMAIL,
  PHONE,
  CREATED,
  CHANGED,
  SUBSIDIARY,
];
/** The record service serves them read-only. */
export const readOnly = (properties: readonly Property[]): Property[] =>
  properties.map(({ writes: _writes, ...rest }) => rest);
