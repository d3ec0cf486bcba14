// What describing record types needs to know of an account, each part read once for all record types.
import type { RecordTypeMetadata } from '../../connector.ts';
import { createProbes, type Probes, type QueryRefusal } from '../requests/probe.ts';
import { type AccountLists, createAccountLists } from './account-lists.ts';
import type { AccountParts } from './catalogue.ts';
import { type FoundRows, findRows, type RowsAt } from './find-rows.ts';

export type Account = AccountParts & {
  readonly probes: Probes;
  readonly lists: AccountLists;
  /** The record types as they were described last, by name. */
  readonly last: ReadonlyMap<string, RecordTypeMetadata>;
  /** The refusal of each list of entries that was probed, null where it can be read. */
  readonly entryProbes: Map<string, Promise<QueryRefusal | null>>;
  /** As the function `findRows`. */
  findRows(at: RowsAt): Promise<FoundRows | QueryRefusal>;
};

/** Makes no request yet. For one description: what it has read doesn't change with the account. */
export function openAccount(parts: AccountParts, last: readonly RecordTypeMetadata[] = []): Account {
  return {
    ...parts,
    last: new Map(last.map((recordType) => [recordType.name, recordType])),
    probes: createProbes(),
    entryProbes: new Map(),
    lists: createAccountLists(parts),
    findRows: (at) => findRows(parts.suiteql, at, parts.signal),
  };
}
