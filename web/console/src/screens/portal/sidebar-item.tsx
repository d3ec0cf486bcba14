// One row of the sidebar's editor: what the item is called, where it leads, and the buttons that move it.
import type { ApiError } from '../../api.ts';
import { findProblem } from '../../parts/field-problems.ts';
import { Choice } from '../../parts/form.tsx';
import {
  canHaveMore,
  type Direction,
  hasChildren,
  type Kind,
  moveRow,
  type Row,
  type Rows,
} from './sidebar-tree.ts';
import { type Targets, withValue } from './targets.ts';

export const kinds: Readonly<Record<Kind, string>> = {
  page: 'Page',
  'record-type': 'Records',
  view: 'View',
  link: 'Link',
  group: 'Group',
};

const directions: readonly (readonly [direction: Direction, sign: string, where: string])[] = [
  ['up', '↑', 'up'],
  ['down', '↓', 'down'],
  ['in', '→', 'into the group before it'],
  ['out', '←', 'out of its group'],
];

export type RowActions = {
  change(at: number, row: Row): void;
  move(at: number, direction: Direction): void;
  remove(at: number): void;
  addBelow(at: number): void;
  drag(at: number): void;
  drop(at: number): void;
};

type RowProps = {
  rows: Rows;
  at: number;
  row: Row;
  targets: Targets;
  actions: RowActions;
  path: string;
  error: ApiError | undefined;
};

const ownFields = ['label', 'kind', 'target', 'icon'];
export const listRowPaths = (path: string): string[] => ownFields.map((name) => `${path}.${name}`);

function Target({
  row: { kind, target },
  targets,
  name,
  onChange,
}: Pick<RowProps, 'row' | 'targets'> & {
  name: string;
  onChange: (target: string) => void;
}) {
  if (kind === 'group') return null;
  const label = `Target of ${name}`;
  const value = target ?? '';
  if (kind === 'link')
    return (
      <input
        type="url"
        aria-label={label}
        placeholder="https://…"
        required
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    );
  const options = withValue(targets[kind], value, 'Choose');
  return <Choice aria-label={label} value={value} onChange={onChange} options={options} />;
}

function Buttons({
  rows,
  at,
  row,
  name,
  actions,
}: Pick<RowProps, 'rows' | 'at' | 'row' | 'actions'> & { name: string }) {
  return (
    <span class="item-buttons">
      {directions.map(([direction, sign, where]) => (
        <button
          key={direction}
          type="button"
          class="plain"
          data-move={direction}
          aria-label={`Move ${name} ${where}`}
          title={`Move ${where}`}
          disabled={moveRow(rows, at, direction) === undefined}
          onClick={() => actions.move(at, direction)}
        >
          {sign}
        </button>
      ))}
      {canHaveMore(row) && (
        <button type="button" class="link" onClick={() => actions.addBelow(at)} aria-label={`Add to ${name}`}>
          Add
        </button>
      )}
      <button type="button" class="plain" aria-label={`Remove ${name}`} onClick={() => actions.remove(at)}>
        ✕
      </button>
    </span>
  );
}

export function SidebarRow({ rows, at, row, targets, actions, path, error }: RowProps) {
  const { key, depth, label, kind } = row;
  const name = label.trim() || `item ${at + 1}`;
  const problem = listRowPaths(path).flatMap((one) => findProblem(error, one) ?? [])[0];
  const isFixed = hasChildren(rows, at);
  const setKind = (chosen: string): void =>
    actions.change(at, { ...row, kind: chosen as Kind, target: chosen === 'group' ? null : '' });
  return (
    <li
      class={`item depth-${depth}`}
      data-key={key}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        actions.drop(at);
      }}
    >
      <span class="handle" draggable aria-hidden="true" onDragStart={() => actions.drag(at)}>
        ⠿
      </span>
      <input
        aria-label={`Label of item ${at + 1}`}
        placeholder="Label"
        required
        value={label}
        aria-invalid={problem !== undefined}
        onInput={(event) => actions.change(at, { ...row, label: event.currentTarget.value })}
      />
      <Choice
        aria-label={`Kind of ${name}`}
        value={kind}
        onChange={setKind}
        options={isFixed ? [['group', kinds.group]] : Object.entries(kinds)}
      />
      <Target
        row={row}
        targets={targets}
        name={name}
        onChange={(target) => actions.change(at, { ...row, target })}
      />
      <Buttons rows={rows} at={at} row={row} name={name} actions={actions} />
      {problem !== undefined && <p class="note bad">{problem}</p>}
    </li>
  );
}
