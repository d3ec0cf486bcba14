// BUILTIN.CONSOLIDATE, BUILTIN.CURRENCY and BUILTIN.CURRENCY_CONVERT. The rates are looked up per row by
// index, within the query.
import { quoteSqlName } from '../tables/table.ts';
import {
  type ParseExpression,
  parseColumnArgument,
  parseKeyword,
  parseOptional,
  selectDistortion,
} from './arguments.ts';
import {
  acceptSymbol,
  expectSymbol,
  isSymbol,
  isWord,
  type Parser,
  peek,
  renderSql,
  type SqlFragment,
} from './parser.ts';
import {
  type ColumnName,
  columnReferenceSql,
  distortedSql,
  getSource,
  hiddenSql,
  type Scope,
} from './scope.ts';
import { unsupported } from './suiteql-error.ts';

const VIEW_TYPES = ['LEDGER', 'INCOME'];
const RATE_KINDS = ['DEFAULT', 'STANDARD', 'BUDGET', 'NONE'];
const RATE_TYPES = ['DEFAULT', 'CURRENT', 'AVERAGE', 'HISTORICAL'];
const ROOT = 'SELECT "s".id FROM suiteql.subsidiary "s" WHERE "s".parent IS NULL ORDER BY "s".id LIMIT 1';
const currencyOfSubsidiary = (id: string): string =>
  `(SELECT "s".currency FROM suiteql.subsidiary "s" WHERE "s".id = ${id})`;
const COMPANY_CURRENCY = currencyOfSubsidiary(`(${ROOT})`);
const RATES = 'suiteql.consolidatedexchangerate';

/** An amount and the id of its currency. */
type Money = { amount: SqlFragment; currency: SqlFragment };

/**
 * Parses CONSOLIDATE(column, view type, rate kind, rate type, target subsidiary, period, book): the amount in
 * the currency of the target subsidiary, at the rate of the period; null when the target isn't the row's
 * subsidiary or one above it. Throws SuiteqlError for arguments that aren't allowed, and for a column of a
 * table without subsidiaries.
 */
export function parseConsolidate(parser: Parser, scope: Scope, parse: ParseExpression): Money {
  const column = parseColumnArgument(parser);
  const view = parseChoice(parser, VIEW_TYPES);
  const kind = parseChoice(parser, RATE_KINDS);
  const type = parseChoice(parser, RATE_TYPES);
  const [target, period, book] = [1, 2, 3].map(() => parseOptional(parser, scope, parse));
  expectSymbol(parser, ')');
  const subsidiary = target ?? [`(${ROOT})`];
  const amount = buildAmountSql(parser, scope, column);
  // Without subsidiaries there is nothing to consolidate.
  const isPlain =
    kind === 'NONE' || !parser.role.isEnabled('subsidiary') || !parser.role.known('consolidatedexchangerate');
  if (isPlain) return { amount, currency: () => buildCurrencySql(scope, column) };
  const rate = () => {
    const hidden = (name: string): string => hiddenSql(scope, column, name) ?? unsupportedSql();
    const rateType =
      type !== 'DEFAULT' ? `'${type}'` : view === 'INCOME' ? "'AVERAGE'" : `upper(${hidden('ratetype')})`;
    return rateSql({
      from: hidden('subsidiary'),
      to: renderSql(subsidiary),
      period: period ? renderSql(period) : hidden('period'),
      book: book ? renderSql(book) : (hiddenSql(scope, column, 'book') ?? '1'),
      type: rateType,
    });
  };
  return {
    amount: ['(', amount, '*', rate, ')'],
    currency: () => currencyOfSubsidiary(`(${renderSql(subsidiary)})`),
  };
}

type Lookup = { from: string; to: string; period: string; book: string; type: string };

/**
 * The caller's expressions are in a derived table of their own, where no name can mean a column of the rates.
 */
const rateSql = ({ from, to, period, book, type }: Lookup): string =>
  `(SELECT CASE WHEN "a"."from" = "a"."to" THEN 1 ELSE (SELECT CASE "a"."type" WHEN 'AVERAGE' THEN "r".averagerate
      WHEN 'HISTORICAL' THEN "r".historicalrate ELSE "r".currentrate END FROM ${RATES} "r" WHERE "r".fromsubsidiary = "a"."from"
      AND "r".tosubsidiary = "a"."to" AND "r".postingperiod = "a"."period" AND COALESCE("r".accountingbook, "a"."book") = "a"."book" LIMIT 1) END
    FROM (SELECT (${from})::bigint AS "from", (${to})::bigint AS "to", (${period})::bigint AS "period", (${book})::bigint AS "book", ${type} AS "type") "a")`;

