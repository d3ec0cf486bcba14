// The head of a column of records: its name, by which the list is sorted, and its right edge, which is dragged
// or moved by the arrow keys to make the column wider.
import type { TargetedPointerEvent } from 'preact';
import type { Sorting } from '../../parts/table.tsx';
import { show } from './address.ts';
import { maxWidth, minWidth } from './use-layout.ts';

export type GridColumn = {
  readonly name: string;
  readonly title: string;
  readonly width: number;
  /** Its distance from the left edge, where it stays when the rest is scrolled. */
  readonly pinnedAt?: number | undefined;
  readonly isNumber: boolean;
  readonly isSortable: boolean;
};

/** What a cell of the column has as attributes. */
export const cellOf = ({ pinnedAt, isNumber }: GridColumn) => ({
  class: `${isNumber ? 'end' : ''} ${pinnedAt === undefined ? '' : 'pinned'}`,
  ...(pinnedAt !== undefined && { style: { '--left': `${pinnedAt}px` } }),
});

/** One press of an arrow key. */
const stepPx = 16;

function Edge({ column, setWidth }: { column: GridColumn; setWidth: (width: number) => void }) {
  const drag = (event: TargetedPointerEvent<HTMLElement>): void => {
    const { currentTarget: edge, clientX: from, pointerId } = event;
    event.preventDefault();
    edge.setPointerCapture(pointerId);
    edge.onpointermove = ({ clientX }) => setWidth(column.width + clientX - from);
    edge.onpointerup = () => {
      edge.onpointermove = null;
    };
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowRight: stepPx, ArrowLeft: -stepPx }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(column.width + by);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr can't be moved
    <span
      role="separator"
      class="edge"
      aria-orientation="vertical"
      aria-label={`Width of ${column.name}`}
      aria-valuemin={minWidth}
      aria-valuemax={maxWidth}
      aria-valuenow={column.width}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={press}
    />
  );
}

const ariaSort = { asc: 'ascending', desc: 'descending' } as const;

export function ColumnHead({
  column,
  sorting,
  setWidth,
}: {
  column: GridColumn;
  sorting: Sorting;
  setWidth: (width: number) => void;
}) {
  const { name, title, isSortable } = column;
  const current = sorting.key === name ? sorting.order : undefined;
  return (
    <th
      scope="col"
      {...cellOf(column)}
      aria-label={title}
      aria-sort={isSortable ? (current === undefined ? 'none' : ariaSort[current]) : undefined}
    >
      {isSortable ? (
        <button
          type="button"
          class="sort"
          onClick={() => show({ sort: name, order: current === 'asc' ? 'desc' : null })}
        >
          {title}
          <span aria-hidden="true">{current === undefined ? '' : current === 'asc' ? ' ↑' : ' ↓'}</span>
        </button>
      ) : (
        <span title={title}>{title}</span>
      )}
      <Edge column={column} setWidth={setWidth} />
    </th>
  );
}
