// Business Central's API v2.0, abridged: names, types, keys and habits of its public metadata and documentation.
import {
  decimal,
  type EntitySet,
  guid,
  guidKey,
  type Profile,
  type Properties,
  property,
  text,
} from './profile.ts';

const time = property('DateTimeOffset');
const date = property('Date');
const of = (type: string): { type: string } => ({ type });

const contact: Properties = {
  addressLine1: text(100, 'Generated street {n}'),
  city: text(30, ['Teststadt', 'Sampleton', 'Exempleville']),
  country: text(10, ['DE', 'GB', 'FR']),
  postalCode: text(20, 'T{n:5}'),
  phoneNumber: text(30),
  email: text(80, 'record-{n}@generated.example'),
};

const customers: EntitySet = {
  name: 'customers',
  type: 'customer',
  keys: ['id'],
  changed: 'lastModifiedDateTime',
  properties: {
    id: guidKey,
    number: text(20, 'C{n:6}'),
    displayName: text(100, 'Generated customer {n}'),
    type: of('contactType'),
    ...contact,
    creditLimit: decimal(2),
    currencyCode: text(10, ['EUR', 'GBP', 'USD']),
    balanceDue: decimal(2),
    blocked: of('customerBlocked'),
    taxLiable: property('Boolean'),
    lastModifiedDateTime: time,
  },
};
const vendors: EntitySet = {
  name: 'vendors',
  type: 'vendor',
  keys: ['id'],
  changed: 'lastModifiedDateTime',
  properties: {
    id: guidKey,
    number: text(20, 'V{n:6}'),
    displayName: text(100, 'Generated vendor {n}'),
    ...contact,
    balance: decimal(2),
    blocked: of('vendorBlocked'),
    lastModifiedDateTime: time,
  },
};
const items: EntitySet = {
  name: 'items',
  type: 'item',
  keys: ['id'],
  changed: 'lastModifiedDateTime',
  properties: {
    id: guidKey,
    number: text(20, 'I{n:6}'),
    displayName: text(100, 'Generated item {n}'),
    type: of('itemType'),
    blocked: property('Boolean'),
    gtin: text(14),
    inventory: decimal(5),
    unitPrice: decimal(5),
    unitCost: decimal(5),
    baseUnitOfMeasureCode: text(10, ['PCS', 'BOX', 'KG']),
    lastModifiedDateTime: time,
  },
};
const document: Properties = {
  customerId: guid({ refers: 'customers' }),
  customerName: text(100, 'Generated customer {n}'),
  currencyCode: text(10, ['EUR', 'GBP', 'USD']),
  totalAmountExcludingTax: decimal(2, { sumOf: 'amountExcludingTax' }),
  totalTaxAmount: decimal(2, { sumOf: 'totalTaxAmount' }),
  lastModifiedDateTime: time,
};
const customer = { set: 'customers', by: { customerId: 'id' } };
const salesInvoices: EntitySet = {
  name: 'salesInvoices',
  type: 'salesInvoice',
  keys: ['id'],
  changed: 'lastModifiedDateTime',
  refusesDeltas: true,
  references: { customer },
  lines: { navigation: 'salesInvoiceLines', set: 'salesInvoiceLines' },
  properties: {
    id: guidKey,
    number: text(20, 'SI{n:6}'),
    externalDocumentNumber: text(35),
    invoiceDate: date,
    postingDate: date,
    dueDate: date,
    ...document,
    status: of('invoiceEntityAggregateStatus'),
    remainingAmount: decimal(2),
  },
};
const salesInvoiceLines: EntitySet = {
  name: 'salesInvoiceLines',
  type: 'salesInvoiceLine',
  keys: ['id'],
  header: { set: 'salesInvoices', by: { documentId: 'id' }, number: 'sequence', step: 10_000 },
  isOnlyByHeader: true,
  references: { item: { set: 'items', by: { itemId: 'id' } } },
  properties: {
    id: guidKey,
    documentId: guidKey,
    sequence: property('Int32', { isRequired: true }),
    itemId: guid({ refers: 'items' }),
    lineType: of('invoiceLineAggLineType'),
    lineObjectNumber: text(20, 'I{n:6}'),
    description: text(100, 'Generated line {n}'),
    unitPrice: decimal(5),
    quantity: decimal(5),
    amountExcludingTax: decimal(2),
    totalTaxAmount: decimal(2),
    shipmentDate: date,
  },
};
const salesOrders: EntitySet = {
  name: 'salesOrders',
  type: 'salesOrder',
  keys: ['id'],
  changed: 'lastModifiedDateTime',
  references: { customer },
  properties: {
    id: guidKey,
    number: text(20, 'SO{n:6}'),
    orderDate: date,
    ...document,
    status: of('salesOrderEntityBufferStatus'),
    fullyShipped: property('Boolean'),
  },
};

export const businessCentral: Profile = {
  name: 'businessCentral',
  root: '/v2.0/11111111-1111-4111-8111-111111111111/Sandbox/api/v2.0/',
  namespace: 'Microsoft.NAV',
  container: 'NAV',
  version: '4.0',
  signIn: 'oauth2',
  maxPageSize: 20_000,
  hasRelativeLinks: false,
  timeDigits: 3,
  keepsZeros: false,
  deletedEntities: 'bareKey',
  hasNoNulls: true,
  labels: 'none',
  companies: 'companies',
  enums: {
    contactType: ['Company', 'Person'],
    customerBlocked: ['_x0020_', 'Ship', 'Invoice', 'All'],
    vendorBlocked: ['_x0020_', 'Payment', 'All'],
    itemType: ['Inventory', 'Service', 'Non_x002D_Inventory'],
    invoiceEntityAggregateStatus: [
      '_x0020_',
      'Draft',
      'In_x0020_Review',
      'Open',
      'Paid',
      'Canceled',
      'Corrective',
    ],
    salesOrderEntityBufferStatus: ['Draft', 'In_x0020_Review', 'Open'],
    invoiceLineAggLineType: ['Comment', 'Account', 'Item', 'Resource', 'Fixed_x0020_Asset', 'Charge'],
  },
  complexTypes: {},
  sets: [
    {
      name: 'companies',
      type: 'company',
      keys: ['id'],
      changed: 'systemModifiedAt',
      properties: {
        id: guidKey,
        name: text(30, 'Generated company {n}'),
        displayName: text(250, 'Generated company {n}'),
        systemModifiedAt: time,
      },
    },
    customers,
    vendors,
    items,
    salesInvoices,
    salesInvoiceLines,
    salesOrders,
  ],
};
