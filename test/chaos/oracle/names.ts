// Whether what a run names as not up to date is so, and whether callers are told.
import type { RecordTypeName } from '../plan.ts';
import { toOrigin, toSource } from './account.ts';
import type { History, Moment } from './history.ts';
import type { Ended } from './judge.ts';
import type { Hidden, Notes } from './ledger.ts';
import type { Named, RunView } from './run-report.ts';
import { type Snapshot, toContent } from './served.ts';

export const hiddenIds = (notes: Notes, recordType: RecordTypeName): Set<string> =>
  new Set(notes.hidden(recordType).flatMap(({ ids = [] }) => ids));

const isLines = (field: string): boolean => field === 'lines' || field.startsWith('lines.');
/** A stale field of lines may be named by its own name or as all lines. */
const hidesField = (hidden: readonly Hidden[], field: string): boolean =>
  hidden.some(
    ({ all, fields = [] }) =>
      all === true || fields.includes(toOrigin(field)) || (isLines(field) && fields.some(isLines)),
  );

/**
 * What a person accepted as missing, and what the account or the role still doesn't offer: it has no value to
 * compare.
 */
export function acceptedFields(history: History, notes: Notes, { accepted, stale }: Named): Set<string> {
  const gone = new Set(history.states().flatMap((state) => [...state.gone]));
  const hidden = notes.hidden(history.shape.recordType);
  return new Set(
    [...accepted].filter((field) => !stale.has(field) && (gone.has(field) || hidesField(hidden, field))),
  );
}

/** Whether the account has another value now in any record that is served. */
function differsNow({ shape, states }: History, { records }: Snapshot, name: string): boolean {
  const truth = states().at(-1)?.truth;
  const indexes = [...shape.fields.keys()].filter((index) => shape.fields[index]?.field === name);
  return [...records].some(([id, record]) => {
    const [served, held] = [toContent(shape, record), truth?.records.get(id)];
    if (held === undefined) return false;
    if (isLines(name)) return served.lines?.join() !== held.lines?.join();
    return indexes.some((index) => served.cells[index] !== held.cells[index]);
  });
}

/** The fields that are gone, or hidden from the role, at some time of the run. */
export const unreadFields = (history: History, notes: Notes): Set<string> =>
  new Set([
    ...history.states().flatMap(({ gone }) => [...gone]),
    ...notes.hidden(history.shape.recordType).flatMap(({ fields = [] }) => fields),
  ]);

/**
 * What the run names without cause, and what its callers aren't told. `before`: what could not be read in the
 * run before; the first run after it may still go by the metadata of that time.
 */
export function problemsOfNames(
  history: History,
  notes: Notes,
  ended: Ended,
  before: ReadonlySet<string>,
): string[] {
  const { run, named, snapshot } = ended;
  const { recordType } = history.shape;
  const hidden = notes.hidden(recordType);
  const known = new Set([...notes.spoiled(recordType), ...hiddenIds(notes, recordType)]);
  const gone = new Set([...before, ...history.states().flatMap((state) => [...state.gone])]);
  const isExplained = (id: string): boolean =>
    known.has(id) ||
    hidden.some(({ all }) => all === true) ||
    history.states().some(({ truth }) => !truth.records.has(id));
  const isMissing = (field: string): boolean =>
    gone.has(field) || (isLines(field) && [...gone].some(isLines));
  const misreported = new Set(notes.silent(recordType).map((note) => note.field ?? 'lines'));
  const isMisreported = (field: string): boolean =>
    misreported.has('*') || misreported.has(isLines(field) ? 'lines' : toOrigin(field));
  const problems = [
    ...[...named.rejected]
      .filter((id) => !isExplained(id))
      .map((id) => `${id} is named as rejected and can be read`),
    ...[...named.held].filter((id) => !isExplained(id)).map((id) => `${id} is named as absent and lives`),
    ...[...named.stale]
      .filter(
        (field) =>
          !hidesField(hidden, field) &&
          !isMissing(field) &&
          !isMisreported(field) &&
          !differsNow(history, snapshot, field),
      )
      .map((field) => `${field} is named as stale and can be read`),
  ];
  if (run.status === 'partial' && named.stale.size + named.rejected.size + named.held.size === 0)
    problems.push(`a partial run says ${run.error?.code} and names nothing`);
  return [...problems, ...problemsOfFailure(run), ...problemsOfHeaders(history, ended)];
}

/** What the responses tell callers about stale fields, compared with what the sync says. */
function problemsOfHeaders(
  { shape: { fields, lineFields } }: History,
  { named: { stale }, snapshot: { stale: told } }: Ended,
): string[] {
  if (told.includes('*')) return [];
  const expected = fields.filter(({ field }) => stale.has(field)).map(({ name }) => name);
  if (lineFields !== null && [...stale].some(isLines)) expected.push('lines');
  const sources = new Map(fields.map((field) => [field.name, toSource(field)]));
  return [
    ...expected
      .filter((name) => !told.includes(name))
      .map((name) => `callers aren't told that ${sources.get(name) ?? name} is stale`),
    ...told
      .filter((name) => !expected.includes(name))
      .map((name) => `callers are told that ${sources.get(name) ?? name} is stale`),
  ];
}

/**
 * A field that the account no longer offers must be named: one of the header at once, one of lines on the
 * next day.
 */
export function problemsOfGone(
  history: History,
  since: Map<string, Moment>,
  { run, named, begun }: Ended,
): string[] {
  const [state] = history.states();
  // One of another type can still be read: what became of its values is compared.
  const present = new Set([...(state?.gone ?? [])].filter((field) => state?.truth.types.has(field) !== true));
  for (const field of since.keys()) if (!present.has(field)) since.delete(field);
  return [...present].flatMap((field) => {
    const first = since.get(field);
    if (first === undefined) since.set(field, begun.begin);
    const isDue = !isLines(field) || (first !== undefined && begun.begin.day > first.day);
    const isTold =
      named.stale.has(field) || named.accepted.has(field) || (isLines(field) && named.stale.has('lines'));
    return isDue && !isTold
      ? [`${field} is gone from the account, and a ${run.status} run doesn't say so`]
      : [];
  });
}

/** A run that isn't green has a reason and what to do. */
export function problemsOfFailure({ status, error }: RunView): string[] {
  const isTold =
    error !== null &&
    [error.code, error.message, error.fix].every((text) => typeof text === 'string' && text !== '');
  return status === 'succeeded' || status === 'cancelled' || isTold
    ? []
    : [`a ${status} run says ${JSON.stringify(error)}`];
}
