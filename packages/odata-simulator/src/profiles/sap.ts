// SAP S/4HANA's purchase order service (OData v4), abridged: names, types, keys and habits of its public description.
import { decimal, type EntitySet, type Profile, property, text } from './profile.ts';

const labelled = (label: string): { label: string } => ({ label });
const keyText = (maxLength: number, label: string, sample: string) =>
  text(maxLength, sample, { isRequired: true, label });

const orders: EntitySet = {
  name: 'PurchaseOrder',
  type: 'PurchaseOrder_Type',
  keys: ['PurchaseOrder'],
  changed: 'LastChangeDateTime',
  lines: { navigation: '_PurchaseOrderItem', set: 'PurchaseOrderItem' },
  properties: {
    PurchaseOrder: keyText(10, 'Purchase Order', '45{n:8}'),
    PurchaseOrderType: text(4, ['NB', 'UB'], labelled('Purchase Order Type')),
    CompanyCode: text(4, ['1010', '1710'], labelled('Company Code')),
    CreationDate: property('Date', labelled('Creation Date')),
    PurchaseOrderDate: property('Date', labelled('Purchase Order Date')),
    Supplier: text(10, ['0010300001', '0010300002'], labelled('Supplier')),
    DocumentCurrency: text(3, ['EUR', 'USD'], labelled('Document Currency')),
    ExchangeRate: property('Decimal', { Precision: 9, Scale: 5, label: 'Exchange Rate' }),
    PurchasingCompletenessStatus: property('Boolean', labelled('Not Complete')),
    LastChangeDateTime: property('DateTimeOffset', { Precision: 7, label: 'Last Changed' }),
  },
};
const orderItems: EntitySet = {
  name: 'PurchaseOrderItem',
  type: 'PurchaseOrderItem_Type',
  keys: ['PurchaseOrder', 'PurchaseOrderItem'],
  header: {
    set: 'PurchaseOrder',
    by: { PurchaseOrder: 'PurchaseOrder' },
    number: 'PurchaseOrderItem',
    step: 10,
  },
  references: { _PurchaseOrder: { set: 'PurchaseOrder', by: { PurchaseOrder: 'PurchaseOrder' } } },
  properties: {
    PurchaseOrder: keyText(10, 'Purchase Order', '45{n:8}'),
    PurchaseOrderItem: keyText(5, 'Item', '{n}0'),
    PurchaseOrderItemText: text(40, 'Generated item {n}', labelled('Short Text')),
    Material: text(40, 'T{n:5}', labelled('Material')),
    Plant: text(4, ['1010', '1710'], labelled('Plant')),
    OrderQuantity: property('Decimal', { Precision: 13, Scale: 3, label: 'Order Quantity' }),
    PurchaseOrderQuantityUnit: text(3, ['ST', 'KG'], labelled('Order Unit')),
    NetPriceAmount: decimal(2, { Precision: 15, label: 'Net Order Price' }),
    IsCompletelyDelivered: property('Boolean', labelled('Delivery Completed')),
  },
};

export const sap: Profile = {
  name: 'sap',
  root: '/sap/opu/odata4/sap/api_purchaseorder_2/srvd_a2x/sap/purchaseorder/0001/',
  namespace: 'com.sap.gateway.srvd_a2x.api_purchaseorder_2.v0001',
  container: 'Container',
  version: '4.0',
  signIn: 'basic',
  maxPageSize: 5_000,
  hasRelativeLinks: true,
  timeDigits: 7,
  keepsZeros: true,
  deletedEntities: 'url',
  hasNoNulls: false,
  labels: 'annotation',
  enums: {},
  complexTypes: {},
  sets: [orders, orderItems],
};
