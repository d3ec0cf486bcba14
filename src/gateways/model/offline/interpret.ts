// Reads a marked question as one about a resource: its conditions first, then by what is left what is asked for. Every word must have
// been understood, or there is no reading.
import { type Field, identityFields, mainAmount, mainDay, markFields, markResource, type Resource } from './catalog.ts';
import type { Data, Filters } from './data.ts';
import { AskBack, type Condition, type Draft, fieldsAt, NotRead, rule, takeAll, valueAt } from './draft.ts';
import { assertAboveZero, takeFilters } from './filters.ts';
import { type Marked, otherWords, withoutFiller } from './language.ts';
import { takeValues } from './values.ts';

export type Figure = 'sum' | 'average' | 'min' | 'max';
export type Asked =
  | { readonly kind: 'count' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'figure'; readonly figure: Figure; readonly field: Field }
  | { readonly kind: 'list'; readonly limit: number | undefined; readonly sort: Draft['sort']; readonly show: readonly Field[] }
  | { readonly kind: 'values'; readonly show: readonly Field[] }
  | { readonly kind: 'lines'; readonly field: Field; readonly counted: boolean }
  | {
      readonly kind: 'groups';
      readonly by: Field;
      readonly figure: Figure | 'count';
      readonly field: Field | undefined;
      readonly most: boolean;
    };

export type Reading = {
  readonly resource: Resource;
  readonly filters: Filters;
  readonly said: readonly string[];
  /** The condition that one record is called so. */
  readonly record: Condition | undefined;
  readonly asked: Asked;
};

