// A statement as CSV: the same rows, with dates and amounts as programs read them.
import { byteOrderMark, csvLine } from '../../core/text/csv-cell.ts';
import { safeFileName } from '../../core/text/file-name.ts';
import { downloadTypes } from '../../http/route/route.ts';
import { chooseLanguage } from '../frame.ts';
import { hasStatement } from '../offer.ts';
import type { At } from '../room.ts';
import type { Label } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';
import { type Account, type Period, readStatement } from './statement.ts';
import { readPeriod } from './statement-page.ts';

const headings: readonly Label[] = [
  { meaning: 'currency' },
  { meaning: 'date' },
  { statement: 'type' },
  { meaning: 'number' },
  { meaning: 'dueDate' },
  { statement: 'charge' },
  { statement: 'payment' },
  { statement: 'balance' },
];

/** Texts of the ERP are guarded against spreadsheets that would run them; amounts stay numbers. */
const guarded = (text: string): string => csvLine([text], { guardFormulas: true }).slice(0, -2);

function* listLines(
  { from, to }: Period,
  { currency, opening, postings, closing }: Account,
  text: (label: Label) => string,
): Generator<string> {
  const line = (cells: readonly string[]): string => `${cells.join()}\r\n`;
  const of = guarded(currency ?? '');
  yield line([of, from, guarded(text({ statement: 'opening' })), '', '', '', '', opening.toFixed()]);
  let balance = opening;
  for (const { role, number, date, dueDate, amount } of postings) {
    balance = balance.plus(amount);
    const [charge, payment] = amount.lt(0) ? ['', amount.abs().toFixed()] : [amount.toFixed(), ''];
    const type = guarded(text({ document: role }));
    yield line([of, date, type, guarded(number), dueDate ?? '', charge, payment, balance.toFixed()]);
  }
  yield line([of, to, guarded(text({ statement: 'closing' })), '', '', '', '', closing.toFixed()]);
}

/** Throws 404 where there are no statements, and rejects as `readStatement` does. */
export async function sendStatementFile({ room, req, res }: At, visit: Visit): Promise<void> {
  if (!(await hasStatement(visit))) throw notFoundHere();
  const period = readPeriod(visit, req);
  const { labelText } = await room.loadRenderer();
  const language = chooseLanguage(req, visit.portal.settings);
  const text = (label: Label): string => labelText(label, language);
  const { accounts } = await readStatement(visit, period);
  const lines = accounts.flatMap((account) => [...listLines(period, account, text)]);
  res.attachment(safeFileName(`${text({ own: 'statement' })} ${period.from} ${period.to}.csv`));
  res.setHeader('Content-Type', `${downloadTypes.csv}; charset=utf-8`);
  res.setHeader('Cache-Control', 'private, no-store');
  res.send(`${byteOrderMark}${csvLine(headings.map(text))}${lines.join('')}`);
}
