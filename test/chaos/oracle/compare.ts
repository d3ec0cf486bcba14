// Compares a served list with the account's states during a run: record by record, every field and all lines.
// A record may be as it was at any moment of the run. Each part that isn't is put to a judge.
import { areLinesOrdered, type Cell, type Shape, type TrueRecord, toSource } from './account.ts';
import type { History, Part } from './history.ts';
import { type Content, type Snapshot, toContent } from './served.ts';

export type Difference = {
  readonly id: string;
  readonly part: Part;
  /** Undefined: the record isn't served. */
  readonly served: Content | undefined;
  readonly message: string;
};
/** Fields of which no value is compared; those of lines as `lines.memo`. */
export type Left = ReadonlySet<string>;

const shorten = (text: Cell): string =>
  text === null ? 'nothing' : text.length > 160 ? `${text.slice(0, 160)}…` : text;

const parseCells = (line: string): Cell[] => JSON.parse(line);

/** Lines without the fields that are left out, in an order of their own where the account has none. */
function comparable({ recordType, lineFields }: Shape, lines: readonly string[] | null, left: Left): string {
  if (lines === null) return '';
  const kept = [...(lineFields ?? []).keys()].filter(
    (index) => !left.has(`lines.${lineFields?.[index]?.field}`),
  );
  const isWhole = kept.length === lineFields?.length;
  const shown = isWhole
    ? [...lines]
    : lines.map((line) => {
        const cells = parseCells(line);
        return JSON.stringify(kept.map((index) => cells[index] ?? null));
      });
  return (areLinesOrdered(recordType) ? shown : shown.sort()).join();
}

/**
 * The oldest state of which a document has labels, when its lines are otherwise as in one state and each of
 * their labels is as in some: long documents are read in several pages, and a rename between two of them
 * leaves no trace in the document. -1 when it is not so.
 */
function oldestOfLabels(
  { shape, states }: History,
  id: string,
  served: readonly string[],
  left: Left,
): number {
  if (!areLinesOrdered(shape.recordType)) return -1;
  const fields = shape.lineFields ?? [];
  const isLeft = (index: number): boolean => left.has(`lines.${fields[index]?.field}`);
  const plain = (lines: readonly Cell[][]): string =>
    JSON.stringify(
      lines.map((cells) => cells.filter((_cell, index) => fields[index]?.isLabel !== true && !isLeft(index))),
    );
  const lines = served.map(parseCells);
  const text = plain(lines);
  const alike = states().flatMap(({ truth }, index) => {
    const then = truth.records.get(id)?.lines?.map(parseCells) ?? [];
    return then.length === lines.length && plain(then) === text ? [{ index, then }] : [];
  });
  const isLabelAt = (row: number, column: number): boolean =>
    isLeft(column) || alike.some(({ then }) => then[row]?.[column] === lines[row]?.[column]);
  const areLabels = lines.every((cells, row) => cells.every((_cell, column) => isLabelAt(row, column)));
  return areLabels ? (alike[0]?.index ?? -1) : -1;
}

function describeLines(shape: Shape, id: string, served: Content, record: TrueRecord): string {
  const [here, there] = [served.lines ?? [], record.lines ?? []];
  const at = there.findIndex((line, index) => line !== here[index]);
  const names = (shape.lineFields ?? []).map(toSource);
  const [is, was]: Cell[][] = [here[at], there[at]].map((line) => JSON.parse(line ?? '[]'));
  const differing = names.filter((_name, index) => (is?.[index] ?? null) !== (was?.[index] ?? null));
  return `${shape.recordType} ${id} lines: ${here.length} served and ${there.length} in the account; line ${at + 1} differs in ${differing.join(', ')}`;
}

function comparePart(
  history: History,
  id: string,
  part: number | 'lines',
  served: Content,
  left: Left,
): Difference | null {
  const { shape } = history;
  const states = history.states();
  const lines = part === 'lines' ? comparable(shape, served.lines, left) : '';
  for (let index = states.length - 1; index >= 0; index -= 1) {
    const record = states[index]?.truth.records.get(id);
    if (record === undefined) continue;
    const isEqual =
      part === 'lines'
        ? lines === comparable(shape, record.lines, left)
        : record.cells[part] === served.cells[part];
    if (!isEqual) continue;
    history.settle(id, part, index);
    return null;
  }
  const mixed = part === 'lines' ? oldestOfLabels(history, id, served.lines ?? [], left) : -1;
  if (mixed >= 0) {
    history.settle(id, part, mixed);
    return null;
  }
  const last = states.findLast(({ truth }) => truth.records.has(id))?.truth.records.get(id);
  if (last === undefined) return null;
  const field = part === 'lines' ? undefined : shape.fields[part];
  const message =
    field === undefined || part === 'lines'
      ? describeLines(shape, id, served, last)
      : `${shape.recordType} ${id} ${toSource(field)}: served ${shorten(served.cells[part] ?? null)}, in the account ${shorten(last.cells[part] ?? null)}`;
  return { id, part, served, message };
}

function compareRecord(history: History, id: string, served: Content, left: Left): Difference[] {
  const { shape } = history;
  const last = history.states().at(-1)?.truth.records.get(id);
  const isSame =
    last?.cells.every((cell, index) => cell === served.cells[index]) === true &&
    comparable(shape, last.lines, left) === comparable(shape, served.lines, left);
  if (isSame) {
    history.settle(id, 'all', Number.POSITIVE_INFINITY);
    return [];
  }
  const parts: (number | 'lines')[] = [...shape.fields.keys()].filter(
    (index) => !left.has(shape.fields[index]?.field ?? ''),
  );
  if (shape.lineFields !== null) parts.push('lines');
  return parts.flatMap((part) => comparePart(history, id, part, served, left) ?? []);
}

/** Every part of every record that is served as it never was since the run began. */
export function compareList(history: History, { records }: Snapshot, left: Left): Difference[] {
  const { shape } = history;
  const states = history.states();
  const found: Difference[] = [];
  for (const [id, record] of records) {
    const content = toContent(shape, record);
    if (states.some(({ truth }) => truth.records.has(id)))
      found.push(...compareRecord(history, id, content, left));
    else
      found.push({
        id,
        part: 'presence',
        served: content,
        message: `${shape.recordType} ${id} is served and not in the account`,
      });
  }
  for (const id of states[0]?.truth.records.keys() ?? [])
    if (!records.has(id) && states.every(({ truth }) => truth.records.has(id)))
      found.push({
        id,
        part: 'presence',
        served: undefined,
        message: `${shape.recordType} ${id} is in the account and isn't served`,
      });
  return found;
}
