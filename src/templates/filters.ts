// The filters that templates may use: those of Liquid that only look at what they are given. None reads a clock, draws lots, runs an
// expression from data or turns escaping off.
import { type Context, type FilterImplOptions, filters } from 'liquidjs';
import { escapeHtml } from '../core/escape-html.ts';

type Handler = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;

const kept = [
  ...['abs', 'at_least', 'at_most', 'ceil', 'divided_by', 'floor', 'minus', 'modulo', 'plus', 'round', 'times'],
  ...['append', 'capitalize', 'downcase', 'lstrip', 'prepend', 'remove', 'remove_first', 'remove_last', 'replace', 'replace_first'],
  ...['replace_last', 'rstrip', 'split', 'strip', 'strip_html', 'strip_newlines', 'truncate', 'truncatewords', 'upcase'],
  ...['compact', 'concat', 'find', 'first', 'has', 'join', 'last', 'map', 'reverse', 'size', 'slice', 'sort', 'sort_natural', 'sum'],
  ...['uniq', 'where', 'reject', 'default', 'json', 'url_decode', 'url_encode'],
];

/**
 * Charges what a filter is given before it works on it. Liquid's own filters charge texts and the length of lists, yet not the texts
 * within lists that they are about to join.
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

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : Array.isArray(value) ? value.map(textOf).join('') : String(value);

/** What puts a value out. Everything that leaves a template passes here, or a filter below that is raw because it has escaped. */
export const putOut = (as: 'html' | 'text') =>
  charged((value) => (as === 'html' ? escapeHtml(textOf(value)) : textOf(value))) as (value: unknown) => string;

const day = /^\d{4}-\d{2}-\d{2}$/;

/** `now` is the moment that the service gave, never the machine's. A calendar day is the same day in every zone. */
const dateOf = (now: string, original: Handler): Handler =>
  function (value, format, zone) {
    const given = value === 'now' || value === 'today' ? now : value;
    return original.call(this, given, format, typeof given === 'string' && day.test(given) ? 0 : zone);
  };

/** `{{ amount | number: 2 }}`: exact for decimal texts of any length, `1,234.50`. What is no number stays as it is. */
const number: Handler = (value, digits) => {
  const text = textOf(value).trim();
  if (!/^-?\d{1,40}(\.\d{1,40})?$/.test(text)) return value;
  const places = typeof digits === 'number' ? Math.min(Math.max(Math.trunc(digits), 0), 20) : undefined;
  const format = new Intl.NumberFormat('en-US', {
    ...(places === undefined ? { maximumFractionDigits: 20 } : { minimumFractionDigits: places, maximumFractionDigits: places }),
  });
  return format.format(text as `${number}`);
};

/** By name. `now` is RFC 3339. */
export function filtersFor(as: 'html' | 'text', now: string): Map<string, FilterImplOptions> {
  const originals = filters as unknown as Readonly<Record<string, Handler>>;
  const original = (name: string): Handler => {
    const found = originals[name];
    if (found === undefined) throw new Error(`liquidjs has no filter ${name}`);
    return found;
  };
  const escaped: Handler = (value) => escapeHtml(textOf(value));
  const onceEscaped: Handler = (value) => escapeHtml(textOf(value)).replaceAll(/&amp;(#?\w{1,10};)/g, '&$1');
  const broken: Handler = (value) => (as === 'html' ? escapeHtml(textOf(value)).replaceAll(/\r?\n/g, '<br>\n') : textOf(value));
  const raw = (handler: Handler) => ({ handler: charged(handler), raw: true });
  return new Map<string, FilterImplOptions>([
    ...kept.map((name) => [name, charged(original(name))] as const),
    ['date', charged(dateOf(now, original('date')))],
    ['number', charged(number)],
    ['escape', raw(escaped)],
    ['escape_once', raw(onceEscaped)],
    ['newline_to_br', raw(broken)],
  ]);
}
