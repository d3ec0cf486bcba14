import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api.ts';
import { formatNumber } from '../format.ts';
import { Problem } from './problem.tsx';
import { Skeleton } from './skeleton.tsx';

export type Column<T> = {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Numbers and times end at the right edge. */
  readonly align?: 'end';
  /** What `sort` takes; without it the column can't be sorted by. */
  readonly sort?: string;
  /** Left out where the screen is narrow. */
  readonly minor?: boolean;
};

/** Sorted by `key`, ascending or descending. */
export type Sorting = { readonly key: string; readonly order: 'asc' | 'desc' };

type TableProps<T> = {
  /** What the rows are, for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[] | undefined;
  /** Its id by default. */
  rowKey?: ((row: T, index: number) => string) | undefined;
  /** Whether a row is hidden, as a signal: it changes without rendering the rows again. */
  rowHidden?: (row: T) => ReadonlySignal<boolean>;
  error?: ApiError | undefined;
  retry?: () => void;
  sorting?: Sorting;
  onSort?: (sorting: Sorting) => void;
  /** In place of a table without rows. */
  empty?: ComponentChildren;
};

const ariaSort = { asc: 'ascending', desc: 'descending' } as const;

const toClassName = <T,>({ align, minor }: Column<T>): string =>
  `${align ?? ''} ${minor === true ? 'minor' : ''}`;

function Head<T>({
  column,
  sorting,
  onSort,
}: {
  column: Column<T>;
  sorting: Sorting | undefined;
  onSort: ((sorting: Sorting) => void) | undefined;
}) {
  const classes = toClassName(column);
  const { sort } = column;
  if (sort === undefined || onSort === undefined)
    return (
      <th scope="col" class={classes}>
        {column.title}
      </th>
    );
  const current = sorting?.key === sort ? sorting.order : undefined;
  return (
    <th scope="col" class={classes} aria-sort={current === undefined ? 'none' : ariaSort[current]}>
      <button
        type="button"
        class="sort"
        onClick={() => onSort({ key: sort, order: current === 'asc' ? 'desc' : 'asc' })}
      >
        {column.title}
        <span aria-hidden="true">{current === undefined ? '' : current === 'asc' ? ' ↑' : ' ↓'}</span>
      </button>
    </th>
  );
}

const getId = (row: unknown): string => (row as { readonly id: string }).id;

/** Rows under aligned columns; scrolls sideways by itself where the screen is narrow. */
export function Table<T>({
  label,
  columns,
  rows,
  rowKey = getId,
  rowHidden,
  error,
  retry,
  sorting,
  onSort,
  empty,
}: TableProps<T>) {
  if (error !== undefined && rows === undefined) return <Problem error={error} retry={retry} />;
  if (rows?.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    // A region that scrolls must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="table-scroll" aria-label={label} tabIndex={0}>
      <table aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.title} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined && (
            <tr>
              <td colSpan={columns.length}>
                <Skeleton lines={4} />
              </td>
            </tr>
          )}
          {rows?.map((row, index) => (
            <tr key={rowKey(row, index)} hidden={rowHidden?.(row)}>
              {columns.map((column) => (
                <td key={column.title} class={toClassName(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type Pagination = { readonly page: number; readonly totalPages: number; readonly total?: number };

/** Previous and next page, and how many entries there are. Nothing for a single page. */
export function Pager({
  pagination,
  onPage,
}: {
  pagination: Pagination | undefined;
  onPage: (page: number) => void;
}) {
  if (pagination === undefined || pagination.totalPages <= 1) return null;
  const { page, totalPages, total } = pagination;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span>
        Page {formatNumber(page)} of {formatNumber(totalPages)}
        {total !== undefined && ` · ${formatNumber(total)} in all`}
      </span>
      <button type="button" disabled={page >= totalPages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
