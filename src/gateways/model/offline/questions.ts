// The forms of whole questions: what is asked about which records. The records' conditions are the clauses after the resource's name.
import { type Clause, lookUp, readClauses, readState } from './clauses.ts';
import type { Question } from './text.ts';
import { compile, type Field, only, type Resource } from './tools.ts';

type Kind = 'count' | 'exists' | 'list' | 'record' | 'describe' | 'sum' | 'average' | 'min' | 'max';
type Asked = {
  readonly kind: Kind;
  /** What the field that is named is for. */
  readonly f?: 'field' | 'by';
  /** What kind of field that is. */
  readonly needs?: 'number' | 'day' | 'text';
  readonly order?: 'asc' | 'desc';
};
/** What is asked for: `field` is computed over, sorted by, or all that is asked of a record. */
export type Intent = NonNullable<ReturnType<typeof intentOf>> & { readonly limit: number | undefined };
type Form = readonly [pattern: string, asked: Asked];

const F = '(?<f>{fields})';
const before = '(?: all)?(?: (?<not>not )?(?<before>[^<>]+?))?';
const many = `${before} (?:{many})(?<after>(?: .*)?)`;
const any = `${before} (?:(?<one>{one})|{many})(?<after>(?: .*)?)`;
const record = ' (?:{one})(?: (?:no|id|number|code|called|named))? <[vn](?<id>\\d+)>';
const ask = ' (?:what (?:is|are|was|were)|how much (?:is|are)|show|give|calculate)';
const list = ' (?:show|list|display|give|find|get|print|see)';
const which = `(?:${list}| (?:which|what)(?: (?:is|are))?)?`;
const limit = '(?: <n(?<limit>\\d+)>)?';

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
  [`(?: how many|(?:${ask})?(?: (?:number|count) of| count))${many}`, { kind: 'count' }],
  [` (?:(?:is|are|was|were) there|(?:do|does) have)(?: some)?${any}`, { kind: 'exists' }],
  [` (?:is|does|has)${record}(?<after> .+)`, { kind: 'exists' }],
  ...aggregates.flatMap(([kind, words]): readonly Form[] => [
    [`(?:${ask})? (?:${words})(?: of)? ${F} (?:of|for|in)${many}`, { kind, f: 'field', needs: 'number' }],
    [`(?:${ask})? (?:${words})(?: value| amount)? (?:of|for)${many}`, { kind, needs: 'number' }],
  ]),
  [` (?:which|what) ${F} (?:has|have|do|does)(?: most)?${many}`, { kind: 'count', f: 'by' }],
  [`${which}${limit}${many}`, { kind: 'list' }],
  ...superlatives.flatMap(([words, needs, order]): readonly Form[] => [
    [`${which}${limit} (?:${words})${any}`, { kind: 'list', needs, order }],
    [`${which} (?:${words})${limit}${many}`, { kind: 'list', needs, order }],
    [`${which} (?:(?<one>{one})|{many}) (?:with|has|have) (?:${words}) ${F}(?<after>(?: .*)?)`, { kind: 'list', f: 'field', needs, order }],
  ]),
  [`(?:${list}|${ask}) ${F} (?:of|for)${record}`, { kind: 'record', f: 'field' }],
  [` when (?:is|was|were)${record} ${F}`, { kind: 'record', f: 'field', needs: 'day' }],
  [` who (?:is|was|are) ${F} of${record}`, { kind: 'record', f: 'field', needs: 'text' }],
  [`(?:${list})?${record}`, { kind: 'record' }],
  [' (?:describe|(?:tell|what can tell|what do know) about) (?:{one}|{many})', { kind: 'describe' }],
  [' (?:which|what|show|list) (?:fields|columns|filters) (?:(?:do|of|for|are in) )?(?:{one}|{many})(?: have)?', { kind: 'describe' }],
];

/** The only field that is meant; of `customerName` and `customerId` the one that people can read. Undefined if it isn't clear which. */
const readable = (fields: readonly Field[]): Field | undefined => only(fields) ?? only(fields.filter(({ name }) => /name$/i.test(name)));

/** Undefined if the parts of the question don't fit together. */
function intentOf({ kind, f, needs, order }: Asked, named: readonly Field[], clauses: readonly Clause[], resource: Resource) {
  const [by, otherBy] = [...(f === 'by' ? [named] : []), ...clauses.flatMap((clause) => clause.by ?? [])];
  const sorts = [...(order === undefined ? [] : [{ order, sort: by }]), ...clauses.filter((clause) => clause.order !== undefined)];
  const meant = f === 'field' ? named : sorts[0]?.sort;
  const main = needs === 'number' || needs === 'day' ? resource.main[needs] : undefined;
  const field = meant === undefined ? main : readable(meant.filter((one) => needs === undefined || one.kind === needs));
  const isGrouped = by !== undefined && order === undefined;
  const groupBy = isGrouped && kind === 'count' ? readable(by) : undefined;
  const isMisplaced = (isGrouped && groupBy === undefined) || (sorts.length > 0 && !(kind === 'list' && field?.sortable));
  const isMissing = (needs !== undefined || f === 'field') && field === undefined;
  if (otherBy !== undefined || sorts.length > 1 || isMisplaced || isMissing) return undefined;
  const conditions = clauses.flatMap((clause) => clause.conditions ?? []);
  return { kind, field, groupBy, order: sorts[0]?.order, conditions };
}

export const readQuestion = ({ text, values }: Question, resource: Resource): readonly Intent[] =>
  forms.flatMap(([pattern, asked]) => {
    const match = compile(`^${pattern}$`, resource).exec(` ${text}`);
    const { f, after = '', before, not, id, limit: mark, one } = match?.groups ?? {};
    const state = before === undefined ? {} : readState({ named: undefined, values: [], word: before, isNot: not !== undefined }, resource);
    const named = resource.fields.filter((field) => field.name === 'id' || resource.identity.includes(field));
    const value = values[Number(id)];
    const record = value === undefined ? {} : lookUp({ named, values: [value], word: '', isNot: false }, resource);
    if (match === null || state === undefined || record === undefined) return [];
    const limit = mark === undefined ? (one === undefined ? undefined : 1) : Number(values[Number(mark)]?.text);
    return readClauses(after, values, resource).flatMap((clauses) => {
      const intent = intentOf(asked, resource.phrases.get(f ?? '') ?? [], [record, state, ...clauses], resource);
      return intent === undefined || limit === 0 ? [] : [{ ...intent, limit }];
    });
  });
