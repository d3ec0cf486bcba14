// Interprets a marked question for a resource: first its conditions, then, from the remaining words, what it asks for (the intent). The
// interpretation fails unless every word is understood.
import { type CatalogField, type CatalogResource, identityFields, mainAmount, mainDay, markFields, markResource } from './catalog.ts';
import type { DataTools, Filters } from './data.ts';
import {
  createRule,
  type DescribedCondition,
  type Draft,
  extractAll,
  fieldsAt,
  NeedsClarification,
  NotUnderstood,
  valueAt,
} from './draft.ts';
import { assertNotAllNegative, extractFilters } from './filters.ts';
import { contentWords, type Marked, withoutFiller } from './language.ts';
import { extractValues } from './values.ts';

export type AggregateFunction = 'sum' | 'average' | 'min' | 'max';
export type Intent =
  | { readonly kind: 'count' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'aggregate'; readonly aggregate: AggregateFunction; readonly field: CatalogField }
  | { readonly kind: 'list'; readonly limit: number | undefined; readonly sort: Draft['sort']; readonly show: readonly CatalogField[] }
  | { readonly kind: 'values'; readonly show: readonly CatalogField[] }
  | { readonly kind: 'lines'; readonly field: CatalogField; readonly counted: boolean }
  | {
      readonly kind: 'groups';
      readonly by: CatalogField;
      readonly aggregate: AggregateFunction | 'count';
      readonly field: CatalogField | undefined;
      readonly onlyTop: boolean;
    };

export type Interpretation = {
  readonly resource: CatalogResource;
  readonly filters: Filters;
  readonly descriptions: readonly string[];
  /** The condition that identifies one record by its name, if the question has one. */
  readonly record: DescribedCondition | undefined;
  readonly intent: Intent;
};

const aggregateWords: readonly (readonly [string, AggregateFunction])[] = [
  ['sum|total', 'sum'],
  ['average|mean', 'average'],
  ['largest|highest|biggest|maximum|max|greatest', 'max'],
  ['smallest|lowest|minimum|min|least', 'min'],
];
const superlatives: readonly (readonly [string, 'amount' | 'day', 'asc' | 'desc'])[] = [
  ['largest|highest|biggest|greatest|top', 'amount', 'desc'],
  ['smallest|lowest', 'amount', 'asc'],
  ['newest|latest|most recent|recent|last', 'day', 'desc'],
  ['oldest|earliest|first', 'day', 'asc'],
];
const anySuperlative = superlatives.map(([words]) => words).join('|');
const askingPattern = '(?:(?:show|list|display|give|find|get|see|print|which|what|who|when|tell|want) )*';
/** The name of the resource: `<r>` is singular, one record; `<R>` is plural, or the same in both. See markResource. */
const R = '<[rR]>';
const F = '<f\\d+>';

const isOrdered = ({ kind }: CatalogField): boolean => kind === 'number' || kind === 'day';
const withKind = (draft: Draft, mark: string, test: (field: CatalogField) => boolean): CatalogField | undefined => {
  const fields = fieldsAt(draft, mark).filter(test);
  return fields.length === 1 ? fields[0] : undefined;
};
/** Of `customerName` and `customerId`, the one that people can read. */
const readable = (draft: Draft, mark: string): CatalogField => {
  const fields = fieldsAt(draft, mark);
  const found = fields.find(({ name }) => /name$/i.test(name)) ?? fields[0];
  if (found === undefined) throw new NotUnderstood('');
  return found;
};

function amountOf(draft: Draft): CatalogField {
  const found = mainAmount(draft.resource);
  if (found !== undefined) return found;
  const numbers = draft.resource.fields.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  throw new NeedsClarification(
    numbers.length === 0 ? `The resource ${draft.resource.name} has no numeric field.` : `Which number do you mean: ${numbers.join(', ')}?`,
  );
}

function dayOf(draft: Draft): CatalogField {
  const found = mainDay(draft.resource);
  if (found !== undefined) return found;
  const days = draft.resource.fields.filter(({ kind }) => kind === 'day').map(({ name }) => name);
  throw new NeedsClarification(
    days.length === 0 ? `The resource ${draft.resource.name} has no date field.` : `Which date should I use: ${days.join(', ')}?`,
  );
}

