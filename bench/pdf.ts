// Time, memory and size of PDFs: invoices of 10 to 5,000 lines with six columns, each in a process of its own, of
// which the first document starts the thread. Usage: npm run bench -- pdf [rounds, default 5]
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createPdfWriter, type PdfDocument } from '../src/pdf/index.ts';

type Measured = {
  readonly firstMs: number;
  readonly nextMs: number;
  /** Of the second document, in all threads. */
  readonly cpuMs: number;
  readonly addedMb: number;
  readonly kB: number;
};

const words =
  'Steel bracket galvanised M8 × 40 with washer, Größe Ελλάδα Москва hydraulic pump seal kit'.split(' ');
const times = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => create(index));
const columns: PdfDocument['tables'][number]['columns'] = [
  { label: 'Item', numeric: false },
  { label: 'Description', numeric: false, wide: true },
  { label: 'Delivered', numeric: false },
  { label: 'Quantity', numeric: true },
  { label: 'Unit price', numeric: true },
  { label: 'Amount', numeric: true },
];
const createInvoice = (lines: number): PdfDocument => ({
  language: 'en',
  title: 'Invoice INV-1001',
  brand: { name: 'Northwind Ltd', accent: '#0f766e', logo: null },
  from: ['12 Harbour Street', 'Bristol'],
  to: ['Ellis & Søn ApS', 'København'],
  facts: [['Number', 'INV-1001']],
  tables: [
    {
      title: null,
      columns,
      rows: times(lines, (line) => [
        `IT-${10_000 + line}`,
        times(3 + (line % 9), (word) => words[(line * 7 + word) % words.length]).join(' '),
        '2 Mar 2026',
        String(1 + (line % 50)),
        ((line * 7.13) % 999).toFixed(2),
        ((line * 1131.77) % 99_999).toFixed(2),
      ]),
      totals: [{ label: 'Total', value: '£1.00', strong: true }],
    },
  ],
  notes: [],
  pageOf: 'Page {page} of {pages}',
});

/** The highest that the process has had. */
const peakMb = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024;

async function measure(lines: number): Promise<Measured> {
  const document = createInvoice(lines);
  const writer = createPdfWriter();
  const before = peakMb();
  const time = async (): Promise<[ms: number, bytes: number]> => {
    const start = performance.now();
    const result = await writer.write('bench', document);
    if ('cannotSet' in result) throw new Error(`can't set ${result.cannotSet}`);
    return [performance.now() - start, result.bytes.length];
  };
  const [firstMs, bytes] = await time();
  const cpu = process.cpuUsage();
  const [nextMs] = await time();
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = (user + system) / 1_000;
  return { firstMs, nextMs, cpuMs, addedMb: peakMb() - before, kB: bytes / 1_000 };
}

function measureApart(lines: number): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, ['measure', String(lines)]);
    child.once('message', (measured) => resolve(measured as Measured));
    child.once('exit', (code) => reject(new Error(`the measuring process ended with ${code}`)));
  });
}

const [mode, count] = process.argv.slice(2);
if (mode === 'measure') {
  process.send?.(await measure(Number(count)));
} else {
  const rounds = Number(mode ?? 5);
  const shown: readonly [name: string, of: (measured: Measured) => number][] = [
    ['first, ms', ({ firstMs }) => firstMs],
    ['next, ms', ({ nextMs }) => nextMs],
    ['CPU of next, ms', ({ cpuMs }) => cpuMs],
    ['peak RSS, MB more', ({ addedMb }) => addedMb],
    ['size, kB', ({ kB }) => kB],
  ];
  const print = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
  print(['lines', ...shown.map(([name]) => name)]);
  print(['---', ...shown.map(() => '---')]);
  for (const lines of [10, 200, 2_000, 5_000]) {
    const all: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) all.push(await measureApart(lines));
    const cells = shown.map(([, of]) => {
      const sorted = all.map(of).sort((a, b) => a - b);
      const [median = 0, min = 0, max = 0] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)];
      return `${median.toFixed(0)} (${min.toFixed(0)}–${max.toFixed(0)})`;
    });
    print([String(lines), ...cells]);
  }
}
