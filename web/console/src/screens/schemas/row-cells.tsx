// What the table of fields and the panel next to it share.
import {
  type Document,
  type Endpoint,
  type FlatField,
  findAggregate,
  findGroup,
  type Spot,
} from './document.ts';
import type { Placed } from './problems.ts';
import type { Sources } from './sources.ts';

export type TableProps = {
  readonly document: Document;
  readonly index: number;
  readonly endpoint: Endpoint;
  readonly sources: Sources | undefined;
  readonly placed: Placed;
  readonly change: (document: Document) => void;
  /** Changes the resource. */
  readonly set: (endpoint: Endpoint) => void;
};

/** The row of a field, to lead to it. */
export const rowId = ({ field, line }: Spot): string => `field-${field}-${line ?? ''}`;
/** Once it is rendered, the keyboard goes on in the name of a field. */
export function focusRow(spot: Spot): void {
  requestAnimationFrame(() => document.getElementById(rowId(spot))?.focus());
}

export const Faults = ({ messages = [], id }: { messages: readonly string[] | undefined; id?: string }) => (
  <div id={id}>
    {messages.map((message) => (
      <p class="schema-fault" key={message}>
        {message}
      </p>
    ))}
  </div>
);

/** How callers with less access see a field, in words. */
export const listAccess = ({ mask, tags = [], scopable }: FlatField['field']): string[] => [
  ...(mask ? [`masked: ${mask}`] : []),
  ...tags,
  ...(scopable ? ['row scope'] : []),
];

/** What callers may do with a field besides filters, in words. */
export function listUses(endpoint: Endpoint, { path, field }: FlatField): string[] {
  const group = findGroup(endpoint, path);
  return [
    ...(endpoint.sorts.includes(path) ? ['sort'] : []),
    ...(endpoint.search?.includes(path) ? ['search'] : []),
    ...(findAggregate(endpoint, path)?.functions ?? []).map((each) => each.replace('_', ' ')),
    ...(group ? [typeof group === 'string' ? 'group' : `group by ${group.periods.join(', ')}`] : []),
    ...listAccess(field),
    ...(field.as === 'string' ? ['as text'] : field.as === 'list' ? ['list'] : []),
  ];
}