const numberField = (draft: Draft, mark: string): CatalogField => {
  const found = withKind(draft, mark, ({ kind }) => kind === 'number');
  if (found === undefined)
    throw new NeedsClarification(`${fieldsAt(draft, mark)[0]?.name ?? 'That'} is not a number, so nothing can be calculated from it.`);
  return found;
};

const aggregateFunctionOf = (word: string): AggregateFunction =>
  aggregateWords.find(([words]) => new RegExp(`^(?:${words})$`).test(word))?.[1] ?? 'sum';

type IntentParser = (draft: Draft, rest: string, question: string) => Intent | undefined;
const match = (rest: string, pattern: string): Readonly<Record<string, string | undefined>> | undefined => {
  const found = new RegExp(`^(?:${pattern})$`).exec(rest);
  return found === null ? undefined : (found.groups ?? {});
};

const parseCount: IntentParser = (_draft, rest) =>
  match(rest, `(?:how many|${askingPattern}#count|${askingPattern}count) (?:all )?${R}(?: total)?`) && { kind: 'count' };

/** Whether any records match, or whether one record is as the question says. "Are all …" is not understood. */
const parseExists: IntentParser = (draft, rest, question) => {
  if (!isYesOrNo(question)) return undefined;
  const isAsked = / (?:there|any|do|does|did|has) /.test(question) || draft.isSingle;
  if (!isAsked || !match(rest, `(?:(?:some|any) )?${R}`)) throw new NotUnderstood('');
  return { kind: 'exists' };
};
const isYesOrNo = (question: string): boolean => /^ (?:is|are|was|were|do|does|did|has|have) /.test(question);

/** `the total amount due of open invoices`, `average total of invoices`, `how much …`, `the highest total of …`. */
const parseAggregate: IntentParser = (draft, rest) => {
  const words = aggregateWords.map(([known]) => known).join('|');
  const named = match(rest, `${askingPattern}(?:how much )?(?<aggregate>${words}) (?<f>${F})(?: (?:value|amount))?(?: all)?(?: ${R})?`);
  if (named?.['f'] !== undefined && !draft.isSingle) {
    const aggregate = aggregateFunctionOf(named['aggregate'] ?? '');
    const field = withKind(draft, named['f'], isOrdered);
    if (field?.kind === 'day' && (aggregate === 'min' || aggregate === 'max')) return { kind: 'aggregate', aggregate, field };
    return { kind: 'aggregate', aggregate, field: numberField(draft, named['f']) };
  }
  const unnamed = match(rest, `${askingPattern}(?:how much )?(?<aggregate>sum|total|average|mean)(?: (?:value|amount))?(?: all)? ${R}`);
  // In "the average invoice total" the field comes after the record.
  const after = match(
    rest,
    `${askingPattern}(?<aggregate>average|mean|${aggregateWords
      .slice(2)
      .map(([known]) => known)
      .join('|')}) ${R} (?<f>${F})`,
  );
  if (after?.['f'] !== undefined && !draft.isSingle)
    return { kind: 'aggregate', aggregate: aggregateFunctionOf(after['aggregate'] ?? ''), field: numberField(draft, after['f']) };
  if (unnamed !== undefined)
    return { kind: 'aggregate', aggregate: aggregateFunctionOf(unnamed['aggregate'] ?? ''), field: amountOf(draft) };
  // "The total of open invoices" names the field total and means its sum.
  const total = match(rest, `${askingPattern}(?:how much )?(?<f>${F})(?: (?:value|amount))?(?: all)? <R>`);
  const field = total?.['f'] === undefined ? undefined : withKind(draft, total['f'], ({ kind }) => kind === 'number');
  if (field === undefined || draft.isSingle || /^(?:show|list|display|give|find|get|see|print|which) /.test(rest)) return undefined;
  if (field.name === 'total') return { kind: 'aggregate', aggregate: 'sum', field };
  throw new NeedsClarification(`Do you mean the sum, the average or a list of ${field.name}?`);
};

/** `total <field>`, where the resource also has a field named total. */
const parseTotalOf: IntentParser = (draft, rest) => {
  const found = match(rest, `${askingPattern}(?:how much )?(?<t>${F}) (?<f>${F})(?: all)?(?: ${R})?`);
  if (found === undefined || draft.isSingle || fieldsAt(draft, found['t'] ?? '')[0]?.name !== 'total') return undefined;
  return { kind: 'aggregate', aggregate: 'sum', field: numberField(draft, found['f'] ?? '') };
};

