// A service of no vendor: integer keys, every primitive type once, a complex type, an enum and a collection.
import { decimal, type EntitySet, type Profile, type Properties, property, text } from './profile.ts';

const SHAPES = [
  '',
  'Point',
  'LineString',
  'Polygon',
  'MultiPoint',
  'MultiLineString',
  'MultiPolygon',
  'Collection',
];
const shapes: Properties = Object.fromEntries(
  ['Geography', 'Geometry'].flatMap((kind) =>
    SHAPES.map((shape) => [`A${kind}${shape}`, property(`${kind}${shape}`)]),
  ),
);
const key = property('Int32', { isRequired: true });

const things: EntitySet = {
  name: 'Things',
  type: 'Thing',
  keys: ['Id'],
  changed: 'ADateTimeOffset',
  references: { Group: { set: 'Groups', by: { GroupId: 'Code' } } },
  properties: {
    Id: key,
    GroupId: property('Int64', { refers: 'Groups' }),
    ABinary: property('Binary'),
    ABoolean: property('Boolean'),
    AByte: property('Byte'),
    ADate: property('Date'),
    ADateTimeOffset: property('DateTimeOffset', { Precision: 12 }),
    ADecimal: property('Decimal', { Precision: 38, Scale: 10 }),
    ADouble: property('Double'),
    ADuration: property('Duration', { Precision: 12 }),
    AGuid: property('Guid'),
    AnInt16: property('Int16'),
    AnInt32: property('Int32'),
    AnInt64: property('Int64'),
    AnSByte: property('SByte'),
    ASingle: property('Single'),
    AStream: property('Stream'),
    AString: text(200, "Generated 'thing' {n} & 100 % more"),
    ATimeOfDay: property('TimeOfDay', { Precision: 12 }),
    ...shapes,
    Colour: { type: 'Colour' },
    Size: { type: 'Size' },
    Tags: { type: 'Collection(Edm.String)' },
  },
};
const groups: EntitySet = {
  name: 'Groups',
  type: 'Group',
  keys: ['Code'],
  properties: { Code: property('Int64', { isRequired: true }), Name: text(50, 'Generated group {n}') },
};
const orders: EntitySet = {
  name: 'Orders',
  type: 'Order',
  keys: ['Id'],
  changed: 'ModifiedAt',
  lines: { navigation: 'Lines', set: 'OrderLines' },
  properties: {
    Id: key,
    Number: text(20, 'O{n:6}'),
    Total: decimal(4, { sumOf: 'Amount' }),
    ModifiedAt: property('DateTimeOffset', { Precision: 12 }),
  },
};
const orderLines: EntitySet = {
  name: 'OrderLines',
  type: 'OrderLine',
  keys: ['OrderId', 'LineNo'],
  header: { set: 'Orders', by: { OrderId: 'Id' }, number: 'LineNo', step: 1 },
  properties: { OrderId: key, LineNo: key, Text: text(100, 'Generated line {n}'), Amount: decimal(4) },
};

export const generic: Profile = {
  name: 'generic',
  root: '/odata/',
  namespace: 'Generic.Service',
  container: 'Container',
  version: '4.01',
  signIn: 'header',
  maxPageSize: 1_000,
  hasRelativeLinks: false,
  timeDigits: 12,
  keepsZeros: true,
  deletedEntities: 'url',
  hasNoNulls: false,
  labels: 'attribute',
  enums: { Colour: ['Red', 'Green', 'Blue'] },
  complexTypes: { Size: { Width: decimal(3), Unit: text(10, ['mm', 'cm']) } },
  sets: [things, groups, orders, orderLines],
};
