// What a NetSuite account as a whole has: subsidiaries, currencies, accounting books and the time zone of its
// dates. At most seven requests. What the role may not see is null; what the account lacks is false or empty.
import { ErpError } from '../connector.ts';
import type { AccountFacts } from '../discovery.ts';
import { probeColumns, toQueryRefusal } from './requests/probe.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from './requests/suiteql.ts';

type Query = (query: string) => Promise<readonly SuiteqlRow[]>;

/** Null where NetSuite refuses the query. Rejects with any other error, such as an outage. */
const refusedAsNull = <T>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((error: unknown) => {
    toQueryRefusal(error);
    return null;
  });

/** Columns of transactions that only accounts with the feature have. */
async function findFeatures(query: Query): Promise<Pick<AccountFacts, 'hasSubsidiaries' | 'hasCurrencies'>> {
  const columns = [{ name: 'subsidiary' }, { name: 'currency' }];
  const runProbe = (probed: typeof columns) =>
    query(
      `SELECT ${['id', ...probed.map(({ name }) => name)].map((name) => `t.${name} AS ${name}`).join(', ')} FROM transaction t`,
    ).then(() => null, toQueryRefusal);
  const refused = await refusedAsNull(probeColumns((probed) => runProbe([...probed]), columns));
  return {
    hasSubsidiaries: refused && !refused.has('subsidiary'),
    hasCurrencies: refused && !refused.has('currency'),
  };
}

/** Every subsidiary with its own base currency marks that one, so only the root's is the account's. */
const buildBaseCurrencyQuery = (hasSubsidiaries: boolean): string =>
  hasSubsidiaries
    ? 'SELECT c.symbol AS symbol FROM subsidiary s INNER JOIN currency c ON c.id = s.currency WHERE s.parent IS NULL ORDER BY s.id ASC'
    : "SELECT c.symbol AS symbol FROM currency c WHERE c.isbasecurrency = 'T' ORDER BY c.id ASC";

async function findBaseCurrency(query: Query, hasSubsidiaries: boolean | null): Promise<string | null> {
  const rows =
    hasSubsidiaries === null ? null : await refusedAsNull(query(buildBaseCurrencyQuery(hasSubsidiaries)));
  const symbol = rows?.length === 1 ? rows[0]?.['symbol'] : null;
  return typeof symbol === 'string' && /^[A-Z]{3}$/.test(symbol) ? symbol : null;
}

async function listBooks(query: Query): Promise<AccountFacts['accountingBooks']> {
  const rows = await refusedAsNull(
    query(
      'SELECT b.id AS id, b.name AS name, b.isprimary AS isprimary FROM accountingbook b ORDER BY b.id ASC',
    ),
  );
  return (
    rows?.map(({ id, name, isprimary }) => ({
      id: String(id),
      name: String(name ?? ''),
      isPrimary: isprimary === 'T',
    })) ?? null
  );
}

const minuteMs = 60_000;
/** Zones differ from UTC by multiples of this; the two clocks are read a moment apart. */
const zoneStepMinutes = 15;

/**
 * To Oracle CURRENT_DATE has a time of day, in the session's time zone: that of the integration's user, as
 * are the dates in responses.
 */
async function findUtcOffset(query: Query, readNow: () => Promise<Date>): Promise<number | null> {
  const rows = await refusedAsNull(
    query("SELECT TO_CHAR(CURRENT_DATE, 'YYYY-MM-DD HH24:MI:SS') AS localtime FROM dual"),
  );
  const now = await readNow().catch((error: unknown) => {
    if (error instanceof ErpError && error.kind === 'answer') return null;
    throw error;
  });
  const local = rows?.[0]?.['localtime'];
  const aheadMs =
    typeof local === 'string' && now !== null
      ? Date.parse(`${local.replace(' ', 'T')}Z`) - now.getTime()
      : Number.NaN;
  const minutes = Math.round(aheadMs / minuteMs / zoneStepMinutes) * zoneStepMinutes;
  return Number.isNaN(minutes) ? null : minutes + 0;
}

/** `readNow` reads the ERP's clock. Rejects with `ErpError`, or with the reason of the aborted signal. */
export async function readAccountFacts(
  suiteql: Suiteql,
  readNow: () => Promise<Date>,
  signal: AbortSignal,
): Promise<AccountFacts> {
  const query = async (text: string) => (await suiteql.query(text, maxRowsPerQuery, signal)).rows;
  const features = await findFeatures(async (text) => (await suiteql.query(text, 1, signal)).rows);
  const [baseCurrency, accountingBooks, utcOffsetMinutes] = await Promise.all([
    findBaseCurrency(query, features.hasSubsidiaries),
    listBooks(query),
    findUtcOffset(query, readNow),
  ]);
  return { ...features, baseCurrency, accountingBooks, utcOffsetMinutes };
}