const figureWords: readonly (readonly [string, Figure])[] = [
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
const asking = '(?:(?:show|list|display|give|find|get|see|print|which|what|who|when|tell|want) )*';
const R = '<[rR]>';
const F = '<f\\d+>';

const isOrdered = ({ kind }: Field): boolean => kind === 'number' || kind === 'day';
const withKind = (draft: Draft, mark: string, test: (field: Field) => boolean): Field | undefined => {
  const fields = fieldsAt(draft, mark).filter(test);
  return fields.length === 1 ? fields[0] : undefined;
};
/** Of `customerName` and `customerId` the one that people read. */
const readable = (draft: Draft, mark: string): Field => {
  const fields = fieldsAt(draft, mark);
  const found = fields.find(({ name }) => /name$/i.test(name)) ?? fields[0];
  if (found === undefined) throw new NotRead('');
  return found;
};

function amountOf(draft: Draft): Field {
  const found = mainAmount(draft.resource);
  if (found !== undefined) return found;
  const numbers = draft.resource.fields.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  throw new AskBack(
    numbers.length === 0
      ? `${draft.resource.name} have no number to compute with.`
      : `Which number is meant? ${draft.resource.name} have ${numbers.join(', ')}.`,
  );
}

function dayOf(draft: Draft): Field {
  const found = mainDay(draft.resource);
  if (found !== undefined) return found;
  const days = draft.resource.fields.filter(({ kind }) => kind === 'day').map(({ name }) => name);
  throw new AskBack(
    days.length === 0 ? `${draft.resource.name} have no date here.` : `By which date? ${draft.resource.name} have ${days.join(', ')}.`,
  );
}

const numberField = (draft: Draft, mark: string): Field => {
  const found = withKind(draft, mark, ({ kind }) => kind === 'number');
  if (found === undefined) throw new AskBack(`${fieldsAt(draft, mark)[0]?.name ?? 'That'} is no number, so there is nothing to compute.`);
  return found;
};

const figureOf = (word: string): Figure => figureWords.find(([words]) => new RegExp(`^(?:${words})$`).test(word))?.[1] ?? 'sum';

type Head = (draft: Draft, rest: string, question: string) => Asked | undefined;
const match = (rest: string, pattern: string): Readonly<Record<string, string | undefined>> | undefined => {
  const found = new RegExp(`^(?:${pattern})$`).exec(rest);
  return found === null ? undefined : (found.groups ?? {});
};

const readCount: Head = (_draft, rest) =>
  match(rest, `(?:how many|${asking}#count|${asking}count) (?:all )?${R}(?: total)?`) && { kind: 'count' };

/** Whether there are any; of one record, whether it is as the question says. Whether all are is not asked here. */
const readExists: Head = (draft, rest, question) => {
  if (!isYesOrNo(question)) return undefined;
  const isAsked = / (?:there|any|do|does|did|has) /.test(question) || draft.isSingle;
  if (!isAsked || !match(rest, `(?:(?:some|any) )?${R}`)) throw new NotRead('');
  return { kind: 'exists' };
};
const isYesOrNo = (question: string): boolean => /^ (?:is|are|was|were|do|does|did|has|have) /.test(question);

/** `the total amount due of open invoices`, `average total of invoices`, `how much …`, `the highest total of …`. */
const readFigure: Head = (draft, rest) => {
  const words = figureWords.map(([known]) => known).join('|');
  const named = match(rest, `${asking}(?:how much )?(?<figure>${words}) (?<f>${F})(?: (?:value|amount))?(?: all)?(?: ${R})?`);
  if (named?.['f'] !== undefined && !draft.isSingle) {
    const figure = figureOf(named['figure'] ?? '');
    const field = withKind(draft, named['f'], isOrdered);
    if (field?.kind === 'day' && (figure === 'min' || figure === 'max')) return { kind: 'figure', figure, field };
    return { kind: 'figure', figure, field: numberField(draft, named['f']) };
  }
  const unnamed = match(rest, `${asking}(?:how much )?(?<figure>sum|total|average|mean)(?: (?:value|amount))?(?: all)? ${R}`);
  // "The average invoice total" names the field after the record.
  const after = match(
    rest,
    `${asking}(?<figure>average|mean|${figureWords
      .slice(2)
      .map(([known]) => known)
      .join('|')}) ${R} (?<f>${F})`,
  );
  if (after?.['f'] !== undefined && !draft.isSingle)
    return { kind: 'figure', figure: figureOf(after['figure'] ?? ''), field: numberField(draft, after['f']) };
  if (unnamed !== undefined) return { kind: 'figure', figure: figureOf(unnamed['figure'] ?? ''), field: amountOf(draft) };
  // "The total of open invoices" names the field total and means its sum.
  const total = match(rest, `${asking}(?:how much )?(?<f>${F})(?: (?:value|amount))?(?: all)? <R>`);
  const field = total?.['f'] === undefined ? undefined : withKind(draft, total['f'], ({ kind }) => kind === 'number');
  if (field === undefined || draft.isSingle || /^(?:show|list|display|give|find|get|see|print|which) /.test(rest)) return undefined;
  if (field.name === 'total') return { kind: 'figure', figure: 'sum', field };
  throw new AskBack(`Is the sum, the average or a list of ${field.name} meant?`);
};

/** `total <field>` where the resource has a field called total of its own. */
const readTotalOf: Head = (draft, rest) => {
  const found = match(rest, `${asking}(?:how much )?(?<t>${F}) (?<f>${F})(?: all)?(?: ${R})?`);
  if (found === undefined || draft.isSingle || fieldsAt(draft, found['t'] ?? '')[0]?.name !== 'total') return undefined;
  return { kind: 'figure', figure: 'sum', field: numberField(draft, found['f'] ?? '') };
};

/** `the 5 newest invoices`, `largest 3 invoices by amount due`, `top 10 invoices by total`, `invoices highest total`. */
const readSuperlative: Head = (draft, rest) => {
  const found =
    match(
      rest,
      `${asking}(?:(?<show>${F}) )?(?:(?<n><n\\d+>) )?(?<word>${anySuperlative})(?: (?<m><n\\d+>))? (?<R>${R})(?: by (?<f>${F}))?`,
    ) ??
    match(
      rest,
      `${asking}(?:(?<n><n\\d+>) )?(?<R>${R}) (?<word>largest|highest|biggest|greatest|smallest|lowest|newest|latest|oldest|earliest)(?: (?<f>${F}))?`,
    );
  if (found === undefined || draft.isSingle || draft.sort !== undefined) return undefined;
  const [, kind = 'amount', order = 'desc'] = superlatives.find(([words]) => new RegExp(`^(?:${words})$`).test(found['word'] ?? '')) ?? [];
  const limit = limitOf(draft, found['n'] ?? found['m'], found['R'] === '<r>' ? 1 : undefined);
  const field = found['f'] === undefined ? (kind === 'day' ? dayOf(draft) : amountOf(draft)) : withKind(draft, found['f'], isOrdered);
  if (field === undefined) throw new AskBack('By which number or date?');
  if ((field.kind === 'day') !== (kind === 'day'))
    throw new AskBack(`This can be read in two ways: "${found['word']}" is no order by ${field.name}.`);
  if (!field.sortable) throw new AskBack(`This version has no order by ${field.name}.`);
  const show = found['show'] === undefined ? [field] : [readable(draft, found['show']), field];
  // "The total of the 3 largest" is rather their sum than three totals.
  if (show[0]?.name === 'total' && found['show'] !== undefined && limit !== 1) return undefined;
  return { kind: 'list', limit, sort: { field, order }, show };
};

function limitOf(draft: Draft, mark: string | undefined, otherwise: number | undefined): number | undefined {
  if (mark === undefined) return otherwise;
  const limit = Number(valueAt(draft, mark));
  if (!Number.isInteger(limit) || limit < 1) throw new AskBack('How many are meant?');
  return limit;
}

/** `show invoices`, `the 5 invoices`, `list the numbers of open invoices`. */
const readList: Head = (draft, rest) => {
  if (/(?:^| )(?:when|tell|want)(?: |$)/.test(rest) && !draft.isSingle) return undefined;
  const found = match(rest, `${asking}(?:all )?(?:(?<n><n\\d+>) )?(?<f>(?:${F} )*)(?:all )?${R}(?<g>(?: ${F})*)`);
  if (found === undefined) return undefined;
  const show = [...`${found['f'] ?? ''}${found['g'] ?? ''}`.matchAll(/<f\d+>/g)].map(([mark]) => readable(draft, mark));
  const limit = limitOf(draft, found['n'], undefined);
  // "Which status do invoices have" asks for the values, not for records.
  const [only] = show;
  const isOfValues = /^(?:what|which) <f\d+> <R>$/.test(rest) && (only?.kind === 'text' || only?.kind === 'boolean');
  if (isOfValues && only !== undefined && !identityFields(draft.resource).includes(only))
    return { kind: 'groups', by: only, figure: 'count', field: undefined, most: false };
  // When or by whom something happened to a record is told by a field that the question names, or not at all.
  if (/^when /.test(rest) && (show.length === 0 || show.some(({ kind }) => kind !== 'day'))) return undefined;
  if (/^who /.test(rest) && show.length === 0 && draft.isSingle) return undefined;
  if (draft.isSingle) return limit === undefined ? { kind: 'values', show } : undefined;
  if (show.length > 0 && !/^(?:show|list|display|give|find|get|see|print|which|what)/.test(rest)) return undefined;
  return { kind: 'list', limit, sort: draft.sort, show };
};

/** `how much is the amount due of invoice 563614`. */
const readValue: Head = (draft, rest) => {
  const found = match(rest, `(?:how much |how high )?(?:(?<f>${F}) )<r>|(?:how much |how high )<r> (?<g>${F})`);
  const mark = found?.['f'] ?? found?.['g'];
  if (mark === undefined || !draft.isSingle) return undefined;
  const isAmount = /^how (?:much|high) /.test(rest);
  return { kind: 'values', show: [isAmount ? numberField(draft, mark) : readable(draft, mark)] };
};

const readLines: Head = (draft, rest) => {
  const found = match(rest, `(?:(?<many>how many|#count) |${asking})(?:(?<f>${F}) <r>|<r> (?<g>${F}))`);
  const mark = found?.['f'] ?? found?.['g'];
  const field = mark === undefined ? undefined : withKind(draft, mark, ({ kind }) => kind === 'lines');
  if (field === undefined || !draft.isSingle) return undefined;
  // A condition beside the record's name could be meant for its lines.
  if (draft.said.length > 1) throw new NotRead('');
  return { kind: 'lines', field, counted: found?.['many'] !== undefined };
};

/** `how many invoices per status`, `total amount due by customer`, `which customer has the most invoices`. */
const readGroups: Head = (draft, rest) => {
  const most = match(rest, `${asking}(?<by>${F}) most <R>`);
  if (most !== undefined) return { kind: 'groups', by: readable(draft, most['by'] ?? ''), figure: 'count', field: undefined, most: true };
  const found = match(rest, `(?<head>.*) (?:per|by|each|every|grouped by|group by) (?:each )?(?<by>${F})(?<tail> ${R})?`);
  if (found === undefined) return undefined;
  const head = `${found['head'] ?? ''}${found['tail'] ?? ''}`;
  const asked = readCount(draft, head, '') ?? readTotalOf(draft, head, '') ?? readFigure(draft, head, '');
  if (asked === undefined || draft.isSingle) return undefined;
  const by = readable(draft, found['by'] ?? '');
  if (by.kind === 'lines') return undefined;
  if (asked.kind === 'count') return { kind: 'groups', by, figure: 'count', field: undefined, most: false };
  return asked.kind === 'figure' ? { kind: 'groups', by, figure: asked.figure, field: asked.field, most: false } : undefined;
};

const heads: readonly Head[] = [
  readExists,
  readCount,
  readLines,
  readTotalOf,
  readFigure,
  readGroups,
  readSuperlative,
  readValue,
  readList,
];

async function assertSigns(data: Data, resource: Resource, asked: Asked, rest: string): Promise<void> {
  const ends = new RegExp(`(?:^| )(?:${anySuperlative}|maximum|max|minimum|min|least)(?: |$)`).test(rest);
  const field = asked.kind === 'list' ? asked.sort?.field : asked.kind === 'figure' || asked.kind === 'groups' ? asked.field : undefined;
  if (ends && field?.kind === 'number') await assertAboveZero(data, resource, field);
}

/** Throws NotRead, and AskBack where the words are understood but not what they mean. */
export async function readQuestion(marked: Marked, resource: Resource, data: Data): Promise<Reading> {
  const withResource = markResource(marked.text, resource).replaceAll(/ (?:the )?(?:number|count) of (?=(?:[^ ]+ ){0,4}<R>)/g, ' #count ');
  const { text, named } = markFields(withResource.replaceAll(/ in total /g, ' '), resource);
  const draft: Draft = {
    resource,
    data,
    marks: marked.marks,
    named,
    text,
    filters: {},
    said: [],
    isSingle: false,
    record: undefined,
    sort: undefined,
  };
  await takeAll(draft, rule('for (?:each|every) (?={F})'), () => 'per');
  const question = draft.text;
  await takeFilters(draft);
  await takeValues(draft);
  const rest = withoutFiller(draft.text);
  for (const head of heads) {
    const asked = head(draft, rest, question);
    if (asked === undefined) continue;
    await assertSigns(data, resource, asked, rest);
    return { resource, filters: draft.filters, said: draft.said, record: draft.record, asked };
  }
  throw new NotRead(unread(draft, rest));
}

/** The words that nobody took, for the answer. */
const unread = (draft: Draft, rest: string): string => {
  const values = [...rest.matchAll(/<[qcn]\d+>/g)].map(([mark]) => valueAt(draft, mark));
  return [...otherWords(rest), ...values].join(' ');
};
