// What the demo publishes as v1: customers, items, invoices and credit memos with their lines, under names
// that the wholesaler's customers would use. It starts from what the service proposes for the synced records:
// edit-proposal.ts gives that the names and the fields of here.

import { journalLines } from './journal-lines.ts';

const text = ['eq', 'contains', 'starts_with'];
const range = ['eq', 'gte', 'lte', 'gt', 'lt'];
const dates = ['eq', 'after', 'before', 'gte', 'lte', 'null'];
const field = (name: string, source: string, description: string) => ({ name, source, description });

const invoices = {
  name: 'invoices',
  recordType: 'invoice',
  description: 'Invoices to wholesale customers, with their lines. Cash sales have no customer.',
  fields: [
    field('number', 'tranid', 'The number printed on the invoice'),
    field('date', 'trandate', 'Date of the invoice'),
    field('dueDate', 'duedate', 'When it is due'),
    field('status', 'displayStatus', 'Open or paid in full, as the ERP names it'),
    { ...field('customerId', 'entity', 'Id of the customer; null for a cash sale'), scopable: true },
    field('customerName', 'entity.name', 'Name of the customer in the ERP'),
    field('currency', 'currency.name', 'Currency of the amounts'),
    field('total', 'foreigntotal', "Total in the invoice's currency, with tax"),
    field('tax', 'taxtotal', 'Tax in the total; null where there is none'),
    field('amountDue', 'foreignamountunpaid', 'What is still to be paid'),
    { ...field('isPosted', 'posting', 'False until it is posted to the ledger'), scopable: true },
    field('modifiedAt', 'lastmodifieddate', 'When the ERP last changed it'),
    {
      ...field(
        'lines',
        'lines',
        'The lines, in their order. Quantities and amounts are positive; those of a discount are negative',
      ),
      fields: [
        field('line', 'linesequencenumber', 'Number of the line'),
        field('itemId', 'item', 'Id of the item'),
        field('item', 'item.name', 'Stock code of the item'),
        field('description', 'memo', 'What was sold'),
        field('quantity', 'displayQuantity', 'Pieces'),
        field('rate', 'rate', 'Price of a piece'),
        field('amount', 'displayForeignAmount', 'Amount of the line'),
      ],
    },
  ],
  filters: [
    { field: 'number', operators: text },
    { field: 'date', operators: dates },
    { field: 'dueDate', operators: dates },
    { field: 'status', operators: ['eq', 'not'] },
    { field: 'customerId', operators: ['eq', 'null'] },
    { field: 'customerName', operators: text },
    { field: 'total', operators: range },
    { field: 'amountDue', operators: range },
    { field: 'modifiedAt', operators: dates },
  ],
  sorts: ['number', 'date', 'dueDate', 'total', 'amountDue', 'modifiedAt'],
  defaultSort: { field: 'date', order: 'desc' },
  maxPageSize: 1000,
};

const customers = {
  name: 'customers',
  recordType: 'customer',
  description: "The wholesaler's customers.",
  fields: [
    field('number', 'entityid', 'Customer number in the ERP'),
    field('isPerson', 'isperson', 'A person rather than a company'),
    field('isInactive', 'isinactive', 'No longer buys here'),
    field('currency', 'currency.name', 'Currency the customer buys in'),
    field('createdAt', 'datecreated', 'When the ERP first knew the customer'),
    field('modifiedAt', 'lastmodifieddate', 'When the ERP last changed the customer'),
  ],
  filters: [
    { field: 'number', operators: text },
    { field: 'isInactive', operators: ['eq'] },
    { field: 'createdAt', operators: dates },
    { field: 'modifiedAt', operators: dates },
  ],
  sorts: ['number', 'createdAt', 'modifiedAt'],
  defaultSort: { field: 'number', order: 'asc' },
  maxPageSize: 1000,
};

const creditDescriptions: Readonly<Record<string, string>> = {
  status: 'Open or fully applied, as the ERP names it',
  total: "Total in the credit memo's currency, with tax, negative: it lowers what the customer owes",
  lines: 'The lines, in their order. Quantities and amounts are positive, as on the credit memo',
};

const creditMemos = {
  ...invoices,
  name: 'credit-memos',
  recordType: 'creditMemo',
  description: 'Credits given to wholesale customers, with their lines.',
  fields: invoices.fields
    .filter(({ name }) => name !== 'dueDate' && name !== 'amountDue')
    .map((given) => ({
      ...given,
      description: creditDescriptions[given.name] ?? given.description.replace('invoice', 'credit memo'),
    })),
  filters: invoices.filters.filter((filter) => filter.field !== 'dueDate' && filter.field !== 'amountDue'),
  sorts: invoices.sorts.filter((sort) => sort !== 'dueDate' && sort !== 'amountDue'),
};

const items = {
  name: 'items',
  recordType: 'item',
  description: 'What the wholesaler sells.',
  fields: [
    field('code', 'itemid', 'Stock code'),
    field('name', 'displayname', 'Name; some have none'),
    field('isInactive', 'isinactive', 'No longer sold'),
    field('modifiedAt', 'lastmodifieddate', 'When the ERP last changed the item'),
  ],
  filters: [
    { field: 'code', operators: text },
    { field: 'name', operators: text },
    { field: 'isInactive', operators: ['eq'] },
    { field: 'modifiedAt', operators: dates },
  ],
  sorts: ['code', 'name', 'modifiedAt'],
  defaultSort: { field: 'code', order: 'asc' },
  maxPageSize: 1000,
};

/** The lists alone, without what the proposal adds: see edit-proposal.ts. */
export const demoEndpoints = [invoices, customers, items, creditMemos];
export const demoRecordTypes = [
  { recordType: 'customer', name: 'Customers' },
  { recordType: 'item', name: 'Items' },
  { recordType: 'creditMemo', name: 'Credit memos' },
  { recordType: 'invoice', name: 'Invoices' },
];
/**
 * What the portal shows in addition: with invoices and credit memos, all that changes what customers owe. An
 * account without a profile has none of it.
 */
export const portalRecordTypes = [
  { recordType: 'customerPayment', name: 'Payments' },
  { recordType: 'customerRefund', name: 'Refunds' },
  { recordType: journalLines.name, name: 'Journal lines of customers' },
];
