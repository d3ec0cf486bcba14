// What the mails that visitors order are about: documents of the last month, and invoices by their due date.
import type { MailKind, Meaning } from '../../core/text/portal-terms.ts';
import { findLivingMasks } from '../../public/index.ts';
import { shiftDays } from '../balances.ts';
import { hasStatement } from '../offer.ts';
import { type Entry, listOpenTypes } from '../open-amounts.ts';
import { pickMeanings, readRows } from '../record-table.ts';
import { findMeaning, openQuery } from '../shown-fields.ts';
import type { Table } from '../view-model.ts';
import type { Visit } from '../visit.ts';

/** What came earlier is no news. */
const newsDays = 31;
const maxRead = 1_000;

type DocumentKind = Exclude<MailKind, 'statement'>;
const documentKinds = ['invoice', 'due', 'overdue', 'payment'] as const satisfies DocumentKind[];
type Query = Readonly<Record<string, string>>;

/** The record types that a kind of mail is about, without those whose fields for it are masked. */
async function listEntries(visit: Visit, kind: DocumentKind): Promise<Entry[]> {
  const masks = await findLivingMasks(visit.ctx);
  const isReminder = kind === 'due' || kind === 'overdue';
  const entries = isReminder
    ? listOpenTypes(visit, 'invoice')
    : visit.portal.settings.records.filter(({ role }) => role === kind);
  return entries.filter(({ recordType, fields: { date, dueDate, amountDue } }) => {
    const needed = isReminder ? [dueDate, amountDue] : [date];
    return needed.every((source) => source !== undefined && masks.get(recordType)?.has(source) !== true);
  });
}

export async function listOfferedMails(visit: Visit): Promise<MailKind[]> {
  const [isStated, ...found] = await Promise.all([
    hasStatement(visit),
    ...documentKinds.map((kind) => listEntries(visit, kind)),
  ]);
  const kinds = documentKinds.filter((_, at) => (found[at]?.length ?? 0) > 0);
  return isStated ? [...kinds, 'statement'] : kinds;
}

function queryOf(visit: Visit, recordType: string, kind: DocumentKind, dueDays: number): Query {
  const { today } = visit;
  const name = (meaning: Meaning): string => findMeaning(visit, recordType, meaning) ?? '';
  if (kind === 'invoice' || kind === 'payment')
    return { [`${name('date')}_gte`]: shiftDays(today, -newsDays), [`${name('date')}_lte`]: today };
  const dueDate = name('dueDate');
  const open = { ...openQuery(visit, recordType), sort: dueDate, order: 'asc' };
  return kind === 'due'
    ? { ...open, [`${dueDate}_gte`]: today, [`${dueDate}_lte`]: shiftDays(today, dueDays) }
    : { ...open, [`${dueDate}_gte`]: shiftDays(today, -newsDays), [`${dueDate}_before`]: today };
}

const shownOf: Readonly<Record<DocumentKind, readonly Meaning[]>> = {
  invoice: ['number', 'date', 'dueDate', 'amount'],
  due: ['number', 'dueDate', 'amount', 'amountDue'],
  overdue: ['number', 'dueDate', 'amount', 'amountDue'],
  payment: ['number', 'date', 'amount'],
};

/** `key`: by which it is noted that a mail was sent. */
export type Document = { readonly key: string; readonly recordType: string; readonly id: string };
export type Documents = {
  readonly columns: Table['columns'];
  readonly rows: readonly (Document & Table['rows'][number])[];
};

/** The latest 1,000, by record type. Rejects as lists of the public interface do. */
export const findDocuments = async (
  visit: Visit,
  kind: DocumentKind,
  dueDays: number,
): Promise<Documents[]> =>
  Promise.all(
    (await listEntries(visit, kind)).map(async ({ recordType }) => {
      const query = { ...queryOf(visit, recordType, kind, dueDays), pageSize: String(maxRead) };
      const fields = pickMeanings(visit, recordType, shownOf[kind]);
      const { columns, rows } = await readRows(visit, { recordType, query, fields });
      return {
        columns,
        rows: rows.map(({ id, ...row }) => ({ ...row, id, recordType, key: `${recordType} ${id}` })),
      };
    }),
  );

/** The month before that of a day: `YYYY-MM`. */
export const monthBefore = (day: string): string => shiftDays(`${day.slice(0, 7)}-01`, -1).slice(0, 7);