function unsupportedSql(): never {
  throw unsupported();
}

function parseChoice(parser: Parser, allowed: readonly string[]): string {
  expectSymbol(parser, ',');
  const word = parseKeyword(parser);
  if (!allowed.includes(word)) throw unsupported();
  return word;
}

function buildAmountSql(parser: Parser, scope: Scope, { column, alias }: ColumnName): SqlFragment {
  const distortion = selectDistortion(parser, scope);
  return () => {
    const sql = columnReferenceSql(scope, column, alias, false);
    return distortedSql(distortion, scope, { column: column.name, alias: alias?.name, sql });
  };
}

/**
 * Amounts in the transaction's currency are named so; others are in the base currency of the subsidiary, or
 * of the company.
 */
function buildCurrencySql(scope: Scope, name: ColumnName): string {
  const isForeign = /^(credit|debit)?foreign/.test(name.column.name);
  const own = isForeign ? hiddenSql(scope, name, 'currency') : undefined;
  if (own !== undefined) return own;
  const subsidiary = isForeign ? undefined : hiddenSql(scope, name, 'subsidiary');
  return subsidiary === undefined ? plainCurrency(scope, name) : currencyOfSubsidiary(subsidiary);
}

/** The row's currency if it has one, as customers do; otherwise the company's. */
function plainCurrency(scope: Scope, { column, alias }: ColumnName): string {
  const { alias: source, table } = getSource(scope, column, alias);
  if (table?.columns.some(({ name }) => name === 'currency')) return `${quoteSqlName(source)}.currency`;
  return COMPANY_CURRENCY;
}

/**
 * Parses CURRENCY(column) or CURRENCY(BUILTIN.CONSOLIDATE(…)): the symbol of the amount's currency. Throws
 * SuiteqlError for anything else.
 */
export function parseCurrency(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  const isConsolidated = isWord(peek(parser), 'builtin') && isSymbol(peek(parser, 1), '.');
  const currency = isConsolidated
    ? parseConsolidatedCurrency(parser, scope, parse)
    : parsePlainCurrency(parser, scope);
  expectSymbol(parser, ')');
  return [
    '(SELECT "y".symbol FROM (SELECT',
    currency,
    'AS "of") "c" JOIN suiteql.currency "y" ON "y".id = "c"."of")',
  ];
}

function parseConsolidatedCurrency(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  parser.at += 2;
  if (!isWord(peek(parser), 'consolidate')) throw unsupported();
  parser.at += 1;
  expectSymbol(parser, '(');
  return parseConsolidate(parser, scope, parse).currency;
}

function parsePlainCurrency(parser: Parser, scope: Scope): SqlFragment {
  const column = parseColumnArgument(parser);
  return () => buildCurrencySql(scope, column);
}

/**
 * Parses CURRENCY_CONVERT(column [, target currency [, day]]): the amount at the latest rate of the day. The
 * target is the company's currency unless it is given, the day is today. Throws SuiteqlError for anything
 * else than a column.
 */
export function parseCurrencyConvert(parser: Parser, scope: Scope, parse: ParseExpression): SqlFragment {
  const column = parseColumnArgument(parser);
  const target = acceptSymbol(parser, ',') ? parse(parser, scope) : [COMPANY_CURRENCY];
  const day = acceptSymbol(parser, ',') ? parse(parser, scope) : ['suiteql.today()'];
  expectSymbol(parser, ')');
  const amount = buildAmountSql(parser, scope, column);
  if (!parser.role.known('currencyrate')) return amount;
  return [
    '(',
    amount,
    '*',
    () => conversionSql(buildCurrencySql(scope, column), renderSql(target), renderSql(day)),
    ')',
  ];
}

/**
 * A rate is the amount in the base currency for one unit of the other; it also serves the other way round.
 */
const conversionSql = (from: string, to: string, day: string): string =>
  `(SELECT CASE WHEN "a"."from" = "a"."to" THEN 1 ELSE COALESCE(${latestRate('from', 'to')}, 1.0 / ${latestRate('to', 'from')}) END
    FROM (SELECT (${from})::bigint AS "from", (${to})::bigint AS "to", (${day})::date AS "day") "a")`;

const latestRate = (from: string, to: string): string =>
  `(SELECT "r".exchangerate FROM suiteql.currencyrate "r" WHERE "r".transactioncurrency = "a"."${from}" AND "r".basecurrency = "a"."${to}"
    AND "r".effectivedate <= "a"."day" ORDER BY "r".effectivedate DESC LIMIT 1)`;
