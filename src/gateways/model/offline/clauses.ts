// The clauses that follow a resource's name in a question, such as `over 500`, `since 2011-08-15`, `with
// status open` and `per customer`.
import { type Filter, filterBy, overdue, readFlag, readPayment } from './filters.ts';
import type { Period } from './periods.ts';
import type { Question, Value } from './text.ts';
import { compile, type Field, only, type Resource } from './tools.ts';

/**
 * A value to look up in these fields, or in any if they are undefined. `state`: by its words, such as `open`,
 * or else what is `meant`; `name`: a part of it is enough if only one value has that part.
 */
export type Lookup = Pick<Words, 'named' | 'isNot'> &
  Readonly<{ value: string; as: 'value' | 'state' | 'name'; meant?: readonly Filter[] }>;
type Conditions = readonly (Filter | Lookup)[];
export type Clause = Readonly<{
  conditions?: Conditions;
  by?: readonly Fields[];
  period?: Period;
  sort?: Fields;
  order?: 'asc' | 'desc';
}>;
/** The fields that a name may mean. */
type Fields = readonly Field[];
type Words = Readonly<{
  named: Fields | undefined;
  values: readonly Value[];
  word: string;
  isNot: boolean;
  today: string;
}>;
type Kind = 'number' | 'day';
/** Undefined if the words don't fit together. */
type Read = (words: Words, resource: Resource) => Clause | undefined;

/** The field of a kind that is named, or else the main one; undefined if it isn't clear which. */
const chooseField = (named: Fields | undefined, kind: Kind, { main }: Resource): Field | undefined =>
  named === undefined ? main[kind] : only(named.filter((field) => field.kind === kind));

/** Undefined unless the version has exactly one such filter. */
const one = (filters: readonly Filter[]): Clause | undefined =>
  filters.length === 1 ? { conditions: filters } : undefined;
const isYear = (text: string): boolean => /^(?:19|20)\d{2}$/.test(text);

/** The filter and its name for one end of a range, and which end of a span of days it starts from. */
type End = readonly [suffix: string, label: string, edge: 'from' | 'to'];
const atLeast: End = ['_gte', 'at least', 'from'];
const atMost: End = ['_lte', 'at most', 'to'];
const since: End = ['_gte', 'from', 'from'];
const through: End = ['_lte', 'to', 'to'];
const comparisons: readonly (readonly [kind: Kind, words: string, end: End])[] = [
  ['number', 'at least|no less than|minimum of', atLeast],
  ['number', 'over|above|exceeding|(?:more|greater|larger|bigger|higher) than', ['_gt', 'over', 'from']],
  ['number', 'at most|up to|no more than|maximum of', atMost],
  ['number', 'under|below|(?:less|lower|smaller) than', ['_lt', 'under', 'to']],
  ['day', 'since|starting|starting on|on or after|not before', since],
  ['day', 'after|later than|newer than', ['_after', 'after', 'to']],
  ['day', 'through|on or before|no later than|not after', through],
  ['day', 'before|earlier than|older than|prior to', ['_before', 'before', 'from']],
];

/** One end, or both of a range of numbers or days. */
const range =
  (kind: Kind, start: End, end?: End): Read =>
  ({ named, values: [first, last = first] }, resource) => {
    const field = chooseField(named, kind, resource);
    if (field === undefined || first === undefined || last === undefined) return undefined;
    const mayBeYears = named === undefined && first !== last && isYear(first.text) && isYear(last.text);
    if (mayBeYears || (kind === 'day' ? first.from > last.to : Number(first.from) > Number(last.to)))
      return undefined;
    const [[suffix, label, edge], { from }, { to }] = [start, first, last];
    if (end === undefined) return one(filterBy(field, { [suffix]: first[edge] }, `${label} ${first[edge]}`));
    const exactly = from === to ? filterBy(field, { '': from }, `is ${from}`) : [];
    return one(
      [
        ...exactly,
        ...filterBy(field, { [suffix]: from, [end[0]]: to }, `${label} ${from} ${end[1]} ${to}`),
      ].slice(0, 1),
    );
  };

export const lookUp: Read = ({ named: meant, values: [value], isNot }) => {
  const named = meant?.filter(
    ({ kind, name, filters }) => kind !== 'day' && filters.includes(isNot ? `${name}_not` : name),
  );
  // A number alone may be a year.
  if (value === undefined || named?.length === 0 || (named === undefined && isYear(value.text)))
    return undefined;
  return { conditions: [{ named, value: value.text, isNot, as: 'value' }] };
};
/** A state, or the name of a boolean field such as `paid`. */
export const readState: Read = ({ named, word: words, isNot, today }, resource) => {
  const word = words.replaceAll(/^(?:(?:still|already|been) )+|(?: (?:yet|already|still))+$/g, '');
  const lookup = { named, value: word, isNot, as: 'state' } as const;
  if (named !== undefined) return { conditions: [lookup] };
  const flags = readFlag(word, isNot, resource);
  return flags.length > 0
    ? one(flags)
    : { conditions: [{ ...lookup, meant: readPayment(word, isNot, resource, today) }] };
};
/** A name without quotes, of a customer and the like. */
export const readName: Read = ({ named: meant, word, isNot }, { fields }) => {
  const named = (meant ?? fields).filter(
    ({ name, kind }) => kind === 'text' && /name$|^(?:customer|client|vendor|supplier)$/i.test(name),
  );
  return named.length === 0 ? undefined : { conditions: [{ named, value: word, isNot, as: 'name' }] };
};