/** `the 5 newest invoices`, `largest 3 invoices by amount due`, `top 10 invoices by total`, `invoices highest total`. */
const parseSuperlative: IntentParser = (draft, rest) => {
  const found =
    match(
      rest,
      `${askingPattern}(?:(?<show>${F}) )?(?:(?<n><n\\d+>) )?(?<word>${anySuperlative})(?: (?<m><n\\d+>))? (?<R>${R})(?: by (?<f>${F}))?`,
    ) ??
    match(
      rest,
      `${askingPattern}(?:(?<n><n\\d+>) )?(?<R>${R}) (?<word>largest|highest|biggest|greatest|smallest|lowest|newest|latest|oldest|earliest)(?: (?<f>${F}))?`,
    );
  if (found === undefined || draft.isSingle || draft.sort !== undefined) return undefined;
  const [, kind = 'amount', order = 'desc'] = superlatives.find(([words]) => new RegExp(`^(?:${words})$`).test(found['word'] ?? '')) ?? [];
  const limit = limitOf(draft, found['n'] ?? found['m'], found['R'] === '<r>' ? 1 : undefined);
  const field = found['f'] === undefined ? (kind === 'day' ? dayOf(draft) : amountOf(draft)) : withKind(draft, found['f'], isOrdered);
  if (field === undefined) throw new NeedsClarification('Which number or date should I sort by?');
  if ((field.kind === 'day') !== (kind === 'day'))
    throw new NeedsClarification(
      `"${found['word']}" doesn't apply to ${field.name}, which is a ${field.kind === 'day' ? 'date' : 'number'}.`,
    );
  if (!field.sortable) throw new NeedsClarification(`This version can't sort by ${field.name}.`);
  const show = found['show'] === undefined ? [field] : [readable(draft, found['show']), field];
  // "The total of the 3 largest" probably means their sum, not three totals.
  if (show[0]?.name === 'total' && found['show'] !== undefined && limit !== 1) return undefined;
  return { kind: 'list', limit, sort: { field, order }, show };
};

function limitOf(draft: Draft, mark: string | undefined, otherwise: number | undefined): number | undefined {
  if (mark === undefined) return otherwise;
  const limit = Number(valueAt(draft, mark));
  if (!Number.isInteger(limit) || limit < 1) throw new NeedsClarification('How many do you want?');
  return limit;
}

/** `show invoices`, `the 5 invoices`, `list the numbers of open invoices`. */
const parseList: IntentParser = (draft, rest) => {
  if (/(?:^| )(?:when|tell|want)(?: |$)/.test(rest) && !draft.isSingle) return undefined;
  const found = match(rest, `${askingPattern}(?:all )?(?:(?<n><n\\d+>) )?(?<f>(?:${F} )*)(?:all )?${R}(?<g>(?: ${F})*)`);
  if (found === undefined) return undefined;
  const show = [...`${found['f'] ?? ''}${found['g'] ?? ''}`.matchAll(/<f\d+>/g)].map(([mark]) => readable(draft, mark));
  const limit = limitOf(draft, found['n'], undefined);
  // "Which status do invoices have" asks for the values, not for records.
  const [only] = show;
  const isOfValues = /^(?:what|which) <f\d+> <R>$/.test(rest) && (only?.kind === 'text' || only?.kind === 'boolean');
  if (isOfValues && only !== undefined && !identityFields(draft.resource).includes(only))
    return { kind: 'groups', by: only, aggregate: 'count', field: undefined, onlyTop: false };
  // "When" and "who" can only be answered by a field that the question names.
  if (/^when /.test(rest) && (show.length === 0 || show.some(({ kind }) => kind !== 'day'))) return undefined;
  if (/^who /.test(rest) && show.length === 0 && draft.isSingle) return undefined;
  if (draft.isSingle) return limit === undefined ? { kind: 'values', show } : undefined;
  if (show.length > 0 && !/^(?:show|list|display|give|find|get|see|print|which|what)/.test(rest)) return undefined;
  return { kind: 'list', limit, sort: draft.sort, show };
};

/** `how much is the amount due of invoice 563614`. */
const parseFieldValue: IntentParser = (draft, rest) => {
  const found = match(rest, `(?:how much |how high )?(?:(?<f>${F}) )<r>|(?:how much |how high )<r> (?<g>${F})`);
  const mark = found?.['f'] ?? found?.['g'];
  if (mark === undefined || !draft.isSingle) return undefined;
  const isAmount = /^how (?:much|high) /.test(rest);
  return { kind: 'values', show: [isAmount ? numberField(draft, mark) : readable(draft, mark)] };
};

