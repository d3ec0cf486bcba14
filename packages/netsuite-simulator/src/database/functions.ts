// Oracle's functions and operators that SuiteQL offers, defined in PostgreSQL. None has side effects. Their
// bodies run with the caller's search path, in which suiteql comes first: whatever it overrides is qualified
// with its schema. Business time and the date preference come from settings that the service sets for each
// query and that no query can change. TO_DATE returns a timestamp without time zone: PostgreSQL compares it
// with a timestamptz column in the session's zone, as Oracle does.

const sql = (signature: string, returns: string, body: string, volatility = 'IMMUTABLE'): string =>
  `CREATE FUNCTION suiteql.${signature} RETURNS ${returns} LANGUAGE sql ${volatility} PARALLEL SAFE AS $$ ${body} $$`;

const MASK = "current_setting('netsuite.date_mask')";
const days = (difference: string): string =>
  `SELECT round((extract(epoch FROM ${difference}) / 86400)::numeric, 10)`;

/** The body of SUBSTR: position 0 is the first, a negative one counts from the end, and nothing is null. */
function substring(hasLength: boolean): string {
  const start =
    'CASE WHEN p < 0 THEN length(a) + pg_catalog.trunc(p) + 1 ELSE greatest(pg_catalog.trunc(p), 1) END';
  const length = hasLength ? ', greatest(least(pg_catalog.trunc(n), 1000000), 0)::integer' : '';
  return `SELECT CASE WHEN abs(p) <= length(a) THEN NULLIF(pg_catalog.substr(a, (${start})::integer${length}), '') END`;
}

const MOMENTS = ['timestamp', 'timestamptz', 'date'];

/** A plain number as Oracle converts it: neither NaN nor Infinity. */
const NUMBER = String.raw`'^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?\s*$'`;
/** A day, with or without a time: none of PostgreSQL's words, such as now and infinity. */
const MOMENT = String.raw`'^[-+0-9/.: T]+([AP]M|Z)?\s*$'`;

const CLOCK = [
  sql(
    'systimestamp()',
    'timestamptz',
    "SELECT date_trunc('second', current_setting('netsuite.now')::timestamptz)",
    'STABLE',
  ),
  sql('sysdate()', 'timestamp', 'SELECT suiteql.systimestamp()::timestamp', 'STABLE'),
  sql('today()', 'date', 'SELECT suiteql.systimestamp()::date', 'STABLE'),
];

const TEXT = [
  sql('instr(a text, b text)', 'integer', 'SELECT strpos(a, b)'),
  sql('pad_length(n numeric)', 'integer', 'SELECT least(pg_catalog.trunc(n), 4000)::integer'), // Oracle's longest VARCHAR2
  ...['', ', n numeric'].map((length) =>
    sql(`substr(a text, p numeric${length})`, 'text', substring(length !== '')),
  ),
  ...['btrim', 'ltrim', 'rtrim'].map((name) =>
    sql(`${name}(a text)`, 'text', `SELECT NULLIF(pg_catalog.${name}(a), '')`),
  ),
  ...['ltrim', 'rtrim'].map((name) =>
    sql(`${name}(a text, b text)`, 'text', `SELECT NULLIF(pg_catalog.${name}(a, b), '')`),
  ),
  sql(
    'replace(a text, b text, c text DEFAULT NULL)',
    'text',
    "SELECT CASE WHEN b IS NULL THEN a ELSE NULLIF(pg_catalog.replace(a, b, COALESCE(c, '')), '') END",
  ),
  sql(
    "lpad(a text, n numeric, b text DEFAULT ' ')",
    'text',
    'SELECT pg_catalog.lpad(a, suiteql.pad_length(n), b)',
  ),
  sql(
    "rpad(a text, n numeric, b text DEFAULT ' ')",
    'text',
    'SELECT pg_catalog.rpad(a, suiteql.pad_length(n), b)',
  ),
  sql(
    'to_number(a text)',
    'numeric',
    `SELECT CASE WHEN NULLIF(a, '') ~* ${NUMBER} THEN a::numeric WHEN a <> '' THEN ('not a number: ' || a)::numeric END`,
  ),
  sql('to_number(a numeric)', 'numeric', 'SELECT a'),
  // Oracle writes no zero before the point.
  sql('number_text(a numeric)', 'text', "SELECT regexp_replace(trim_scale(a)::text, '^(-?)0[.]', '\\1.')"),
  sql('to_char(a text)', 'text', 'SELECT a'),
  sql('to_char(a numeric)', 'text', 'SELECT suiteql.number_text(a)'),
  sql('to_char(a numeric, mask text)', 'text', 'SELECT pg_catalog.to_char(a, mask)', 'STABLE'),
  ...MOMENTS.map((type) =>
    sql(`to_char(a ${type})`, 'text', `SELECT pg_catalog.to_char(a, ${MASK})`, 'STABLE'),
  ),
  ...MOMENTS.map((type) =>
    sql(`to_char(a ${type}, mask text)`, 'text', 'SELECT pg_catalog.to_char(a, mask)', 'STABLE'),
  ),
];