const F = '(?<f>{fields})';
const link = '(?: (?:is|are|was|were|of|equals|called|named))*';
const glue =
  '(?:(?:that|which|whose|who|where|and|with|having|have|has|is|are|was|were|do|does|did|there|dated) )*';
/**
 * Up to four words after all other conditions: in "open in August" the day would be that of the state, in
 * "not open in EUR" the negation that of both.
 */
const state = '(?<word>[^ <>]+(?: [^ <>]+){0,3}?)(?=$| (?:per|by|sorted|ordered) )';
const named = `(?:${F}${link} )?`;
const ends =
  '(?:per|by|sorted|ordered|over|above|under|below|between|since|before|after|in|on|during|with|that|which|are|is) ';
const name = `(?<word>(?!(?:and|or|not) |${ends})[^ <>]+(?: [^ <>]+){0,4}?)(?=$| <d| ${ends})`;
const per = 'per|by|each|every|grouped by|for each|for every';
const late = '(?:overdue|late|past due)';
const of = '(?:of|for|from|by|to|in)';

const table: readonly (readonly [pattern: string, read: Read])[] = [
  ...comparisons.map(([kind, words, end]): readonly [string, Read] => [
    `${named}(?:${words}) <${kind[0]}\\d+>`,
    range(kind, end),
  ]),
  [`${named}between <n\\d+> and <n\\d+>`, range('number', atLeast, atMost)],
  [`${named}(?:between <d\\d+> and|from <d\\d+> (?:to|until|through)) <d\\d+>`, range('day', since, through)],
  [`${named}(?:(?:in|on|during|within|for|of|at) )?<d\\d+>`, range('day', since, through)],
  [`(?:(?:${of} )?${F}${link} (?<not>not )?|${of} )<[vn]\\d+>`, lookUp],
  [`(?:${of} )?${F}${link} (?<not>not )?${state}`, readState],
  [`(?:${of} |(?<not>not ))?${state}`, readState],
  [`(?:${per}) ${F}`, ({ named = [] }) => ({ by: [named] })],
  [`(?:sort|order)(?:ed)? by ${F}(?: asc(?:ending)?)?`, ({ named = [] }) => ({ sort: named, order: 'asc' })],
  [`(?:sort|order)(?:ed)? by ${F} desc(?:ending)?`, ({ named = [] }) => ({ sort: named, order: 'desc' })],
  [`(?:${per}) (?<word>day|week|month|quarter|year)`, ({ word }) => ({ period: word as Period })],
  [`(?:(?:of|for|from|by|to) )?${F}${link} (?<not>not )?${name}`, readName],
  [`(?:of|for|from|to) ${name}`, readName],
  [
    `(?:${late} (?:by|for) (?:more than|over) <n\\d+> days|(?:more than|over) <n\\d+> days ${late})`,
    ({ values: [days], today }, resource) => one(overdue(resource, today, Number(days?.text))),
  ],
  ['(?:are|were|there|have|has|exist|in total|altogether|overall)', () => ({})],
];

/** The clauses of a text, in each way in which all of it can be understood. */
export function readClauses(
  { text, values, today }: Question,
  resource: Resource,
  hasState = false,
): readonly (readonly Clause[])[] {
  if (text === '') return [[]];
  const found = table.flatMap(([pattern, read]) => {
    const match = compile(`^ ${glue}${pattern}(?= |$)`, resource).exec(text);
    if (match === null) return [];
    const { f, word = '', not } = match.groups ?? {};
    const named = f === undefined ? undefined : resource.phrases.get(f);
    const marks = [...match[0].matchAll(/<[ndv](\d+)>/g)].flatMap(([, index]) => values[Number(index)] ?? []);
    const clause = read({ named, values: marks, word, isNot: not !== undefined, today }, resource);
    return clause === undefined ? [] : [{ clause, length: match[0].length, isState: read === readState }];
  });
  const longest = found.filter(({ isState }) => !isState).sort((a, b) => b.length - a.length)[0];
  // A state may be any words: only what is no other clause, and only once.
  const ways = longest === undefined && !hasState ? found : [longest].filter((way) => way !== undefined);
  return ways.flatMap(({ clause, length, isState }) =>
    readClauses({ text: text.slice(length), values, today }, resource, hasState || isState).map((rest) => [
      clause,
      ...rest,
    ]),
  );
}
