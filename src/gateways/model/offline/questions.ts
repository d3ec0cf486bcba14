// The forms of whole questions: what is asked about which records. The records' conditions are the clauses
// after the resource's name.
import { type Clause, lookUp, readClauses, readName, readState } from './clauses.ts';
import { paraphrases } from './paraphrases.ts';
import type { Question } from './text.ts';
import { compile, type Field, only, type Resource } from './tools.ts';

type Kind = 'count' | 'exists' | 'list' | 'record' | 'describe' | 'sum' | 'average' | 'min' | 'max';
/** `f`: what the field that is named is for; `needs`: what kind of field that is. */
type Asked = Readonly<{
  kind: Kind;
  f?: 'field' | 'by';
  needs?: 'number' | 'day' | 'text';
  order?: 'asc' | 'desc';
}>;
/** What is asked for: `field` is computed over, sorted by, or all that is asked of a record. */
export type Intent = NonNullable<ReturnType<typeof toIntent>> & {
  readonly limit: number | undefined;
  readonly isTop: boolean;
};
type Form = readonly [pattern: string, asked: Asked];

const F = '(?<f>{fields})';
const before = '(?: all)?(?: (?<not>not )?(?<before>[^<>]+?))?';
const many = `${before} (?:{many})(?<after>(?: .*)?)`;
const any = `${before} (?:(?<one>{one})|{many})(?<after>(?: .*)?)`;
const record = '(?: (?<noun>{one}))?(?: (?:no|id|number|code|called|named))? <[vn](?<id>\\d+)>';
const ask = ' (?:what (?:is|are|was|were)|how much (?:is|are)|show|give|calculate)';
const list = ' (?:show|list|display|give|find|get|print|see)';
const which = `(?:${list}| (?:which|what)(?: (?:is|are))?)?`;
const limit = '(?: <n(?<limit>\\d+)>)?';
const top = `(?<top> top${limit})?`;

const aggregates: readonly (readonly [Kind, string])[] = [
  ['sum', 'sum|total'],
  ['average', 'average|mean'],
  ['max', 'largest|highest|biggest|greatest|maximum|max'],
  ['min', 'smallest|lowest|minimum|min'],
];
const superlatives: readonly (readonly [words: string, needs: 'number' | 'day', order: 'asc' | 'desc'])[] = [
  ['largest|highest|biggest|greatest|top', 'number', 'desc'],
  ['smallest|lowest', 'number', 'asc'],
  ['newest|latest|most recent|last', 'day', 'desc'],
  ['oldest|earliest', 'day', 'asc'],
];

const forms: readonly Form[] = [
  [`${top}(?: how many|(?:${ask})?(?: (?:number|count) of| count))${many}`, { kind: 'count' }],
  [` (?:(?:is|are|was|were) there|(?:do|does) have)(?: some)?${any}`, { kind: 'exists' }],
  [` (?:is|does|has)${record}(?<after> .+)`, { kind: 'exists' }],
  ...aggregates.flatMap(([kind, words]): readonly Form[] => [
    [
      `${top}(?:${ask})? (?:${words})(?: of)? ${F} (?:of|for|in)${many}`,
      { kind, f: 'field', needs: 'number' },
    ],
    [`${top}(?:${ask})? (?:${words})(?: value| amount)? (?:of|for)${many}`, { kind, needs: 'number' }],
    [`(?:${ask})? (?:${words}) (?:{one}) ${F}(?<after>(?: .*)?)`, { kind, f: 'field', needs: 'number' }],
  ]),
  [` (?:which|what) ${F} (?:has|have|do|does)(?: most)?${many}`, { kind: 'count', f: 'by' }],
  [`${which}${limit}${many}`, { kind: 'list' }],
  ...superlatives.flatMap(([words, needs, order]): readonly Form[] => [
    [`${which}${limit} (?:${words})${any}`, { kind: 'list', needs, order }],
    [`${which} (?:${words})${limit}${many}`, { kind: 'list', needs, order }],
    [
      `${which} (?:(?<one>{one})|{many}) (?:with|has|have) (?:${words}) ${F}(?<after>(?: .*)?)`,
      { kind: 'list', f: 'field', needs, order },
    ],
  ]),
  [`(?:${list}|${ask})? ${F} (?:of|for)${record}`, { kind: 'record', f: 'field' }],
  [` when (?:is|was|were)${record} ${F}`, { kind: 'record', f: 'field', needs: 'day' }],
  [` who (?:is|was|are) ${F} of${record}`, { kind: 'record', f: 'field', needs: 'text' }],
  [`(?:${list})?${record}`, { kind: 'record' }],
  [`${list} (?<noun>{one}) (?<name>[^ <>]+(?: [^ <>]+){0,4})`, { kind: 'record' }],
  [' (?:describe|(?:tell|what can tell|what do know) about) (?:{one}|{many})', { kind: 'describe' }],
  [
    ' (?:which|what|show|list) (?:fields|columns|filters) (?:(?:do|of|for|are in) )?(?:{one}|{many})(?: have)?',
    { kind: 'describe' },
  ],
];

