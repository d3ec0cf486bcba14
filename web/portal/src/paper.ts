// The texts of a record and of a statement on paper: what their pages say, without what one can do there.
import type { Paper, Renderer } from '../../../src/portal/renderer-model.ts';
import type { Language, RecordPage, Table, Value } from '../../../src/portal/view-model.ts';
import { isZero } from './formats.ts';
import { createTexts, type Texts } from './texts.ts';

export function valueText(texts: Texts, value: Value): string {
  if (value === null) return '';
  switch (value.kind) {
    case 'text':
    case 'number-of-record':
    case 'status':
      return value.text;
    case 'label':
      return texts.label(value.label);
    case 'number':
      return texts.number(value.value, value.digits);
    case 'money':
      return texts.money(value, value.digits);
    case 'date':
      return texts.date(value.date, value.style);
    case 'due':
      return texts.date(value.date, 'medium');
    case 'time':
      return texts.instant(value.instant, { style: value.style });
    case 'yes-no':
      return texts.text(value.value ? 'value.yes' : 'value.no');
  }
}

const listLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

type PaperTable = Paper['tables'][number];

/** `wide`: the column that takes what is left. */
function toTable(texts: Texts, { columns, rows }: Table, wide: number): Omit<PaperTable, 'totals'> {
  return {
    title: null,
    columns: columns.map(({ label, numeric }, at) => ({
      ...{ label: texts.label(label), numeric },
      wide: at === wide,
    })),
    rows: rows.map(({ cells }) => cells.map((value) => valueText(texts, value))),
  };
}

const isText = ({ label }: Table['columns'][number]): boolean =>
  typeof label === 'object' && 'line' in label && label.line === 'text';

type Total = PaperTable['totals'][number];

/** What the lines add up to, unless that is the amount; other amounts such as tax, and those of the record. */
function listTotals(texts: Texts, { lines, fields, amounts }: RecordPage): Total[] {
  const sum = lines?.totals?.find((value) => value?.kind === 'money') ?? null;
  const others = fields.filter(({ value }) => value?.kind === 'money');
  const total = ({ label, value }: RecordPage['amounts'][number], strong = false): Total => ({
    ...{ label: texts.label(label), value: valueText(texts, value), strong },
  });
  const isAmount = amounts.some(({ value }) => valueText(texts, value) === valueText(texts, sum));
  return [
    ...(sum === null || isAmount
      ? []
      : [{ label: texts.text('paper.subtotal'), value: valueText(texts, sum), strong: false }]),
    ...others.map((field) => total(field)),
    ...amounts.map((amount, at) => total(amount, at === 0)),
  ];
}

function recordPaper(page: RecordPage, language: Language): Paper {
  const texts = createTexts(language, 'UTC');
  const { lines, fields, status } = page;
  const totals = listTotals(texts, page);
  const shown = fields.filter(
    ({ value, isAddress }) => value !== null && value.kind !== 'money' && !isAddress,
  );
  const address = fields.find(({ isAddress }) => isAddress)?.value ?? null;
  return {
    title: `${texts.label(page.document)} ${page.title}`,
    to: listLines(valueText(texts, address)),
    facts: [
      ...shown.map(({ label, value }) => [texts.label(label), valueText(texts, value)] as const),
      ...(status === null || status === '' ? [] : [[texts.text('meaning.status'), status] as const]),
      ...(lines === null ? totals.map(({ label, value }) => [label, value] as const) : []),
    ],
    tables:
      lines === null
        ? []
        : [{ ...toTable(texts, lines, Math.max(0, lines.columns.findIndex(isText))), totals }],
    pageOf: pageOf(texts),
  };
}

/** With its placeholders. */
const pageOf = (texts: Texts): string => texts.text('paper.pageOf', { page: '{page}', pages: '{pages}' });

const agingNames = ['aging.0', 'aging.1', 'aging.2', 'aging.3', 'aging.4'] as const;

const statementPaper: Renderer['statementPaper'] = (page, address, language) => {
  const texts = createTexts(language, 'UTC');
  const { from, to } = page.period;
  const tables = (page.accounts ?? []).flatMap(({ currency, table, aging, ...sums }): PaperTable[] => {
    const money = (amount: string): string => texts.money({ amount, currency });
    const title = currency === null ? null : texts.text('statement.in', { currency });
    const total = (name: 'opening' | 'charges' | 'payments' | 'closing'): Total => ({
      ...{ label: texts.text(`statement.${name}`), value: money(sums[name]), strong: name === 'closing' },
    });
    const totals = (['opening', 'charges', 'payments', 'closing'] as const).map(total);
    const account = { ...toTable(texts, table, 1), title, totals };
    if (aging?.some(({ amount }) => !isZero(amount)) !== true) return [account];
    const columns = agingNames.map((name) => ({ label: texts.text(name), numeric: true, wide: false }));
    const rows = [aging.map(({ amount }) => money(amount))];
    return [account, { title: texts.text('home.aging'), columns, rows, totals: [] }];
  });
  return {
    title: texts.text('own.statement'),
    to: listLines(valueText(texts, address)),
    facts: [[texts.text('statement.period'), `${texts.date(from, 'medium')} – ${texts.date(to, 'medium')}`]],
    tables,
    pageOf: pageOf(texts),
  };
};

export const papers: Pick<Renderer, 'recordPaper' | 'statementPaper'> = { recordPaper, statementPaper };