const DATES = [
  // Read in UTC: in the session's zone PostgreSQL would move a time that daylight saving time skips.
  ...['to_date', 'to_timestamp'].flatMap((name) => [
    sql(
      `${name}(a text, mask text)`,
      'timestamp',
      "SELECT pg_catalog.to_timestamp('+00 ' OPERATOR(pg_catalog.||) a, 'TZH ' OPERATOR(pg_catalog.||) mask) AT TIME ZONE 'UTC'",
      'STABLE',
    ),
    sql(
      `${name}(a text)`,
      'timestamp',
      `SELECT CASE WHEN a ~* ${MOMENT} THEN a::timestamp ELSE pg_catalog.to_timestamp(a, ${MASK})::timestamp END`,
      'STABLE',
    ),
  ]),
  // See Switches.repeatedHour. PostgreSQL reads an ambiguous local time as standard time.
  sql(
    'sys_extract_utc(a timestamptz)',
    'timestamp',
    `SELECT CASE WHEN current_setting('netsuite.repeated_hour') = 'exact' THEN a
      WHEN current_setting('netsuite.repeated_hour') = 'daylight' AND (a - interval '1 hour')::timestamp = a::timestamp THEN a - interval '1 hour'
      WHEN current_setting('netsuite.repeated_hour') = 'daylight' THEN a
      ELSE (a::timestamp)::timestamptz END AT TIME ZONE 'UTC'`,
    'STABLE',
  ),
  sql('sys_extract_utc(a timestamp)', 'timestamp', "SELECT suiteql.instant(a) AT TIME ZONE 'UTC'", 'STABLE'),
  sql(
    'sys_extract_utc(a date)',
    'timestamp',
    "SELECT suiteql.instant(a::timestamp) AT TIME ZONE 'UTC'",
    'STABLE',
  ),
  ...MOMENTS.map((type) =>
    sql(`trunc(a ${type})`, 'timestamp', "SELECT date_trunc('day', a::timestamp)", 'STABLE'),
  ),
  ...MOMENTS.map((type) =>
    sql(
      `trunc(a ${type}, part text)`,
      'timestamp',
      `SELECT date_trunc(CASE upper(part) WHEN 'MM' THEN 'month' WHEN 'MONTH' THEN 'month'
    WHEN 'MON' THEN 'month' WHEN 'YYYY' THEN 'year' WHEN 'YEAR' THEN 'year' WHEN 'YY' THEN 'year' WHEN 'Q' THEN 'quarter' WHEN 'IW' THEN 'week'
    ELSE 'day' END, a::timestamp)`,
      'STABLE',
    ),
  ),
  sql('trunc(a numeric)', 'numeric', 'SELECT pg_catalog.trunc(a)'),
  sql('trunc(a numeric, n numeric)', 'numeric', 'SELECT pg_catalog.trunc(a, n::integer)'),
  ...MOMENTS.map((type) =>
    sql(
      `add_months(a ${type}, n numeric)`,
      'timestamp',
      'SELECT a::timestamp + make_interval(months => pg_catalog.trunc(n)::integer)',
      'STABLE',
    ),
  ),
  ...MOMENTS.map((type) =>
    sql(
      `last_day(a ${type})`,
      'timestamp',
      "SELECT date_trunc('month', a::timestamp) + interval '1 month' - interval '1 day' + (a::timestamp OPERATOR(pg_catalog.-) date_trunc('day', a::timestamp))",
      'STABLE',
    ),
  ),
];

