// Reads NetSuite's list of deleted records. Which names it has for record types, whether its times have a
// time of day, and which of its columns a role sees isn't known for certain. So a row is left out only when
// it clearly belongs to another record type: before a deletion is applied the record is looked up by id, and
// one lookup too many costs little.
import { ErpError } from '../../connector.ts';
import type { DeletedRecord, Deletions } from '../../source-records.ts';
import { erpError } from '../requests/errors.ts';
import { toQueryRefusal } from '../requests/probe.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlResult, type SuiteqlRow } from '../requests/suiteql.ts';
import type { ReadDefinition } from '../types/definition.ts';
import { type DeletionsQueryForm, deletionsQuery, deletionTypeColumns } from '../types/queries.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';
import { compareIds, isIdText, parseValue } from '../types/values.ts';

/**
 * Without a query empty for what the list never has. `available: false` when NetSuite refuses the list or it
 * can't be paginated. Rejects with `ErpError` for what says nothing about the list itself, such as an outage,
 * or with the signal's reason.
 */
export async function readDeletions(
  suiteql: Suiteql,
  definition: ReadDefinition,
  since: Date,
  signal: AbortSignal,
): Promise<Deletions> {
  const deleted = new Map<string, DeletedRecord>();
  if (definition.deletedAs.length === 0) return { available: true, deleted: [] };
  let form: DeletionsQueryForm = { columns: deletionTypeColumns, time: 'utc' };
  let afterId: string | null = null;
  for (let hasMore = true; hasMore; ) {
    const outcome: SuiteqlResult | DeletionsQueryForm | ErpError = await queryDeletions(
      suiteql,
      form,
      since,
      afterId,
      signal,
    );
    if (outcome instanceof ErpError) return unavailable(outcome.message);
    if (!('rows' in outcome)) {
      form = outcome;
      continue;
    }
    const rows: readonly SuiteqlRow[] | null = outcome.hasMore
      ? withoutLastId(outcome.rows, afterId)
      : outcome.rows;
    if (rows === null)
      return unavailable('The list of deleted records is not sorted by id, so it cannot be read in pages');
    for (const row of rows) if (mayConcern(row, definition)) addDeletion(deleted, row);
    afterId = findId(rows.at(-1)) ?? afterId;
    hasMore = outcome.hasMore;
  }
  return { available: true, deleted: [...deleted.values()] };
}

function unavailable(message: string): Deletions {
  const { message: reason, fix } = erpError('forbidden', 'DELETIONS_HIDDEN', message);
  return { available: false, reason, fix };
}

/**
 * The rows, or the simpler query to try next, or the refusal when no simpler query is left. Rejects for what
 * says nothing about the list, such as an outage.
 */
async function queryDeletions(
  suiteql: Suiteql,
  form: DeletionsQueryForm,
  since: Date,
  afterId: string | null,
  signal: AbortSignal,
): Promise<SuiteqlResult | DeletionsQueryForm | ErpError> {
  try {
    return await suiteql.query(deletionsQuery(form, since, afterId), maxRowsPerQuery, signal);
  } catch (error) {
    if (error instanceof ErpError && error.kind === 'forbidden') return error;
    const refusal = toQueryRefusal(error);
    const columns = form.columns.filter((column) => column !== refusal.column);
    if (columns.length < form.columns.length) return { ...form, columns };
    if (form.time === 'utc') return { ...form, time: 'date' };
    if (refusal.error.kind === 'down') throw refusal.error;
    return refusal.error;
  }
}

const findId = (row: SuiteqlRow | undefined): string | null => {
  const id = row?.['id'];
  return typeof id === 'string' && isIdText(id) ? id : null;
};

/**
 * Records of several types may share an id, and a page may end between them: the rows of its last id are left
 * to the next page. Null when the ids don't ascend as numbers.
 */
function withoutLastId(rows: readonly SuiteqlRow[], afterId: string | null): readonly SuiteqlRow[] | null {
  let previous = afterId;
  for (const row of rows) {
    const id = findId(row);
    if (id === null || (previous !== null && compareIds(id, previous) < (previous === afterId ? 1 : 0)))
      return null;
    previous = id;
  }
  const kept = rows.slice(0, rows.findLastIndex((row) => findId(row) !== previous) + 1);
  return kept.length === 0 ? null : kept;
}

function addDeletion(deleted: Map<string, DeletedRecord>, row: SuiteqlRow): void {
  const id = findId(row);
  if (id === null) return; // no synced record has such an id
  const raw = row['deleteddate'];
  const deletedAt = parseValue(raw, 'time') ?? parseValue(raw, 'date') ?? null;
  const before = deleted.get(id)?.deletedAt ?? null;
  deleted.set(id, {
    id,
    deletedAt: before !== null && (deletedAt === null || before > deletedAt) ? before : deletedAt,
  });
}

/**
 * `Sales Order`, `salesOrder` and `SALESORDER` are the same name. Null for a bare number, which identifies no
 * record type here.
 */
const normalizeName = (value: unknown): string | null => {
  const name = typeof value === 'string' ? value.toLowerCase().replaceAll(/[^a-z0-9_]/g, '') : '';
  return name === '' || /^[0-9_]*$/.test(name) ? null : name;
};

const isCustomName = (name: string): boolean => /^custom(?:record|list|transaction)/.test(name);

function mayConcern(row: SuiteqlRow, definition: ReadDefinition): boolean {
  const names = [row['type'], row['scriptid'], row['recordtypeid']]
    .map(normalizeName)
    .filter((name) => name !== null);
  if (names.some((name) => definition.deletedAs.includes(name))) return true;
  if ([row['iscustomrecord'], row['iscustomlist'], row['iscustomtransaction']].includes('T')) return false;
  return !names.some((name) => isCustomName(name) || otherNames.has(name));
}

/**
 * Names of record types that are known well enough to leave their deletions out: the synced record types and
 * other common ones.
 */
const otherNames: ReadonlySet<string> = new Set([
  ...recordTypeDefinitions.flatMap(({ deletedAs }) => deletedAs),
  ...`account accountingperiod assemblybuild assemblyunbuild bin binworksheet bintransfer budget calendarevent
    campaign cashrefund cashsale check classification currency custdep customerdeposit customerrefund
    custrfnd depappl department deposit depositapplication estimate event expensereport exprept file folder
    intercompanyjournalentry invadjst inventoryadjustment inventorycount inventorytransfer invtrnfr
    itemfulfillment itemreceipt itemrcpt itemship job journal journalentry location message note opportunity
    opprtnty partner paycheck phonecall pricelevel project projecttask purchaseorder purchord
    purchaserequisition returnauthorization revarrng rtnauth subsidiary supportcase task term timebill
    timeentry transferorder trnfrord vendauth vendbill vendcred vendorbill vendorcredit vendorpayment
    vendorreturnauthorization vendpymt workord workorder`.split(/\s+/),
]);
