// Collects the fields that a table may have, from everything that names any: the catalogue, the list of
// custom fields, what is known of real accounts, and the first rows.

import type { SuiteqlRow } from '../requests/suiteql.ts';
import { isColumnName } from '../types/queries.ts';
import type { AccountLists, ListedField } from './account-lists.ts';
import type { CatalogueProperty } from './catalogue.ts';
import { listedTypes } from './column-types.ts';
import type { Candidate } from './describe-columns.ts';
import { knownColumns } from './known-columns.ts';
import { isItemType, toLabel } from './names.ts';

/** Columns that must never be selected (facts: 3.8), and what every row of a response has. */
const neverSelected: ReadonlySet<string> = new Set(['links', 'refname', 'classtranslation', 'currencyname']);

/** Columns with the time of a record's last modification, the preferred one first. */
export const modifiedColumns: readonly string[] = [
  'lastmodifieddate',
  'lastmodified',
  'datelastmodified',
  'linelastmodifieddate',
];

export const isCustomColumn = (name: string) => /^cust(?:body|col|entity|item|record|event|page)/.test(name);

const catalogueSays = 'The metadata catalogue';
const listSays = 'The list of custom fields';

/** Without the key, each column once, the catalogue's first. Rejects for an outage or a refused login. */
export async function findCandidates(
  lists: AccountLists,
  table: string,
  properties: readonly CatalogueProperty[],
  rows: readonly SuiteqlRow[],
): Promise<Candidate[]> {
  const found = new Map<string, Candidate>();
  const add = (candidate: Candidate): void => {
    if (!neverSelected.has(candidate.name) && isColumnName(candidate.name) && candidate.name !== 'lines')
      found.set(candidate.name, candidate);
  };
  const listed = (await lists.catalogue()) ?? [];
  for (const property of properties) add(ofProperty(property, listed));
  for (const { derived: _, ...known } of knownColumns(table).toReversed()) {
    const named = found.get(known.name);
    add({
      ...known,
      custom: false,
      namedBy: 'NetSuite’s documentation',
      ...(named !== undefined && merge(known, named)),
    });
  }
  // Records such as refunds call it their customer.
  const [entity, customer] = [found.get('entity'), found.get('customer')];
  if (table === 'transaction' && entity !== undefined && customer?.target !== undefined)
    add({ target: customer.target, ...entity });
  const seen = [...new Set(rows.flatMap((row) => Object.keys(row)))]
    .sort()
    .filter((name) => !found.has(name));
  for (const name of seen)
    add({ name, label: toLabel(name), type: null, namedBy: null, custom: isCustomColumn(name), ...plain });
  for (const name of modifiedColumns) {
    const named = found.get(name);
    if (named?.type === null) add({ ...named, type: 'time', namedBy: 'Its name' });
  }
  return withListed(lists, [...found.values()]);
}

const plain = { volatile: false, excluded: null };

const ofProperty = (
  { name, label, type, custom, target }: CatalogueProperty,
  listed: readonly string[],
): Candidate => {
  const named = target === undefined ? undefined : toTarget(target, listed);
  return {
    name,
    label: label.toLowerCase() === name ? toLabel(label) : label,
    type,
    custom,
    namedBy: catalogueSays,
    ...plain,
    ...(named !== undefined && { target: named }),
  };
};

/** Our record type with the records of a catalogue entry; undefined for one such as `transaction`. */
export const toTarget = (entry: string, listed: readonly string[]): string | undefined =>
  isItemType(entry) ? 'item' : listed.find((name) => name === entry);

const ofIds: readonly unknown[] = ['integer', 'reference', 'list', 'multiselect'];

/**
 * The catalogue names type, label and target; but to it a code with a display text is a text, and it may mean
 * another field of that name.
 */
function merge(known: Pick<Candidate, 'type'>, named: Candidate): Partial<Candidate> {
  const { label, namedBy, target } = named;
  const isSame =
    named.type === known.type ||
    named.type === 'text' ||
    (ofIds.includes(named.type) && ofIds.includes(known.type));
  if (!isSame)
    return {
      label,
      warning: `The metadata catalogue calls it ${named.type}, queries of other accounts ${known.type}`,
    };
  return {
    label,
    namedBy,
    type: named.type === 'text' ? known.type : named.type,
    ...(target !== undefined && { target }),
  };
}

/** Labels and types of custom fields that the catalogue doesn't describe or doesn't name. */
async function withListed(lists: AccountLists, candidates: readonly Candidate[]): Promise<Candidate[]> {
  const isLacking = ({ name, custom, type, label }: Candidate): boolean =>
    custom && (type === null || label === toLabel(name));
  if (!candidates.some(isLacking)) return [...candidates];
  const fields = new Map(((await lists.customFields()) ?? []).map((field) => [field.name, field]));
  return candidates.map((candidate) => {
    const field = fields.get(candidate.name);
    return field === undefined || !isLacking(candidate) ? candidate : ofListed(candidate, field);
  });
}

const ofListed = (candidate: Candidate, { label, valueType }: ListedField): Candidate =>
  candidate.type === null
    ? { ...candidate, label, type: listedTypes[valueType] ?? 'text', namedBy: listSays }
    : { ...candidate, label };

/** Columns with the prefix that have a value and aren't described yet. Rejects as `findCandidates`. */
export async function findUnlisted(
  lists: AccountLists,
  prefix: string,
  described: readonly { readonly name: string }[],
  rows: readonly SuiteqlRow[],
): Promise<Candidate[]> {
  const isNew = (name: string): boolean =>
    name.startsWith(prefix) && isColumnName(name) && !described.some((field) => field.name === name);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].sort().filter(isNew);
  return withListed(
    lists,
    names.map((name) => ({ name, label: toLabel(name), type: null, namedBy: null, custom: true, ...plain })),
  );
}
