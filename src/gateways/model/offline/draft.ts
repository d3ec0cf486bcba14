// A question that is being interpreted: the text that is not understood yet, and the filters found so far. Each rule removes the words that
// it understands from the text. If words remain that no rule understands, the question is not understood.
import type { CatalogField, CatalogResource } from './catalog.ts';
import type { DataTools, Filters } from './data.ts';
import { type Marks, normalizeSpaces } from './language.ts';

/** The question is ambiguous or asks for something that the version doesn't allow. The message, shown to the user, asks or says so. */
export class NeedsClarification extends Error {
  override readonly name = 'NeedsClarification';
}

/** The question isn't understood for this resource. The message has the words that weren't. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

export type DescribedCondition = { readonly filters: Filters; readonly descriptions: readonly string[] };

export type Draft = {
  readonly resource: CatalogResource;
  readonly data: DataTools;
  readonly marks: Marks;
  /** The fields that each `<f…>` may mean. */
  readonly named: readonly (readonly CatalogField[])[];
  text: string;
  filters: Filters;
  /** The filters in words, for the answer. */
  readonly descriptions: string[];
  /** The question is about one record, by its name. */
  isSingle: boolean;
  /** The condition that identifies this record. */
  record: DescribedCondition | undefined;
  sort: { readonly field: CatalogField; readonly order: 'asc' | 'desc' | undefined } | undefined;
};

/** The pattern of each `{…}` in a rule: marks by their letter, and `glue`, words that may come between. */
const placeholders: Readonly<Record<string, string>> = {
  F: '<f\\d+>',
  N: '<n\\d+>',
  D: '<d\\d+>',
  V: '<[qcn]\\d+>',
  Q: '<[qc]\\d+>',
  glue: '(?:(?:that|which|whose|is|are|was|were|of|a|an|the|has|have|had|with|it) )*',
};

/** Builds a rule's pattern: `{F:name}` is a mark in a group of that name, `{F}` one without a group. It matches whole words only. */
export const createRule = (pattern: string): RegExp =>
  new RegExp(
    `(?<= )${pattern.replaceAll(/\{(\w+)(?::(\w+))?\}/g, (_all, kind: string, name?: string) => {
      const source = placeholders[kind] ?? kind;
      return name === undefined ? source : `(?<${name}>${source})`;
    })}(?= )`,
    'g',
  );

export type MatchGroups = Readonly<Record<string, string | undefined>>;

/** Replaces each match of the pattern by what `handle` returns for it; undefined leaves the match unchanged. */
export async function extractAll(
  draft: Draft,
  pattern: RegExp,
  handle: (groups: MatchGroups, after: string) => string | undefined | Promise<string | undefined>,
): Promise<void> {
  let from = 0;
  for (;;) {
    pattern.lastIndex = from;
    const found = pattern.exec(draft.text);
    if (found === null) return;
    const after = draft.text.slice(found.index + found[0].length);
    const replacement = await handle(found.groups ?? {}, after);
    if (replacement === undefined) from = found.index + 1;
    else draft.text = normalizeSpaces(`${draft.text.slice(0, found.index)} ${replacement} ${after}`);
  }
}

const indexOf = (mark: string): number => Number(/\d+/.exec(mark)?.[0] ?? -1);
export const fieldsAt = (draft: Draft, mark: string): readonly CatalogField[] => draft.named[indexOf(mark)] ?? [];
export const spanAt = ({ marks }: Draft, mark: string) => marks.d[indexOf(mark)] ?? { from: '', to: '' };

/** The value of a mark of quoted text, a number or a code. */
export function valueAt({ marks }: Draft, mark: string): string {
  const kind = mark[1];
  const list = kind === 'q' ? marks.q : kind === 'n' ? marks.n : marks.c;
  return list[indexOf(mark)] ?? '';
}

/** Adds a filter and its description. Throws NeedsClarification when the parameter has a filter already. */
export function addFilter(draft: Draft, parameter: string, value: string | readonly string[], description: string): DescribedCondition {
  if (draft.filters[parameter] !== undefined)
    throw new NeedsClarification(`You gave two conditions for the same field: ${draft.descriptions.join(', ')}, ${description}.`);
  draft.filters = { ...draft.filters, [parameter]: value };
  draft.descriptions.push(description);
  return { filters: { [parameter]: value }, descriptions: [description] };
}

export const inQuotes = (text: string): string => `"${text}"`;
export const joinFieldNames = (fields: readonly CatalogField[]): string => fields.map(({ name }) => name).join(' or ');
