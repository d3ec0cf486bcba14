// A question on its way to a reading: what is not yet understood of its text, and what has been understood as filters. Each rule takes
// its words out of the text; words that nobody takes make the question one that is not understood.
import type { Field, Resource } from './catalog.ts';
import type { Data, Filters } from './data.ts';
import { type Marks, tidy } from './language.ts';

/** The question could mean several things, or asks what the version doesn't allow: the message asks back or says so. */
export class AskBack extends Error {
  override readonly name = 'AskBack';
}

/** Not a question that is understood for this resource. */
export class NotRead extends Error {
  override readonly name = 'NotRead';
}

export type Condition = { readonly filters: Filters; readonly said: readonly string[] };

export type Draft = {
  readonly resource: Resource;
  readonly data: Data;
  readonly marks: Marks;
  /** What each `<f…>` may be. */
  readonly named: readonly (readonly Field[])[];
  text: string;
  filters: Filters;
  /** The filters in words. */
  readonly said: string[];
  /** One record is asked for by what it is called. */
  isSingle: boolean;
  /** The condition that it is this record. */
  record: Condition | undefined;
  sort: { readonly field: Field; readonly order: 'asc' | 'desc' | undefined } | undefined;
};

/** Each of these stands for one mark in a rule's pattern. */
const placeholders: Readonly<Record<string, string>> = {
  F: '<f\\d+>',
  N: '<n\\d+>',
  D: '<d\\d+>',
  V: '<[qcn]\\d+>',
  Q: '<[qc]\\d+>',
  glue: '(?:(?:that|which|whose|is|are|was|were|of|a|an|the|has|have|had|with|it) )*',
};

/** `{F:name}` is a mark in a group of that name, `{F}` one without; the whole is bounded by words. */
export const rule = (pattern: string): RegExp =>
  new RegExp(
    `(?<= )${pattern.replaceAll(/\{(\w+)(?::(\w+))?\}/g, (_all, kind: string, name?: string) => {
      const source = placeholders[kind] ?? kind;
      return name === undefined ? source : `(?<${name}>${source})`;
    })}(?= )`,
    'g',
  );

export type Groups = Readonly<Record<string, string | undefined>>;

/** Takes out what the pattern finds as long as `take` accepts it, which says what to leave in its place; undefined: leave it as it is. */
export async function takeAll(
  draft: Draft,
  pattern: RegExp,
  take: (groups: Groups, after: string) => string | undefined | Promise<string | undefined>,
): Promise<void> {
  let from = 0;
  for (;;) {
    pattern.lastIndex = from;
    const found = pattern.exec(draft.text);
    if (found === null) return;
    const after = draft.text.slice(found.index + found[0].length);
    const left = await take(found.groups ?? {}, after);
    if (left === undefined) from = found.index + 1;
    else draft.text = tidy(`${draft.text.slice(0, found.index)} ${left} ${after}`);
  }
}

const indexOf = (mark: string): number => Number(/\d+/.exec(mark)?.[0] ?? -1);
export const fieldsAt = (draft: Draft, mark: string): readonly Field[] => draft.named[indexOf(mark)] ?? [];
export const spanAt = ({ marks }: Draft, mark: string) => marks.d[indexOf(mark)] ?? { from: '', to: '' };

/** The value behind a mark of quoted text, a number or a code. */
export function valueAt({ marks }: Draft, mark: string): string {
  const kind = mark[1];
  const list = kind === 'q' ? marks.q : kind === 'n' ? marks.n : marks.c;
  return list[indexOf(mark)] ?? '';
}

export function addFilter(draft: Draft, parameter: string, value: string | readonly string[], said: string): Condition {
  if (draft.filters[parameter] !== undefined)
    throw new AskBack(`Two conditions on one thing can't both be meant: ${draft.said.join(', ')}, ${said}.`);
  draft.filters = { ...draft.filters, [parameter]: value };
  draft.said.push(said);
  return { filters: { [parameter]: value }, said: [said] };
}

export const quoted = (text: string): string => `"${text}"`;
export const listed = (fields: readonly Field[]): string => fields.map(({ name }) => name).join(' or ');
