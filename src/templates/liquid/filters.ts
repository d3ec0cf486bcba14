// The filters of templates: Liquid's pure ones, and replacements for those that escape, format, calculate or
// compare. None reads the clock, uses randomness, evaluates an expression of data or turns escaping off.
import { type Context, type FilterImplOptions, filters } from 'liquidjs';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { calculations, compareNumbers, ExactNumber, sumValues } from './numbers.ts';

type Handler = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;

const allowedFilters = [
  ...[
    'append',
    'capitalize',
    'downcase',
    'lstrip',
    'prepend',
    'remove',
    'remove_first',
    'remove_last',
    'replace',
    'replace_first',
  ],
  ...[
    'replace_last',
    'rstrip',
    'split',
    'strip',
    'strip_html',
    'strip_newlines',
    'truncate',
    'truncatewords',
    'upcase',
  ],
  ...[
    'compact',
    'concat',
    'find',
    'first',
    'has',
    'join',
    'last',
    'map',
    'reverse',
    'size',
    'slice',
    'sort_natural',
  ],
  ...['where', 'reject', 'default', 'json', 'url_decode', 'url_encode'],
];

/**
 * Charges a filter's inputs to the memory limit before it processes them. Liquid's own filters charge texts
 * and the length of lists, but not the texts within lists that they are about to join.
 */
function charge({ memoryLimit }: Context, value: unknown): void {
  if (typeof value === 'string') memoryLimit.use(value.length);
  else if (Array.isArray(value)) for (const item of value) charge({ memoryLimit } as Context, item);
  else memoryLimit.use(1);
}

const charged = (handler: Handler): Handler =>
  function (value, ...args) {
    charge(this.context, value);
    for (const arg of args) charge(this.context, arg);
    return handler.call(this, value, ...args);
  };

const toText = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : Array.isArray(value)
      ? value.map(toText).join('')
      : String(value);

/** Converts and escapes a value. All output passes through here, or through a raw filter that escapes. */
export const createOutputFilter = (as: 'html' | 'text') =>
  charged((value) => (as === 'html' ? escapeHtml(toText(value)) : toText(value))) as (
    value: unknown,
  ) => string;

const day = /^\d{4}-\d{2}-\d{2}$/;

/** `now` is passed by the service, never the machine's clock. A calendar date is the same in all zones. */
const createDateFilter = (now: string, original: Handler): Handler =>
  function (value, format, zone) {
    const given = value === 'now' || value === 'today' ? now : value;
    return original.call(this, given, format, typeof given === 'string' && day.test(given) ? 0 : zone);
  };

/** `{{ amount | number: 2 }}`: `1,234.50`, exact for texts of up to 40 digits. All else stays unchanged. */
const number: Handler = (value, digits) => {
  const text = toText(value).trim();
  if (!/^-?\d{1,40}(\.\d{1,40})?$/.test(text)) return value;
  const places = typeof digits === 'number' ? Math.min(Math.max(Math.trunc(digits), 0), 20) : undefined;
  const format = new Intl.NumberFormat('en-US', {
    ...(places === undefined
      ? { maximumFractionDigits: 20 }
      : { minimumFractionDigits: places, maximumFractionDigits: places }),
  });
  return format.format(text as `${number}`);
};

/** A calculation that is impossible is a problem in a preview, and empty in a mail. */
const calculated =
  (calculate: (typeof calculations)[string], strict: boolean): Handler =>
  (value, ...args) => {
    try {
      return calculate(value, ...args);
    } catch (error) {
      if (strict) throw error;
      return null;
    }
  };

/** The items, or the values of a property of theirs. */
const createValuesReader = (
  map: Handler,
): ((context: { context: Context }, items: unknown, property: unknown) => Generator<unknown, unknown[]>) =>
  function* (context, items, property) {
    const list = items === null || items === undefined ? [] : Array.isArray(items) ? items : [items];
    return property === undefined
      ? list
      : ((yield* map.call(context, list, property) as Generator<unknown, unknown[]>) as unknown[]);
  };

function listFilters(original: (name: string) => Handler): Record<'sum' | 'sort' | 'uniq', Handler> {
  const readValues = createValuesReader(original('map'));
  const sum: Handler = function* (value, property) {
    return sumValues(yield* readValues(this, value, property));
  };
  const sort: Handler = function* (value, property) {
    const values = yield* readValues(this, value, property);
    const compare = compareNumbers(values);
    if (compare === undefined) return yield* original('sort').call(this, value, property) as Generator;
    const items = Array.isArray(value) ? value : [value];
    return values
      .map((by, index) => ({ by, item: items[index] }))
      .sort((a, b) => compare(a.by, b.by))
      .map(({ item }) => item);
  };
  const uniq: Handler = (value) => {
    const items = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    return [
      ...new Map(items.map((item) => [item instanceof ExactNumber ? item.toString() : item, item])).values(),
    ];
  };
  return { sum, sort, uniq };
}

/**
 * All allowed filters by name. `now` is RFC 3339. `strict`: impossible calculations are problems. Throws an
 * Error at once if liquidjs lacks one of them, as a new version might.
 */
export function filtersFor(as: 'html' | 'text', now: string, strict: boolean) {
  const originals = filters as unknown as Readonly<Record<string, Handler>>;
  const original = (name: string): Handler => {
    const found = originals[name];
    if (found === undefined) throw new Error(`liquidjs has no filter ${name}`);
    return found;
  };
  const escaped: Handler = (value) => escapeHtml(toText(value));
  const onceEscaped: Handler = (value) => escapeHtml(toText(value)).replaceAll(/&amp;(#?\w{1,10};)/g, '&$1');
  const newlineToBr: Handler = (value) =>
    as === 'html' ? escapeHtml(toText(value)).replaceAll(/\r?\n/g, '<br>\n') : toText(value);
  const raw = (handler: Handler) => ({ handler: charged(handler), raw: true });
  return new Map<string, FilterImplOptions>([
    ...allowedFilters.map((name) => [name, charged(original(name))] as const),
    ...Object.entries(calculations).map(
      ([name, calculate]) => [name, charged(calculated(calculate, strict))] as const,
    ),
    ...Object.entries(listFilters(original)).map(([name, filter]) => [name, charged(filter)] as const),
    ['date', charged(createDateFilter(now, original('date')))],
    ['number', charged(number)],
    ['escape', raw(escaped)],
    ['escape_once', raw(onceEscaped)],
    ['newline_to_br', raw(newlineToBr)],
  ]);
}
