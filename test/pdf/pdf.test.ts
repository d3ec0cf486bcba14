import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createPdfWriter, type PdfDocument, type PdfLogo, pdfLimits } from '../../src/pdf/index.ts';
import { createInvoice, createRows, emptyDocument } from './documents.ts';
import { readPdf, textsOf } from './read-pdf.ts';

const writer = createPdfWriter();
const paperWidth = 595.28;

async function write(document: PdfDocument): Promise<Uint8Array> {
  const result = await writer.write('a', document);
  if ('cannotSet' in result) throw new Error(`can't set ${result.cannotSet}`);
  return result.bytes;
}
const read = async (document: PdfDocument) => readPdf(await write(document));
const withCell = (text: string): PdfDocument => createInvoice([['IT-1', text, '1 Mar 2026', '£1.00']]);

describe('a document', () => {
  it('has every text in order, the head of its table on each page, and numbered footers', async () => {
    const rows = createRows(120);
    const pdf = await read(createInvoice(rows));
    const count = pdf.pages.length;
    expect(count).toBe(5);
    const head = ['Item', 'Description', 'Delivered', 'Amount'];
    const pages = pdf.pages.map(({ pieces }) => pieces.map(({ text }) => text));
    for (const [index, page] of pages.entries()) {
      expect(page.splice(-2)).toEqual(['Northwind Ltd · Invoice INV-1001', `Page ${index + 1} of ${count}`]);
      if (index > 0) expect(page.splice(0, 4)).toEqual(head);
    }
    expect(pages.flat()).toEqual([
      ...[
        'Northwind Ltd',
        '12 Harbour Street',
        'Bristol',
        'Ellis & Søn ApS',
        'København',
        'Invoice INV-1001',
      ],
      ...['Number', 'INV-1001', 'Due date', '1 April 2026', 'Lines', ...head, ...rows.flat()],
      ...['Subtotal', '£100.00', 'VAT 20 %', '£20.00', 'Amount due', '£120.00', 'Thank you.'],
    ]);
  });

  it('has right-aligned numbers in digits of one width', async () => {
    const amounts = ['1,111.11', '8,888.88', '−4,040.40'];
    const pdf = await read(createInvoice(amounts.map((amount) => ['IT-1', 'x', '1 Mar 2026', amount])));
    const pieces = amounts.flatMap(
      (amount) => pdf.pages[0]?.pieces.find(({ text }) => text === amount) ?? [],
    );
    const [one, eight] = pieces.map(({ x, right }) => right - x);
    expect(one).toBeCloseTo(eight ?? 0, 3);
    for (const { right } of pieces) expect(right).toBeCloseTo(541.28, 1);
  });

  it.each(Array.from({ length: 7 }, (_, index) => 13 + index))(
    'keeps its totals together, with the last of %i rows',
    async (count) => {
      const { pages } = await read(createInvoice(createRows(count)));
      const pageOf = (wanted: string): number =>
        pages.findIndex(({ pieces }) => pieces.some(({ text }) => text === wanted));
      const last = pageOf(`IT-${1_000 + count - 1}`);
      expect([pageOf('Subtotal'), pageOf('VAT 20 %'), pageOf('£120.00')]).toEqual([last, last, last]);
    },
  );

  it('names itself in its metadata, and gives the same bytes each time', async () => {
    const document = createInvoice(createRows(3), { title: 'Rechnung (1) \\ „Ä“' });
    const bytes = await write(document);
    const { info, language } = await readPdf(bytes);
    expect(info).toMatchObject({ Title: 'Rechnung (1) \\ „Ä“', Author: 'Northwind Ltd' });
    expect([language, info['CreationDate']]).toEqual(['en-GB', undefined]);
    expect(Buffer.from(await write(document)).equals(bytes)).toBe(true);
    // Of a new thread as well.
    const other = await createPdfWriter().write('b', document);
    expect('bytes' in other && Buffer.from(other.bytes).equals(bytes)).toBe(true);
  });

  it('may be empty', async () => {
    const pdf = await read(emptyDocument);
    expect([pdf.pages.length, textsOf(pdf)]).toEqual([1, []]);
    const tables = [{ title: null, columns: [], rows: [[]], totals: [] }];
    expect((await read({ ...emptyDocument, tables })).pages).toHaveLength(1);
  });
});

