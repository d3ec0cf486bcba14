// Documents for the tests of PDFs.
import type { PdfDocument, PdfTable } from '../../src/pdf/index.ts';

export const emptyDocument: PdfDocument = {
  ...{ language: 'en-GB', title: '', from: [], to: [], facts: [], tables: [], notes: [] },
  brand: { name: '', accent: '#0f766e', logo: null },
  pageOf: '',
};

const columns: PdfTable['columns'] = [
  { label: 'Item', numeric: false },
  { label: 'Description', numeric: false, wide: true },
  { label: 'Delivered', numeric: false },
  { label: 'Amount', numeric: true },
];

/** Distinct cells that fit in one line. */
export const createRows = (count: number): string[][] =>
  Array.from({ length: count }, (_, index) => [
    `IT-${1_000 + index}`,
    `Steel bracket no. ${index}`,
    `${1 + (index % 28)} Mar 2026`,
    `−£${index},${100 + (index % 900)}.50`,
  ]);

export const createInvoice = (
  rows: readonly (readonly string[])[],
  given: Partial<PdfDocument> = {},
): PdfDocument => ({
  language: 'en-GB',
  title: 'Invoice INV-1001',
  brand: { name: 'Northwind Ltd', accent: '#0f766e', logo: null },
  from: ['12 Harbour Street', 'Bristol'],
  to: ['Ellis & Søn ApS', 'København'],
  facts: [
    ['Number', 'INV-1001'],
    ['Due date', '1 April 2026'],
  ],
  tables: [
    {
      title: 'Lines',
      columns,
      rows,
      totals: [
        { label: 'Subtotal', value: '£100.00' },
        { label: 'VAT 20 %', value: '£20.00' },
        { label: 'Amount due', value: '£120.00', strong: true },
      ],
    },
  ],
  notes: ['Thank you.'],
  pageOf: 'Page {page} of {pages}',
  ...given,
});
