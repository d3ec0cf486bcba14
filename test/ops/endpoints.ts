// The endpoints that a small company publishes.
const field = (name: string, source: string) => ({ name, source, description: '' });
const modified = field('modified', 'lastmodifieddate');
const lineFields = [
  field('line', 'linesequencenumber'),
  field('quantity', 'quantity'),
  field('amount', 'netamount'),
  field('text', 'memo'),
];
const fieldsByType = {
  customer: [
    field('number', 'entityid'),
    field('phone', 'phone'),
    field('balance', 'balancesearch'),
    modified,
  ],
  invoice: [
    field('number', 'tranid'),
    field('memo', 'memo'),
    field('customer', 'entity.name'),
    field('total', 'foreigntotal'),
    modified,
    field('due', 'foreignamountunpaid'),
    { ...field('lines', 'lines'), fields: lineFields },
  ],
} as const;

/** One for each record type, under its own name. */
export const endpointsFor = (recordTypes: readonly (keyof typeof fieldsByType)[]) =>
  recordTypes.map((recordType) => ({
    name: recordType,
    recordType,
    description: '',
    fields: fieldsByType[recordType],
    maxPageSize: 1_000,
  }));