describe('a text', () => {
  it.each([
    ['Latin with diacritics', 'Żółć ÄÖÜ ß ẞ ñ Đ ığ Ș'],
    ['Greek', 'Κατάσταση λογαριασμού'],
    ['Cyrillic', 'Счёт на оплату № 5 – Їжак'],
    ['currencies and signs', '€ £ ₴ ₺ ₹ ½ × · “quoted” … −5 %'],
    ['marks without a composed form', 'q\u0301 x\u0323'],
    ['PDF syntax', '(a) Tj ET \\ ) <</S /URI>> %'],
    ['markup', '<b>{{x}}</b> &amp; [a](b)'],
    ['pairs that fonts replace', '3x4 -> <= ffi 1/2'],
  ])('of %s can be read back', async (_what, text) => {
    expect(textsOf(await read(withCell(text)))).toContain(text);
  });

  it.each([
    ['composed', 'Mu\u0308ller', 'Müller'],
    ['soft hyphens and zero-width characters', 'in\u00advo\u200bi\u200dce\ufeff', 'invoice'],
    ['marks of direction', '\u200e\u202e1\u2066 2\u2069\u061c', '1 2'],
    ['controls', 'a\u0000b\u0007c\u001b', 'abc'],
    ['tabs', 'a\tb', 'a b'],
    ['spaces within numbers', '1\u202f234\u00a0567', '1\u202f234\u00a0567'],
  ])('is set without what is invisible: %s', async (_what, text, expected) => {
    const texts = textsOf(await read(withCell(text)));
    // Two kinds of spaces may share a glyph.
    expect(texts.map((each) => each.replaceAll(/\s/g, ' '))).toContain(expected.replaceAll(/\s/g, ' '));
  });

  it.each([
    ['Chinese', '漢字', '漢字'],
    ['emoji', 'ok 👍🏽', '👍🏽'],
    ['Arabic', 'a فاتورة', 'فاتورة'],
    ['Hebrew', 'חשבון 5', 'חשבון'],
    ['Thai', 'ใบ', 'ใบ'],
    ['Devanagari', 'क्ष', 'क्ष'],
    ['halves of characters', 'a\ud83d', '\ufffd'],
    ['private use', '\ue000', '\ue000'],
  ])('in %s is named instead of set', async (_what, text, expected) => {
    const distinct = [...new Set(expected)].join('');
    expect(await writer.write('a', withCell(text))).toEqual({ cannotSet: distinct });
  });

  it('that can not be set is found everywhere; at most twenty characters are named', async () => {
    const many = Array.from({ length: 30 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
    const document = createInvoice([], { title: '一', notes: [many], pageOf: '頁' });
    expect(await writer.write('a', document)).toEqual({ cannotSet: many.slice(0, 20) });
    expect(await writer.write('a', { ...emptyDocument, pageOf: '頁' })).toEqual({ cannotSet: '頁' });
  });
});

const longCells = [
  ['without spaces', 'x'.repeat(10_000)],
  ['of words', 'several words '.repeat(714).trim()],
  ['of lines', Array.from({ length: 300 }, (_, index) => `line ${index}`).join('\n')],
  ['of marks', `e${'\u0301\u0323'.repeat(200)}`],
] as const;

describe('a hostile document', () => {
  const assertOnPaper = async (document: PdfDocument) => {
    const pdf = await read(document);
    for (const { pieces } of pdf.pages)
      for (const { text, x, right, y } of pieces)
        expect(x > 50 && right < paperWidth - 50 && y > 30 && y < 800, `${text} at ${x}, ${y}`).toBe(true);
    return pdf;
  };

  it.each(longCells)('keeps long cells %s on the paper, and loses nothing', async (_what, cell) => {
    const document = createInvoice([[cell, cell, '1 Mar 2026', '£1.00'], ...createRows(2)]);
    const pdf = await assertOnPaper(document);
    const set = textsOf(pdf).join('').replaceAll(/\s/g, '');
    const characters = (text: string): number => text.split(cell[0] ?? '').length - 1;
    const expected = cell.normalize('NFC').replaceAll(/\s/g, '');
    expect(characters(set)).toBeGreaterThanOrEqual(2 * characters(expected));
  });

  it('keeps long texts everywhere else on the paper', async () => {
    const long = 'x'.repeat(4_000);
    const document = createInvoice([[long, long, long, long]], {
      title: long,
      brand: { name: long, accent: 'red); evil', logo: null },
      from: [long],
      to: [long],
      facts: [[long, long]],
      notes: [long],
      pageOf: long,
    });
    const [table] = document.tables;
    if (table === undefined) throw new Error('no table');
    const columns = table.columns.map((column) => ({ ...column, label: long }));
    const totals = [{ label: long, value: long }, ...table.totals];
    await assertOnPaper({ ...document, tables: [{ ...table, title: long, columns, totals }] });
  });

  it.each([30, 500])('keeps %i columns on the paper', async (count) => {
    const columns = Array.from({ length: count }, (_, index) => ({
      label: `C${index}`,
      numeric: index % 2 > 0,
    }));
    const rows = [columns.map((_column, index) => `${index},000.00`)];
    await assertOnPaper({ ...emptyDocument, tables: [{ title: null, columns, rows, totals: [] }] });
  });

  it('becomes no link, script or file', async () => {
    const evil = ['https://evil.test/', 'javascript:app.alert(1)', '/OpenAction << /S /JavaScript >>'];
    const pdf = await read(
      createInvoice(
        evil.map((text) => [text, text, text, text]),
        { notes: evil },
      ),
    );
    expect(pdf.pages.map(({ annotations }) => annotations)).toEqual(pdf.pages.map(() => 0));
    expect(pdf.extras).toEqual([null, null, null]);
  });

  it('that is too large is refused', async () => {
    const logo: PdfLogo = { type: 'image/png', bytes: new Uint8Array(pdfLimits.maxLogoBytes + 1) };
    const large: [string, PdfDocument][] = [
      ['too_many_rows', createInvoice(createRows(pdfLimits.maxRows + 1))],
      ['too_much_text', withCell('x'.repeat(pdfLimits.maxTextBytes))],
      ['logo_too_large', createInvoice([], { brand: { ...emptyDocument.brand, logo } })],
    ];
    for (const [code, document] of large)
      await expect(writer.write('a', document)).rejects.toMatchObject({ status: 422, details: [{ code }] });
  });

  it('that takes too much time or memory is refused, and the next one is written', async () => {
    const strict = createPdfWriter({ deadlineMs: 50 });
    const small = createPdfWriter({ heapMb: 24 });
    const document = createInvoice(createRows(5_000));
    await expect(strict.write('a', document)).rejects.toMatchObject({ details: [{ code: 'too_slow' }] });
    await expect(small.write('a', document)).rejects.toMatchObject({ details: [{ code: 'too_much_work' }] });
    expect(await small.write('a', withCell('x'))).toMatchObject({ bytes: expect.any(Uint8Array) });
  });

  it('waits for others, and is refused when too many of its organization wait', async () => {
    const ofOne = Array.from({ length: pdfLimits.maxWaitingPerOwner + 2 }, () =>
      writer.write('a', emptyDocument),
    );
    const all = await Promise.allSettled([...ofOne, writer.write('b', emptyDocument)]);
    const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(refused).toMatchObject([{ status: 503, details: [{ code: 'unavailable' }] }]);
  });
});

const chunk = (name: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length);
  head.write(name, 4, 'latin1');
  // Nothing here checks the sum.
  return Buffer.concat([head, data, Buffer.alloc(4)]);
};

/** `type` 2 is RGB, 6 has transparency. */
function createPng(width: number, height: number, type: 2 | 6, rows = height, filter = 1): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, type], 8);
  const pixels = deflateSync(Buffer.alloc(rows * (1 + width * (type === 2 ? 3 : 4)), filter));
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
const svg = (inside: string): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 30">${inside}</svg>`);
const nested = Array.from(
  { length: 30 },
  (_, index) => `<g id="n${index + 1}"><use href="#n${index}"/><use href="#n${index}"/></g>`,
);