/**
 * A local time as an instant. One in the hour that the end of daylight saving time repeats is standard time,
 * as in Oracle unless ERROR_ON_OVERLAP_TIME is set; one in the hour that is skipped is refused (ORA-01878).
 */
const LOCAL_TIMES = [
  `CREATE FUNCTION suiteql.skipped_time(a timestamp) RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN
    RAISE EXCEPTION 'the time % is skipped by daylight saving time', a USING ERRCODE = 'invalid_parameter_value'; END $$`,
  sql(
    'instant(a timestamp)',
    'timestamptz',
    'SELECT CASE WHEN (a::timestamptz)::timestamp IS DISTINCT FROM a THEN suiteql.skipped_time(a) ELSE a::timestamptz END',
    'STABLE',
  ),
  ...Object.entries({ '=': 'eq', '<>': 'ne', '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' }).flatMap(
    ([sign, name]) => [
      sql(
        `${name}(a timestamptz, b timestamp)`,
        'boolean',
        `SELECT a OPERATOR(pg_catalog.${sign}) suiteql.instant(b)`,
        'STABLE',
      ),
      `CREATE OPERATOR suiteql.${sign} (LEFTARG = timestamptz, RIGHTARG = timestamp, FUNCTION = suiteql.${name})`,
      sql(
        `${name}(a timestamp, b timestamptz)`,
        'boolean',
        `SELECT suiteql.instant(a) OPERATOR(pg_catalog.${sign}) b`,
        'STABLE',
      ),
      `CREATE OPERATOR suiteql.${sign} (LEFTARG = timestamp, RIGHTARG = timestamptz, FUNCTION = suiteql.${name})`,
    ],
  ),
];

/**
 * NUMBER is Oracle's only numeric type: whole numbers don't overflow, and their quotient isn't a whole
 * number.
 */
const ARITHMETIC = [
  ...Object.entries({ '+': 'plus', '-': 'minus', '*': 'times', '/': 'over' }).flatMap(([sign, name]) =>
    ['integer', 'bigint'].flatMap((left) =>
      ['integer', 'bigint'].flatMap((right) => [
        sql(
          `${name}(a ${left}, b ${right})`,
          'numeric',
          `SELECT a::numeric OPERATOR(pg_catalog.${sign}) b::numeric`,
        ),
        `CREATE OPERATOR suiteql.${sign} (LEFTARG = ${left}, RIGHTARG = ${right}, FUNCTION = suiteql.${name})`,
      ]),
    ),
  ),
  sql('round(a numeric, n numeric DEFAULT 0)', 'numeric', 'SELECT pg_catalog.round(a, n::integer)'),
  sql('power(a numeric, b numeric)', 'numeric', 'SELECT pg_catalog.power(a, b)'),
  sql('sqrt(a numeric)', 'numeric', 'SELECT pg_catalog.sqrt(a)'),
];

/**
 * Oracle's date arithmetic is in days: a date plus or minus a number is a date, the difference of two dates
 * is a number.
 */
