// The first page: what is due and since when, by currency; open invoices, the latest payments, and what is new.
import { recordsEndpoint } from '../../platform/index.ts';
import { readBalances, shiftDays, unlessMasked } from '../balances.ts';
import { nameType } from '../navigation.ts';
import { findOffer } from '../offer.ts';
import { listOpenTypes } from '../open-amounts.ts';
import { listAddress, pickMeanings, readTable } from '../record-table.ts';
import { daysBetween, findMeaning, openQuery } from '../shown-fields.ts';
import type { HomePage } from '../view-model.ts';
import type { Visit } from '../visit.ts';

const shownOpen = 8;
const shownPayments = 5;

const openMeanings = ['number', 'date', 'dueDate', 'amount', 'amountDue'] as const;

async function readOpen(visit: Visit): Promise<HomePage['open']> {
  const [entry] = listOpenTypes(visit, 'invoice');
  if (entry === undefined) return null;
  const { recordType } = entry;
  const dueDate = findMeaning(visit, recordType, 'dueDate');
  const sort = dueDate === undefined ? {} : { sort: dueDate, order: 'asc' };
  const { table, total } = await readTable(visit, {
    recordType,
    query: {
      ...openQuery(visit, recordType),
      ...sort,
      pageSize: String(shownOpen),
    },
    fields: pickMeanings(visit, recordType, openMeanings),
  });
  return { table, total, all: listAddress(visit, recordType, { state: 'open' }) };
}

async function readPayments(visit: Visit): Promise<HomePage['payments']> {
  const entry = visit.portal.settings.records.find(({ role }) => role === 'payment');
  if (entry === undefined) return null;
  const { recordType } = entry;
  const { table } = await readTable(visit, {
    recordType,
    query: { pageSize: String(shownPayments) },
    fields: pickMeanings(visit, recordType, ['date', 'number', 'amount', 'status']),
  });
  return { table, all: listAddress(visit, recordType) };
}

/** By the records' own date. */
async function readNews(visit: Visit): Promise<HomePage['news']> {
  const since = visit.session.previous_visit_at ?? undefined;
  if (since === undefined) return null;
  // By the calendar of the records, which is another one in the demo.
  const daysAgo = daysBetween(since.slice(0, 10), visit.ctx.clock.now().toISOString().slice(0, 10));
  const day = shiftDays(visit.today, -daysAgo);
  const dated = visit.portal.settings.records.filter(({ fields }) => fields.date !== undefined);
  const counts = await Promise.all(
    dated.map(async ({ recordType }) => {
      const date = findMeaning(visit, recordType, 'date') ?? '';
      const query = { [`${date}_gte`]: day, pageSize: '1', fields: date };
      const { total } = await visit.reader.listKnown(recordsEndpoint(recordType), query);
      return {
        label: nameType(visit, recordType),
        count: total,
        href: listAddress(visit, recordType, { from: day }),
      };
    }),
  );
  return { since, counts: counts.filter(({ count }) => count > 0) };
}

/** Rejects with 503 while the records can't be read. */
export async function readHome(visit: Visit): Promise<HomePage> {
  const [offer, sums, open, payments, news] = await Promise.all([
    findOffer(visit),
    unlessMasked(readBalances(visit)),
    unlessMasked(readOpen(visit)),
    readPayments(visit),
    readNews(visit),
  ]);
  return {
    kind: 'home',
    ...{ asOf: sums?.syncedAt ?? null, balances: sums?.balances ?? [] },
    ...{ open, payments, news },
    pay: offer === undefined ? null : `${visit.site.base}/pay`,
  };
}
