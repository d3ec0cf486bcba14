// Decides which fields that an API version shows can't be read any more: the ERP doesn't offer them to the
// integration role, and no administrator accepted that they are missing. Their stored values stay, and the
// run is partial. Pure.
import { type FieldMetadata, hasLabel, type RecordTypeMetadata } from '../../connectors/connector.ts';
import { type RecordColumn, toLineFields } from '../../warehouse/columns.ts';
import type { AcceptedField, RecordState, ShownColumns, StalePlan } from '../../warehouse/record-state.ts';

/** What versions show of a field. `lineFields` null: every field of the lines. */
type Shown = {
  readonly columns: readonly RecordColumn[];
  readonly lineFields: ReadonlySet<string> | null;
  readonly isScopable: boolean;
};

function shownFields(columns: readonly RecordColumn[], shown: ShownColumns | null): Map<string, Shown> {
  const found = new Map<string, Shown>();
  for (const { column: name, lineFields, scopable = false } of Object.values(shown ?? {}).flat()) {
    const column = columns.find((one) => one.column === name);
    if (column === undefined) continue;
    const before = found.get(column.field) ?? {
      columns: [],
      lineFields: new Set<string>(),
      isScopable: false,
    };
    const all = lineFields === undefined || before.lineFields === null;
    found.set(column.field, {
      columns: [...before.columns, column],
      lineFields: all ? null : new Set([...(before.lineFields ?? []), ...lineFields]),
      isScopable: before.isScopable || scopable,
    });
  }
  return found;
}

/** `rate.name` is the label of `rate`, `rate.ids` and `rate.names` are the entries. */
const baseName = (lineField: string): string => lineField.replace(/\.(?:name|ids|names)$/, '');

function findMissingLineFields(
  field: FieldMetadata,
  { columns, lineFields }: Shown,
  accepted: AcceptedField | undefined,
) {
  const offered = new Set(toLineFields(field).map(({ name }) => name));
  const wanted =
    lineFields ?? new Set(columns.flatMap((column) => column.lineFields ?? []).map(({ name }) => name));
  return [...wanted].filter((name) => !offered.has(name) && accepted?.lineFields?.includes(name) !== true);
}

function describeLineFields(field: FieldMetadata, missing: readonly string[]): string {
  const names = [...new Set(missing.map(baseName))];
  const reasons = names.flatMap((name) => field.fields?.find((line) => line.name === name)?.reason ?? []);
  const listed = names.map((name) => `${field.name}.${name}`).join(', ');
  return reasons[0] === undefined
    ? `The ERP no longer offers ${listed}`
    : `The ERP does not offer ${listed}: ${reasons[0]}`;
}

function lostPart(field: FieldMetadata, shows: (part: RecordColumn['part']) => boolean): string | null {
  if (!hasLabel(field) && shows('label')) return 'display texts';
  if (field.type !== 'multiselect' && shows('ids')) return 'entries';
  return field.entries === undefined && shows('names') ? 'names of the entries' : null;
}

/** Null when everything that versions show of the field can be read. */
function findProblem(
  name: string,
  field: FieldMetadata | undefined,
  shown: Shown,
  accepted: AcceptedField | undefined,
) {
  const isWholeAccepted = accepted !== undefined && accepted.lineFields === undefined;
  if (isWholeAccepted) return null;
  if (field?.syncable !== true) {
    const message =
      field?.reason == null
        ? `The ERP no longer has the field ${name}`
        : `The ERP does not offer ${name}: ${field.reason}`;
    return { reason: 'unreadable' as const, message };
  }
  if (field.type === 'lines') {
    const lineFields = findMissingLineFields(field, shown, accepted);
    return lineFields.length === 0
      ? null
      : { reason: 'unreadable' as const, message: describeLineFields(field, lineFields), lineFields };
  }
  // A reference, list or multiselect that became another type of the same name has lost its display texts, and
  // the last its entries.
  const shows = (part: RecordColumn['part']): boolean => shown.columns.some((column) => column.part === part);
  const lost = lostPart(field, shows);
  return lost === null
    ? null
    : { reason: 'unreadable' as const, message: `The ERP no longer has ${lost} of ${name}` };
}

const findLeftOut = (name: string, accepted: AcceptedField | undefined) =>
  accepted === undefined
    ? { reason: 'unreadable' as const, message: `The sync configuration does not select the field ${name}` }
    : null;

export type UnreadableFields = {
  readonly stale: StalePlan;
  /** Accepted fields that can be read again: their acceptance has ended. */
  readonly readable: readonly string[];
};

/**
 * `configured` null: the configuration selects every field. A field that it leaves out is not read on
 * purpose; it is stale only where versions allow row scopes by it, which must not go by old values.
 */
export function findUnreadable(
  { fields }: Pick<RecordTypeMetadata, 'fields'>,
  configured: readonly string[] | null,
  columns: readonly RecordColumn[],
  { shownColumns, acceptedFields }: Pick<RecordState, 'shownColumns' | 'acceptedFields'>,
): UnreadableFields {
  const offered = new Map(fields.map((field) => [field.name, field]));
  const stale: Record<string, StalePlan[string]> = {};
  const readable: string[] = [];
  for (const [name, shown] of shownFields(columns, shownColumns)) {
    const isLeftOut = configured !== null && !configured.includes(name);
    if (isLeftOut && !shown.isScopable) continue;
    const accepted = Object.hasOwn(acceptedFields, name) ? acceptedFields[name] : undefined;
    const covers = accepted?.reason === 'unreadable' ? accepted : undefined;
    const problem = isLeftOut
      ? findLeftOut(name, covers)
      : findProblem(name, offered.get(name), shown, covers);
    // An older version of this service stored that the field vanished, and not when.
    const isOld = shown.columns.some(({ state }) => state === 'vanished');
    if (problem !== null) stale[name] = isOld ? { ...problem, syncedAt: null } : problem;
    else if (
      !isLeftOut &&
      covers !== undefined &&
      findProblem(name, offered.get(name), shown, undefined) === null
    )
      readable.push(name);
  }
  return { stale, readable };
}
