// Oracle's functions and operators that SuiteQL offers, defined in PostgreSQL. None has side effects.
// Their bodies run with the caller's search path, in which suiteql comes first: whatever it overrides is qualified with its schema.
// Business time and the date preference come from settings that the service sets for each query and that no query can change.
// TO_DATE returns a timestamp without time zone: PostgreSQL compares it with a timestamptz column in the session's zone, as Oracle does.

const sql = (signature: string, returns: string, body: string, volatility = 'IMMUTABLE'): string =>
  `CREATE FUNCTION suiteql.${signature} RETURNS ${returns} LANGUAGE sql ${volatility} PARALLEL SAFE AS $$ ${body} $$`;

const MASK = "current_setting('netsuite.date_mask')";
const days = (difference: string): string => `SELECT round((extract(epoch FROM ${difference}) / 86400)::numeric, 10)`;

const MOMENTS = ['timestamp', 'timestamptz', 'date'];

const CLOCK = [
  sql('systimestamp()', 'timestamptz', "SELECT date_trunc('second', current_setting('netsuite.now')::timestamptz)", 'STABLE'),
  sql('sysdate()', 'timestamp', 'SELECT suiteql.systimestamp()::timestamp', 'STABLE'),
  sql('today()', 'date', 'SELECT suiteql.systimestamp()::date', 'STABLE'),
];

const TEXT = [
  sql('instr(a text, b text)', 'integer', 'SELECT strpos(a, b)'),
  sql('pad_length(n integer)', 'integer', 'SELECT least(n, 4000)'), // Oracle's longest VARCHAR2
  sql("lpad(a text, n integer, b text DEFAULT ' ')", 'text', 'SELECT pg_catalog.lpad(a, suiteql.pad_length(n), b)'),
  sql("rpad(a text, n integer, b text DEFAULT ' ')", 'text', 'SELECT pg_catalog.rpad(a, suiteql.pad_length(n), b)'),
  sql('to_number(a text)', 'numeric', 'SELECT a::numeric'),
  sql('to_number(a numeric)', 'numeric', 'SELECT a'),
  sql('to_char(a text)', 'text', 'SELECT a'),
  sql('to_char(a numeric)', 'text', 'SELECT trim_scale(a)::text'),
  sql('to_char(a numeric, mask text)', 'text', 'SELECT pg_catalog.to_char(a, mask)', 'STABLE'),
  ...MOMENTS.map((type) => sql(`to_char(a ${type})`, 'text', `SELECT pg_catalog.to_char(a, ${MASK})`, 'STABLE')),
  ...MOMENTS.map((type) => sql(`to_char(a ${type}, mask text)`, 'text', 'SELECT pg_catalog.to_char(a, mask)', 'STABLE')),
];

const DATES = [
  sql('to_date(a text, mask text)', 'timestamp', 'SELECT pg_catalog.to_timestamp(a, mask)::timestamp', 'STABLE'),
  sql('to_date(a text)', 'timestamp', 'SELECT a::timestamp', 'STABLE'),
  sql('to_timestamp(a text, mask text)', 'timestamp', 'SELECT pg_catalog.to_timestamp(a, mask)::timestamp', 'STABLE'),
  sql('to_timestamp(a text)', 'timestamp', 'SELECT a::timestamp', 'STABLE'),
  ...MOMENTS.map((type) => sql(`sys_extract_utc(a ${type})`, 'timestamp', "SELECT a::timestamptz AT TIME ZONE 'UTC'", 'STABLE')),
  ...MOMENTS.map((type) => sql(`trunc(a ${type})`, 'timestamp', "SELECT date_trunc('day', a::timestamp)", 'STABLE')),
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
  sql('trunc(a numeric, n integer)', 'numeric', 'SELECT pg_catalog.trunc(a, n)'),
  ...MOMENTS.map((type) =>
    sql(`add_months(a ${type}, n integer)`, 'timestamp', 'SELECT a::timestamp + make_interval(months => n)', 'STABLE'),
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

/** Oracle's date arithmetic is in days: a date plus or minus a number is a date, the difference of two dates is a number. */
const DAY_ARITHMETIC = [
  ...MOMENTS.flatMap((type) => [
    sql(`plus_days(a ${type}, n numeric)`, 'timestamp', "SELECT a::timestamp + n::double precision * interval '1 day'", 'STABLE'),
    `CREATE OPERATOR suiteql.+ (LEFTARG = ${type}, RIGHTARG = numeric, FUNCTION = suiteql.plus_days)`,
    sql(`minus_days(a ${type}, n numeric)`, 'timestamp', "SELECT a::timestamp - n::double precision * interval '1 day'", 'STABLE'),
    `CREATE OPERATOR suiteql.- (LEFTARG = ${type}, RIGHTARG = numeric, FUNCTION = suiteql.minus_days)`,
  ]),
  ...MOMENTS.flatMap((left) =>
    MOMENTS.filter((right) => left !== 'date' || right !== 'date').flatMap((right) => [
      sql(`days_between(a ${left}, b ${right})`, 'numeric', days('(a::timestamp OPERATOR(pg_catalog.-) b::timestamp)'), 'STABLE'),
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
    sql(`joined(a text, b ${type})`, 'text', 'SELECT suiteql.joined(a, trim_scale(b::numeric)::text)', 'STABLE'),
    `CREATE OPERATOR suiteql.|| (LEFTARG = text, RIGHTARG = ${type}, FUNCTION = suiteql.joined)`,
    sql(`joined(a ${type}, b text)`, 'text', 'SELECT suiteql.joined(trim_scale(a::numeric)::text, b)', 'STABLE'),
    `CREATE OPERATOR suiteql.|| (LEFTARG = ${type}, RIGHTARG = text, FUNCTION = suiteql.joined)`,
  ]),
  sql('concat(a text, b text)', 'text', 'SELECT suiteql.joined(a, b)', 'STABLE'),
];

export const ORACLE_FUNCTIONS: readonly string[] = [...CLOCK, ...TEXT, ...DATES, ...DAY_ARITHMETIC, ...JOINING];