const DAY_ARITHMETIC = [
  ...MOMENTS.flatMap((type) => [
    sql(
      `plus_days(a ${type}, n numeric)`,
      'timestamp',
      "SELECT a::timestamp + n::double precision * interval '1 day'",
      'STABLE',
    ),
    `CREATE OPERATOR suiteql.+ (LEFTARG = ${type}, RIGHTARG = numeric, FUNCTION = suiteql.plus_days)`,
    sql(
      `minus_days(a ${type}, n numeric)`,
      'timestamp',
      "SELECT a::timestamp - n::double precision * interval '1 day'",
      'STABLE',
    ),
    `CREATE OPERATOR suiteql.- (LEFTARG = ${type}, RIGHTARG = numeric, FUNCTION = suiteql.minus_days)`,
  ]),
  ...MOMENTS.flatMap((left) =>
    MOMENTS.filter((right) => left !== 'date' || right !== 'date').flatMap((right) => [
      sql(
        `days_between(a ${left}, b ${right})`,
        'numeric',
        days('(a::timestamp OPERATOR(pg_catalog.-) b::timestamp)'),
        'STABLE',
      ),
      `CREATE OPERATOR suiteql.- (LEFTARG = ${left}, RIGHTARG = ${right}, FUNCTION = suiteql.days_between)`,
    ]),
  ),
];

/** Oracle treats the empty string as null, and concatenating null adds nothing. */
const JOINING = [
  sql('joined(a text, b text)', 'text', "SELECT NULLIF(pg_catalog.concat(a, b), '')", 'STABLE'),
  'CREATE OPERATOR suiteql.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = suiteql.joined)',
  // Integer types need their own operators: PostgreSQL finds `bigint || 'x'` ambiguous otherwise.
  ...['numeric', 'bigint', 'integer'].flatMap((type) => [
    sql(
      `joined(a text, b ${type})`,
      'text',
      'SELECT suiteql.joined(a, suiteql.number_text(b::numeric))',
      'STABLE',
    ),
    `CREATE OPERATOR suiteql.|| (LEFTARG = text, RIGHTARG = ${type}, FUNCTION = suiteql.joined)`,
    sql(
      `joined(a ${type}, b text)`,
      'text',
      'SELECT suiteql.joined(suiteql.number_text(a::numeric), b)',
      'STABLE',
    ),
    `CREATE OPERATOR suiteql.|| (LEFTARG = ${type}, RIGHTARG = text, FUNCTION = suiteql.joined)`,
  ]),
  sql('concat(a text, b text)', 'text', 'SELECT suiteql.joined(a, b)', 'STABLE'),
];

/**
 * BUILTIN.MNFILTER: compares the entries of a multi-select column, joined by commas, with these values. Null
 * for an empty column.
 */
const MULTI_SELECT = sql(
  'mn_filter(entries text, operator text, ignorescase boolean, wanted text[])',
  'text',
  `SELECT CASE WHEN NULLIF(entries, '') IS NOT NULL THEN CASE WHEN CASE operator
      WHEN 'MN_INCLUDE' THEN g.own && g.named WHEN 'MN_EXCLUDE' THEN NOT g.own && g.named
      WHEN 'MN_INCLUDE_ALL' THEN g.own @> g.named WHEN 'MN_EXCLUDE_ALL' THEN NOT g.own @> g.named
      WHEN 'MN_INCLUDE_EXACTLY' THEN g.own @> g.named AND g.own <@ g.named ELSE NOT (g.own @> g.named AND g.own <@ g.named) END
    THEN 'T' ELSE 'F' END END
    FROM (SELECT regexp_split_to_array(CASE WHEN ignorescase THEN lower(entries) ELSE entries END, '\\s*,\\s*') AS own,
      array_remove(CASE WHEN ignorescase THEN lower(wanted::text)::text[] ELSE wanted END, NULL) AS named) g`,
);

export const ORACLE_FUNCTIONS: readonly string[] = [
  ...CLOCK,
  ...TEXT,
  ...JOINING,
  ...LOCAL_TIMES,
  ...DATES,
  ...ARITHMETIC,
  ...DAY_ARITHMETIC,
  MULTI_SELECT,
];
