// The texts of mails that visitors order.
import type { Renderer } from '../../../src/portal/renderer-model.ts';
import { valueText } from './paper.ts';
import { createTexts } from './texts.ts';

const sums = ['opening', 'charges', 'payments', 'closing'] as const;

export const orderedMailTexts: Renderer['orderedMailTexts'] = (language, about) => {
  const texts = createTexts(language, 'UTC');
  const { kind, company, customer, tables, statement } = about;
  // Record types of one role may show different fields.
  const all = tables.flatMap((table) => table.columns);
  const columns = all.filter(({ meaning }, at) => all.findIndex((one) => one.meaning === meaning) === at);
  const rows = tables.flatMap((table) => {
    const places = columns.map(({ meaning }) => table.columns.findIndex((one) => one.meaning === meaning));
    return table.rows.map(({ cells }) => places.map((place) => valueText(texts, cells[place] ?? null)));
  });
  const subject = texts.text(`order.${kind}.subject`, { company, count: rows.length });
  const period = statement && [
    texts.text('statement.says', {
      from: texts.date(statement.period.from, 'long'),
      to: texts.date(statement.period.to, 'long'),
    }),
  ];
  return {
    subject,
    title: subject,
    paragraphs: [...(period ?? []), texts.text('order.customer', { customer })],
    table: statement
      ? {
          columns: sums.map((name) => ({ label: texts.text(`statement.${name}`), numeric: true })),
          rows: (statement.accounts ?? []).map(({ currency, ...account }) =>
            sums.map((name) => texts.money({ amount: account[name], currency })),
          ),
        }
      : {
          columns: columns.map(({ label, numeric }) => ({ label: texts.label(label), numeric })),
          rows,
        },
    action: texts.text('order.action'),
    openAddress: texts.text('receipt.openAddress'),
    why: texts.text('order.why'),
    end: texts.text('order.end'),
  };
};