const parseLines: IntentParser = (draft, rest) => {
  const found = match(rest, `(?:(?<many>how many|#count) |${askingPattern})(?:(?<f>${F}) <r>|<r> (?<g>${F}))`);
  const mark = found?.['f'] ?? found?.['g'];
  const field = mark === undefined ? undefined : withKind(draft, mark, ({ kind }) => kind === 'lines');
  if (field === undefined || !draft.isSingle) return undefined;
  // A condition in addition to the record's name could be meant for its lines.
  if (draft.descriptions.length > 1) throw new NotUnderstood('');
  return { kind: 'lines', field, counted: found?.['many'] !== undefined };
};

/** `how many invoices per status`, `total amount due by customer`, `which customer has the most invoices`. */
const parseGroups: IntentParser = (draft, rest) => {
  const most = match(rest, `${askingPattern}(?<by>${F}) most <R>`);
  if (most !== undefined)
    return { kind: 'groups', by: readable(draft, most['by'] ?? ''), aggregate: 'count', field: undefined, onlyTop: true };
  const found = match(rest, `(?<head>.*) (?:per|by|each|every|grouped by|group by) (?:each )?(?<by>${F})(?<tail> ${R})?`);
  if (found === undefined) return undefined;
  const head = `${found['head'] ?? ''}${found['tail'] ?? ''}`;
  const intent = parseCount(draft, head, '') ?? parseTotalOf(draft, head, '') ?? parseAggregate(draft, head, '');
  if (intent === undefined || draft.isSingle) return undefined;
  const by = readable(draft, found['by'] ?? '');
  if (by.kind === 'lines') return undefined;
  if (intent.kind === 'count') return { kind: 'groups', by, aggregate: 'count', field: undefined, onlyTop: false };
  return intent.kind === 'aggregate' ? { kind: 'groups', by, aggregate: intent.aggregate, field: intent.field, onlyTop: false } : undefined;
};

const intentParsers: readonly IntentParser[] = [
  parseExists,
  parseCount,
  parseLines,
  parseTotalOf,
  parseAggregate,
  parseGroups,
  parseSuperlative,
  parseFieldValue,
  parseList,
];

async function assertUnambiguousSign(data: DataTools, resource: CatalogResource, intent: Intent, rest: string): Promise<void> {
  const hasSuperlative = new RegExp(`(?:^| )(?:${anySuperlative}|maximum|max|minimum|min|least)(?: |$)`).test(rest);
  const field =
    intent.kind === 'list' ? intent.sort?.field : intent.kind === 'aggregate' || intent.kind === 'groups' ? intent.field : undefined;
  if (hasSuperlative && field?.kind === 'number') await assertNotAllNegative(data, resource, field);
}

/** Rejects with NotUnderstood, with NeedsClarification when the words are understood but ambiguous, and with ToolFailed. */
export async function interpretQuestion(marked: Marked, resource: CatalogResource, data: DataTools): Promise<Interpretation> {
  const withResource = markResource(marked.text, resource).replaceAll(/ (?:the )?(?:number|count) of (?=(?:[^ ]+ ){0,4}<R>)/g, ' #count ');
  const { text, named } = markFields(withResource.replaceAll(/ in total /g, ' '), resource);
  const draft: Draft = {
    resource,
    data,
    marks: marked.marks,
    named,
    text,
    filters: {},
    descriptions: [],
    isSingle: false,
    record: undefined,
    sort: undefined,
  };
  await extractAll(draft, createRule('for (?:each|every) (?={F})'), () => 'per');
  const question = draft.text;
  await extractFilters(draft);
  await extractValues(draft);
  const rest = withoutFiller(draft.text);
  for (const parse of intentParsers) {
    const intent = parse(draft, rest, question);
    if (intent === undefined) continue;
    await assertUnambiguousSign(data, resource, intent, rest);
    return { resource, filters: draft.filters, descriptions: draft.descriptions, record: draft.record, intent };
  }
  throw new NotUnderstood(unreadWords(draft, rest));
}

/** The words that no rule understood, for the answer. */
const unreadWords = (draft: Draft, rest: string): string => {
  const values = [...rest.matchAll(/<[qcn]\d+>/g)].map(([mark]) => valueAt(draft, mark));
  return [...contentWords(rest), ...values].join(' ');
};
