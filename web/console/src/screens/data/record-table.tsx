// The list of records as a grid: its head and its pinned columns stay, columns can be made wider, and the
// arrow keys move from record to record.
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { type RecordPage, type RecordRow, Shown } from '../../parts/read-records.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { go } from '../../router.ts';
import { addressWith, type State, show } from './address.ts';
import { ColumnHead, cellOf, type GridColumn } from './column-head.tsx';
import type { Endpoint, Types } from './endpoint.ts';
import { NoRecords } from './no-records.tsx';
import { estimateWidth, type Layout } from './use-layout.ts';

/** Whether the opened record was asked for from the list, which then keeps the focus. */
export type Looking = { current: boolean };

export type TableProps = {
  endpoint: Endpoint;
  state: State;
  columns: readonly string[];
  types: Types;
  masked: ReadonlySet<string>;
  page: RecordPage | undefined;
  layout: Layout;
  setWidth: (column: string, width: number) => void;
  isLooking: Looking;
};

/** The id first, then the pinned columns, then the others. Widths are estimated from the first page. */
function useColumns({ endpoint, columns, types, masked, page, layout }: TableProps): GridColumn[] {
  const estimated = useRef(new Map<string, number>()).current;
  const known = columns.filter((name) => endpoint.fields.some((field) => field.name === name));
  const isPinned = (name: string): boolean => name === 'id' || layout.pinned.includes(name);
  const names = ['id', ...known.filter(isPinned), ...known.filter((name) => !isPinned(name))];
  let left = 0;
  return names.map((name) => {
    const [type, isMasked] = [types.get(name), masked.has(name)];
    const title = isMasked ? `${name} (masked)` : name;
    const values = page?.data.map((row) => row[name] ?? null) ?? [];
    const width = layout.widths[name] ?? estimated.get(name) ?? estimateWidth(title, values, type);
    if (values.length > 0 && !estimated.has(name)) estimated.set(name, width);
    const pinnedAt = isPinned(name) ? left : undefined;
    left += width;
    return {
      name,
      title,
      width,
      pinnedAt,
      isNumber: (type === 'number' || type === 'integer') && !isMasked,
      isSortable: endpoint.sorts?.includes(name) === true && !isMasked,
    };
  });
}

/** How many columns begin or end beyond the right edge of the element. */
function useHidden(columns: readonly GridColumn[], record: string | null) {
  const region = useRef<HTMLElement>(null);
  const [hidden, setHidden] = useState(0);
  const shape = columns.map(({ name, width }) => `${name} ${width}`).join();
  useEffect(() => {
    const element = region.current;
    if (element === null) return;
    const count = (): void => {
      const end = element.getBoundingClientRect().right;
      const heads = [...element.querySelectorAll('th')];
      setHidden(heads.filter((head) => head.getBoundingClientRect().right > end + 1).length);
      element.classList.toggle('scrolled', element.scrollLeft > 0);
    };
    const observer = new ResizeObserver(count);
    observer.observe(element);
    element.addEventListener('scroll', count, { passive: true });
    count();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', count);
    };
  }, [shape]);
  // The list becomes narrower, and its first columns say which record is which.
  useEffect(() => {
    if (record !== null) region.current?.scrollTo({ left: 0 });
  }, [record !== null]);
  return { region, hidden };
}

/** Opens the record next to the list, and leaves the focus where it is. */
function look(id: string, state: State, isLooking: Looking): void {
  isLooking.current = true;
  go(addressWith({ record: id }), { replace: state.record !== null });
}

/** Moves the focus to the record above or below, whose fields are shown if those of another one are. */
function move(event: KeyboardEvent, state: State, isLooking: Looking): void {
  const { target, currentTarget, key } = event;
  if (!(target instanceof HTMLElement) || !(currentTarget instanceof HTMLElement)) return;
  const links = [...currentTarget.querySelectorAll<HTMLElement>('[data-record]')];
  const at = links.indexOf(target);
  if (at === -1 && target !== currentTarget) return;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[key];
  const next = to === undefined ? undefined : links[to];
  const isLook = at !== -1 && (key === ' ' || (next !== undefined && state.record !== null));
  if (key === 'Escape' && state.record !== null) show({ record: null });
  else if (!isLook && next === undefined) return;
  next?.focus();
  if (isLook) look((next ?? target).dataset['record'] ?? '', state, isLooking);
  event.preventDefault();
}