/**
 * The only field that is meant; of `customerName` and `customerId` the one that people can read. Undefined if
 * it isn't clear which.
 */
const readable = (fields: readonly Field[]): Field | undefined =>
  only(fields) ?? only(fields.filter(({ name }) => /name$/i.test(name)));

/** Undefined if the parts of the question don't fit together. */
function toIntent(
  { kind: asked, f, needs, order }: Asked,
  named: readonly Field[],
  clauses: readonly Clause[],
  resource: Resource,
) {
  const [by, otherBy] = [...(f === 'by' ? [named] : []), ...clauses.flatMap((clause) => clause.by ?? [])];
  const [period, otherPeriod] = clauses.flatMap((clause) => clause.period ?? []);
  // "Invoices per month" are counted.
  const kind = asked === 'list' && period !== undefined && order === undefined ? 'count' : asked;
  const sorts = [
    ...(order === undefined ? [] : [{ order, sort: by }]),
    ...clauses.filter((clause) => clause.order !== undefined),
  ];
  const meant = f === 'field' ? named : sorts[0]?.sort;
  const main = needs === 'number' || needs === 'day' ? resource.main[needs] : undefined;
  const field =
    meant === undefined ? main : readable(meant.filter((one) => needs === undefined || one.kind === needs));
  const isGrouped = by !== undefined && order === undefined;
  const isComputed = !/^(?:exists|list|record|describe)$/.test(kind);
  const groupBy = isGrouped && isComputed ? readable(by) : undefined;
  const isMisplaced =
    (isGrouped && groupBy === undefined) || (sorts.length > 0 && !(kind === 'list' && field?.sortable));
  const isPeriodMisplaced =
    period !== undefined && (by !== undefined || !isComputed || resource.main.day?.type !== 'date');
  const isMissing = (needs !== undefined || f === 'field') && field === undefined;
  if (
    otherBy !== undefined ||
    otherPeriod !== undefined ||
    sorts.length > 1 ||
    isMisplaced ||
    isPeriodMisplaced ||
    isMissing
  )
    return undefined;
  const conditions = clauses.flatMap((clause) => clause.conditions ?? []);
  return { kind, field, groupBy, period, order: sorts[0]?.order, conditions };
}

/** The record that is named, by an id only together with what it is; undefined if none can be named so. */
function parseRecordClause(
  { values, today }: Question,
  { id, name, noun }: NonNullable<RegExpExecArray['groups']>,
  resource: Resource,
): Clause | undefined {
  const named = resource.fields.filter(
    (field) => resource.identity.includes(field) || (field.name === 'id' && noun !== undefined),
  );
  const value = values[Number(id)];
  if (name !== undefined)
    return readName({ named: resource.identity, values: [], word: name, isNot: false, today }, resource);
  return value === undefined
    ? {}
    : lookUp({ named, values: [value], word: '', isNot: false, today }, resource);
}

function readForms(question: Question, resource: Resource): readonly Intent[] {
  const { text, values, today } = question;
  return forms.flatMap(([pattern, asked]) => {
    const match = compile(`^${pattern}$`, resource).exec(` ${text}`);
    if (match === null) return [];
    const { f, after = '', before, not, limit: mark, one, top } = match.groups ?? {};
    const words = { named: undefined, values: [], isNot: not !== undefined, today };
    const state = before === undefined ? {} : readState({ ...words, word: before }, resource);
    const record = parseRecordClause(question, match.groups ?? {}, resource);
    if (state === undefined || record === undefined) return [];
    const limit =
      mark === undefined ? (one === undefined ? undefined : 1) : Number(values[Number(mark)]?.text);
    const isTop = top !== undefined;
    return readClauses({ ...question, text: after }, resource).flatMap((clauses) => {
      const intent = toIntent(
        asked,
        resource.phrases.get(f ?? '') ?? [],
        [record, state, ...clauses],
        resource,
      );
      const isRefused =
        limit === 0 || (isTop && intent?.groupBy === undefined && intent?.period === undefined);
      return intent === undefined || isRefused ? [] : [{ ...intent, limit, isTop }];
    });
  });
}

/** What a question may ask for, as it is or in the words of the forms. */
export const readQuestion = (question: Question, resource: Resource): readonly Intent[] =>
  [question.text, ...paraphrases(question.text, resource)].flatMap((text) =>
    readForms({ ...question, text }, resource),
  );