describe('a logo', () => {
  const writeWith = async (type: PdfLogo['type'], bytes: Uint8Array) => {
    const document = createInvoice([], { brand: { ...createInvoice([]).brand, logo: { type, bytes } } });
    const written = await write(document);
    const [first] = textsOf(await readPdf(written));
    return { isDrawn: first !== 'Northwind Ltd', written };
  };

  it.each<[string, PdfLogo['type'], Buffer]>([
    ['a PNG', 'image/png', createPng(200, 60, 2)],
    ['a PNG with transparency', 'image/png', createPng(200, 60, 6)],
    ['a very wide PNG', 'image/png', createPng(4_096, 1, 6)],
    ['an SVG', 'image/svg+xml', svg('<style>.a{fill:#c00}</style><path class="a" d="M0 0H90V20Z"/>')],
  ])('of %s is drawn, and in the place of the name', async (_what, type, bytes) => {
    const { isDrawn, written } = await writeWith(type, bytes);
    const plain = await write(createInvoice([]));
    expect(isDrawn).toBe(true);
    expect(Buffer.from(written).equals(plain)).toBe(false);
  });

  it.each<[string, PdfLogo['type'], Buffer]>([
    ['WebP', 'image/webp', Buffer.from('RIFF....WEBPVP8L')],
    ['a PNG of extreme dimensions', 'image/png', createPng(60_000, 60_000, 6, 1)],
    ['a PNG without pixels', 'image/png', createPng(0, 0, 6)],
    ['a PNG with too few pixels', 'image/png', createPng(200, 60, 6, 59)],
    ['a PNG with an unknown filter', 'image/png', createPng(200, 60, 6, 60, 9)],
    ['half a PNG', 'image/png', createPng(200, 60, 6).subarray(0, 60)],
    ['no PNG', 'image/png', Buffer.alloc(400, 7)],
    ['an empty SVG', 'image/svg+xml', svg('')],
    ['no SVG', 'image/svg+xml', Buffer.from('<html><body>hello')],
    ['an SVG that is cut off', 'image/svg+xml', svg('<rect width="9" height="9"').subarray(0, 90)],
    [
      'an SVG with an address',
      'image/svg+xml',
      svg('<image href="http://127.0.0.1:9/x.png" width="9" height="9"/>'),
    ],
    ['an SVG with a file', 'image/svg+xml', svg('<image href="/etc/hostname" width="9" height="9"/>')],
    [
      'an SVG with a link',
      'image/svg+xml',
      svg('<a href="https://evil.test"><rect width="9" height="9"/></a>'),
    ],
    ['an SVG with text', 'image/svg+xml', svg('<text y="9">Northwind</text>')],
    [
      'an SVG that draws too much',
      'image/svg+xml',
      svg(`<rect id="n0" width="1" height="1"/>${nested.join('')}`),
    ],
    [
      'a pattern of a pattern',
      'image/svg+xml',
      svg(
        '<pattern id="p" width="1e-9" height="1e-9"><rect width="9" height="9" fill="url(#p)"/></pattern><use href="#u" id="u"/><rect width="99" height="9" fill="url(#p)"/>',
      ),
    ],
  ])('of %s leaves the name', async (_what, type, bytes) => {
    const { isDrawn, written } = await writeWith(type, bytes);
    expect(isDrawn).toBe(false);
    expect(Buffer.from(written).includes('/URI')).toBe(false);
  });
});