export function RecordTable(props: TableProps) {
  const { state, page } = props;
  if (page?.data.length !== 0) return <Grid {...props} />;
  return (
    <NoRecords isFiltered={state.filters.length > 0 || state.q !== ''} isBeyond={page.pagination.total > 0} />
  );
}

function Grid(props: TableProps) {
  const { endpoint, state, page, setWidth, isLooking } = props;
  const columns = useColumns(props);
  const { region, hidden } = useHidden(columns, state.record);
  return (
    <div class="grid">
      {hidden > 0 && (
        <button
          type="button"
          class="grid-more"
          onClick={() => region.current?.scrollBy({ left: region.current.clientWidth * 0.7 })}
        >
          {formatCount(hidden, 'more column')} →
        </button>
      )}
      <section
        ref={region}
        class="table-scroll"
        aria-label={`Records of ${endpoint.name}`}
        aria-describedby="record-keys"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        onKeyDown={(event) => move(event, state, isLooking)}
      >
        <table
          aria-busy={page === undefined}
          style={{ width: `${columns.reduce((sum, column) => sum + column.width, 0)}px` }}
        >
          <colgroup>
            {columns.map(({ name, width }, at) => (
              // The last one takes what is left of the window.
              <col key={name} style={{ width: at === columns.length - 1 ? '' : `${width}px` }} />
            ))}
          </colgroup>
          <thead>
            <tr>
              {columns.map((column) => (
                <ColumnHead
                  key={column.name}
                  column={column}
                  sorting={{ key: state.sort, order: state.order }}
                  setWidth={(next) => setWidth(column.name, next)}
                />
              ))}
            </tr>
          </thead>
          <Rows {...props} grid={columns} />
        </table>
      </section>
      <p class="fine grid-keys" id="record-keys">
        Arrow keys move from record to record, Enter opens one, Space shows it and stays in the list.
      </p>
    </div>
  );
}

type RowsProps = Pick<TableProps, 'state' | 'types' | 'page' | 'isLooking'> & {
  grid: readonly GridColumn[];
};

function Rows(props: RowsProps) {
  const { grid, state, page } = props;
  const [active, setActive] = useState<string>();
  const ids = page?.data.map((row) => String(row['id'])) ?? [];
  // One of the records is reached by Tab, the others by the arrow keys.
  const reached = [active, state.record, ids[0]].find((id) => id != null && ids.includes(id));
  return (
    <tbody>
      {page === undefined && (
        <tr>
          <td colSpan={grid.length}>
            <Skeleton lines={8} />
          </td>
        </tr>
      )}
      {page?.data.map((row) => (
        <Row
          key={String(row['id'])}
          {...props}
          row={row}
          isReached={String(row['id']) === reached}
          onFocus={setActive}
        />
      ))}
    </tbody>
  );
}

type RowProps = RowsProps & {
  row: RecordRow;
  isReached: boolean;
  onFocus: (id: string) => void;
};

function Row({ row, grid, state, types, isLooking, isReached, onFocus }: RowProps) {
  const id = String(row['id']);
  return (
    <tr>
      {grid.map((column) => (
        <td key={column.name} {...cellOf(column)}>
          {column.name === 'id' ? (
            <a
              href={addressWith({ record: id })}
              data-record={id}
              aria-current={id === state.record ? 'true' : undefined}
              aria-label={`Open record ${id}`}
              tabIndex={isReached ? 0 : -1}
              onFocus={() => onFocus(id)}
              onClick={() => {
                isLooking.current = false;
              }}
            >
              {id}
            </a>
          ) : (
            <Shown value={row[column.name]} type={types.get(column.name)} />
          )}
        </td>
      ))}
    </tr>
  );
}
