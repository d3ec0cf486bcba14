// Reads NetSuite's list of deleted records. How it calls record types, whether its times have a time of day, and which of its
// columns a role sees isn't known for certain, so a row is left out only when it clearly speaks of another record type: whoever
// applies a deletion asks for the record first, and asking for one too many costs little.
import { type DeletedRecord, type Deletions, ErpError } from '../connector.ts';
import type { RecordTypeDefinition } from './definition.ts';
import { erpError } from './errors.ts';
import { asRefusal } from './probe.ts';
import { type DeletedForm, deletedQuery, deletedTypeColumns } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import { largestPage, type Row, type Rows, type Suiteql } from './suiteql.ts';
import { compareIds, isIdText, parseValue } from './values.ts';

export async function readDeletions(
  suiteql: Suiteql,
  definition: RecordTypeDefinition,
  since: Date,
  signal: AbortSignal,
): Promise<Deletions> {
  const deleted = new Map<string, DeletedRecord>();
  let form: DeletedForm = { columns: deletedTypeColumns, time: 'utc' };
  let afterId: string | null = null;
  for (let hasMore = true; hasMore; ) {
    const answer: Rows | DeletedForm | ErpError = await ask(suiteql, form, since, afterId, signal);
    if (answer instanceof ErpError) return unavailable(answer.message);
    if (!('rows' in answer)) {
      form = answer;
      continue;
    }
    const rows: readonly Row[] | null = answer.hasMore ? withoutLastId(answer.rows, afterId) : answer.rows;
    if (rows === null)
      return unavailable('The list of deleted records does not come in the order of its ids, so it can not be read in pages');
    for (const row of rows) if (concerns(row, definition)) keep(deleted, row);
    afterId = idOf(rows.at(-1)) ?? afterId;
    hasMore = answer.hasMore;
  }
  return { available: true, deleted: [...deleted.values()] };
}

function unavailable(message: string): Deletions {
  const { message: reason, fix } = erpError('forbidden', 'DELETIONS_HIDDEN', message);
  return { available: false, reason, fix };
}

/** The rows, or the form to ask in next, or why there is none left. Rejects for what says nothing about the list, such as an outage. */
async function ask(
  suiteql: Suiteql,
  form: DeletedForm,
  since: Date,
  afterId: string | null,
  signal: AbortSignal,
): Promise<Rows | DeletedForm | ErpError> {
  try {
    return await suiteql.ask(deletedQuery(form, since, afterId), largestPage, signal);
  } catch (error) {
    if (error instanceof ErpError && error.kind === 'forbidden') return error;
    const refusal = asRefusal(error);
    const columns = form.columns.filter((column) => column !== refusal.column);
    if (columns.length < form.columns.length) return { ...form, columns };
    if (form.time === 'utc') return { ...form, time: 'date' };
    if (refusal.error.kind === 'down') throw refusal.error;
    return refusal.error;
  }
}

const idOf = (row: Row | undefined): string | null => {
  const id = row?.['id'];
  return typeof id === 'string' && isIdText(id) ? id : null;
};

/**
 * Records of several types may have one id, and a page may end between them: those of its last id are left to the next page.
 * Null when the ids don't ascend as numbers.
 */
function withoutLastId(rows: readonly Row[], afterId: string | null): readonly Row[] | null {
  let previous = afterId;
  for (const row of rows) {
    const id = idOf(row);
    if (id === null || (previous !== null && compareIds(id, previous) < (previous === afterId ? 1 : 0))) return null;
    previous = id;
  }
  const kept = rows.slice(0, rows.findLastIndex((row) => idOf(row) !== previous) + 1);
  return kept.length === 0 ? null : kept;
}

function keep(deleted: Map<string, DeletedRecord>, row: Row): void {
  const id = idOf(row);
  if (id === null) return; // no record of ours has such an id
  const raw = row['deleteddate'];
  const deletedAt = parseValue(raw, 'time') ?? parseValue(raw, 'date') ?? null;
  const before = deleted.get(id)?.deletedAt ?? null;
  deleted.set(id, { id, deletedAt: before !== null && (deletedAt === null || before > deletedAt) ? before : deletedAt });
}

/** `Sales Order`, `salesOrder` and `SALESORDER` are one; a bare number says nothing to us. */
const nameOf = (value: unknown): string | null => {
  const name = typeof value === 'string' ? value.toLowerCase().replaceAll(/[^a-z0-9_]/g, '') : '';
  return name === '' || /^[0-9_]*$/.test(name) ? null : name;
};

const isCustomName = (name: string): boolean => /^custom(?:record|list|transaction)/.test(name);

function concerns(row: Row, definition: RecordTypeDefinition): boolean {
  const names = [row['type'], row['scriptid'], row['recordtypeid']].map(nameOf).filter((name) => name !== null);
  if (names.some((name) => definition.deletedAs.includes(name))) return true;
  if ([row['iscustomrecord'], row['iscustomlist'], row['iscustomtransaction']].includes('T')) return false;
  return !names.some((name) => isCustomName(name) || otherNames.has(name));
}

/** Names of record types that are known well enough to leave their deletions out: those of this product, and common others. */
const otherNames: ReadonlySet<string> = new Set([
  ...recordTypeDefinitions.flatMap(({ deletedAs }) => deletedAs),
  ...['account', 'accountingperiod', 'assemblybuild', 'assemblyunbuild', 'bin', 'binworksheet', 'bintransfer', 'budget', 'calendarevent'],
  ...['campaign', 'cashrefund', 'cashsale', 'check', 'classification', 'currency', 'custdep', 'customerdeposit', 'customerrefund'],
  ...[
    'custrfnd',
    'depappl',
    'department',
    'deposit',
    'depositapplication',
    'estimate',
    'event',
    'expensereport',
    'exprept',
    'file',
    'folder',
  ],
  ...['intercompanyjournalentry', 'invadjst', 'inventoryadjustment', 'inventorycount', 'inventorytransfer', 'invtrnfr', 'itemfulfillment'],
  ...['itemreceipt', 'itemrcpt', 'itemship', 'job', 'journal', 'journalentry', 'location', 'message', 'note', 'opportunity', 'opprtnty'],
  ...['partner', 'paycheck', 'phonecall', 'pricelevel', 'project', 'projecttask', 'purchaseorder', 'purchord', 'purchaserequisition'],
  ...['returnauthorization', 'revarrng', 'rtnauth', 'subsidiary', 'supportcase', 'task', 'term', 'timebill', 'timeentry', 'transferorder'],
  ...['trnfrord', 'vendauth', 'vendbill', 'vendcred', 'vendorbill', 'vendorcredit', 'vendorpayment', 'vendorreturnauthorization'],
  ...['vendpymt', 'workord', 'workorder'],
]);
