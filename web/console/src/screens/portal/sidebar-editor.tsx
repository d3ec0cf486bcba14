// Edits the sidebar of the portal as a tree: by keyboard, by buttons, and by dragging.
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type Answer, ApiError, api, type paths } from '../../api.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Form } from '../../parts/form.tsx';
import { NewerRevision, useRevised } from '../../parts/newer-revision.tsx';
import { invalidate } from '../../query.ts';
import { listRowPaths, type RowActions, SidebarRow } from './sidebar-item.tsx';
import {
  addRow,
  dropBefore,
  endOf,
  type Item,
  moveRow,
  type Rows,
  toItems,
  toPaths,
  toRows,
} from './sidebar-tree.ts';
import { useTargets } from './targets.ts';

type Stored = Answer<'/portal/sidebar'>;
type Items = NonNullable<
  paths['/portal/sidebar']['put']['requestBody']
>['content']['application/json']['items'];

/** Changes the rows, and lets the keyboard go on where something was moved or added. */
function useRowActions(rows: Rows, onChange: (rows: Rows) => void) {
  const list = useRef<HTMLOListElement>(null);
  const wanted = useRef<{ readonly key: number | undefined; readonly move?: string } | null>(null);
  const dragged = useRef(-1);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const { key, move } = wanted.current;
    const row = list.current?.querySelector(`[data-key="${key}"]`);
    const found =
      row?.querySelector<HTMLElement>(`[data-move="${move}"]:not(:disabled)`) ??
      row?.querySelector<HTMLElement>(move === undefined ? 'input' : '[data-move]:not(:disabled), input');
    (found ?? document.getElementById('main'))?.focus();
    wanted.current = null;
  });
  const set = (next: Rows | undefined, key: number | undefined, move?: string): void => {
    if (next === undefined) return;
    wanted.current = { key, ...(move !== undefined && { move }) };
    onChange(next);
  };
  const add = (kind: 'page' | 'group', at?: number): void => {
    const added = addRow(rows, kind, at);
    set(added.rows, added.rows[added.at]?.key);
  };
  const actions: RowActions = {
    change: (at, row) => onChange(rows.with(at, row)),
    move: (at, direction) => set(moveRow(rows, at, direction), rows[at]?.key, direction),
    remove(at) {
      const rest = rows.toSpliced(at, endOf(rows, at) - at);
      set(rest, (rest[at] ?? rest.at(-1))?.key);
    },
    addBelow: (at) => add('page', at),
    drag(at) {
      dragged.current = at;
    },
    drop: (at) => set(dropBefore(rows, dragged.current, at), rows[dragged.current]?.key),
  };
  return { list, actions, add };
}

/** `revision` 0: nothing is stored yet. */
export function SidebarEditor({ stored }: { stored: Stored }) {
  const { revision, problems } = stored;
  const value: Rows = useMemo(() => toRows(stored.items as readonly Item[]), [revision]);
  const revised = useRevised({ value, revision }, () => invalidate('/portal/sidebar'));
  const rows = revised.value;
  const send = (sent: Rows, of: number) =>
    api.PUT('/portal/sidebar', { body: { items: toItems(sent) as Items, revision: of } });
  const action = useAction(() => revised.save(send));
  const { list, actions, add } = useRowActions(rows, revised.change);
  const targets = useTargets();
  const rowPaths = toPaths(rows);
  const known = revised.isChanged ? [] : problems;
  const error =
    action.error ?? (known.length > 0 ? new ApiError(422, { message: '', details: known }) : undefined);
  return (
    <Form
      action={action}
      label="Save sidebar"
      paths={rowPaths.flatMap(listRowPaths)}
      secondary={
        <span role="status" class="saved">
          {revised.isSaved ? 'Saved' : ''}
        </span>
      }
    >
      <ol class="items" ref={list} aria-label="Items of the sidebar">
        {rows.map((row, at) => (
          <SidebarRow
            key={row.key}
            path={rowPaths[at] ?? ''}
            {...{ rows, at, row, targets, actions, error }}
          />
        ))}
      </ol>
      <p class="row">
        <button type="button" onClick={() => add('page')}>
          Add an item
        </button>
        <button type="button" onClick={() => add('group')}>
          Add a group
        </button>
      </p>
      <NewerRevision
        newer={revised.newer}
        mine={revised.revision}
        discard={revised.discard}
        replace={() => void revised.save(send, revision)}
      />
    </Form>
  );
}
