// What screens of one list share: a page of it, its filters and its page number in the address, and what is
// shown when it is empty.
import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import '../styles/lists.css';
import type { Read } from '../query.ts';
import { base, path, query, setQuery } from '../router.ts';
import { may } from '../session.ts';
import { Choice } from './form.tsx';
import { Empty } from './page.tsx';
import { type Column, Pager, Table } from './table.tsx';
import { Time } from './time.tsx';

const pageSize = 25;

/** Page and filters of a list as the address has them, to read it: filters that aren't set are left out. */
export function listQuery<Filters extends object = Record<never, never>>(
  ...names: readonly (keyof Filters & string)[]
): { page: number; pageSize: number } & Partial<Filters> {
  const set = names.flatMap((name) => {
    const value = query.value.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const page = Math.max(1, Number.parseInt(query.value.get('page') ?? '1', 10) || 1);
  return { page, pageSize, ...(Object.fromEntries(set) as Partial<Filters>) };
}

type Pagination = { readonly page: number; readonly totalPages: number; readonly total: number };
type ListProps<T> = {
  /** What the rows are, such as `Teams`. */
  label: string;
  read: Read<{ readonly data: readonly T[]; readonly pagination: Pagination }> & { reload(): Promise<void> };
  columns: readonly Column<T>[];
  /** Buttons and links at the end of a row. */
  actions?: (row: T) => ComponentChildren;
  rowKey?: (row: T) => string;
  /**
   * In place of an empty list without filters: a sentence, by default that there are none yet, or something
   * else.
   */
  empty?: ComponentChildren;
  /** The next step, below that sentence. */
  next?: ComponentChildren;
  /** By parameters of the address; `filterNames` are theirs and those that have no input. */
  filters?: readonly Filter[];
  filterNames?: readonly string[];
  /** Between the filters and the rows. */
  children?: ComponentChildren;
};

/** The inputs of a list's filters; `clear` once some are set. */
const FilterBar = ({
  label,
  filters,
  clear,
}: {
  label: string;
  filters: readonly Filter[];
  clear: (() => void) | undefined;
}) => (
  <search class="filters" aria-label={`Filter ${label.toLowerCase()}`}>
    {filters.map((filter) => (
      <FilterInput key={filter.name} {...filter} />
    ))}
    {clear !== undefined && (
      <button type="button" class="link" onClick={clear}>
        Clear filters
      </button>
    )}
  </search>
);

/** One page of a list with its filters, order and pages. */
export function List<T>({
  label,
  read,
  columns,
  actions,
  rowKey,
  filters = [],
  filterNames,
  children,
  ...emptyProps
}: ListProps<T>) {
  const { empty = `There are no ${label.toLowerCase()} yet.`, next } = emptyProps;
  const names = filterNames ?? filters.map(({ name }) => name);
  const filtered = names.some((name) => query.value.has(name));
  const isEmpty = read.data?.data.length === 0;
  const clear = (): void => setQuery(Object.fromEntries(['page', ...names].map((name) => [name, null])));
  const row = actions && ((one: T) => <div class="row-actions">{actions(one)}</div>);
  const unfiltered =
    typeof empty === 'string' ? <Empty title={empty}>{next !== undefined && <p>{next}</p>}</Empty> : empty;
  return (
    <>
      {names.length > 0 && (filtered || !isEmpty) && (
        <FilterBar label={label} filters={filters} clear={filtered && !isEmpty ? clear : undefined} />
      )}
      {children}
      <Table
        label={label}
        columns={row === undefined ? columns : [...columns, { title: 'Actions', align: 'end', cell: row }]}
        rows={read.data?.data}
        rowKey={rowKey}
        sorting={{
          key: query.value.get('sort') ?? '',
          order: query.value.get('order') === 'desc' ? 'desc' : 'asc',
        }}
        onSort={({ key, order }) => setQuery({ sort: key, order, page: null })}
        error={read.error}
        retry={() => void read.reload()}
        empty={
          filtered ? (
            <Empty title="Nothing matches these filters.">
              <button type="button" onClick={clear}>
                Clear filters
              </button>
            </Empty>
          ) : (
            unfiltered
          )
        }
      />
      <Pager
        pagination={read.data?.pagination}
        onPage={(page) => setQuery({ page: String(page) }, { replace: false })}
      />
    </>
  );
}

/** A column of names that link to the screen of their row below `path`. */
export const linkColumn = <Key extends string>(
  title: string,
  path: string,
  name: Key,
): Column<Readonly<Record<Key | 'id', string>>> => ({
  title,
  cell: (row) => <a href={`${base}${path}/${row.id}`}>{row[name]}</a>,
});

/** A column of texts, left out where the screen is narrow. */
export const minorColumn = <Key extends string>(
  title: string,
  key: Key,
): Column<Readonly<Record<Key, string>>> => ({
  title,
  minor: true,
  cell: (row) => row[key],
});

/**
 * A column of times as distances from now, left out where the screen is narrow. `none` is shown without a
 * time.
 */
export function ageColumn<Key extends string>(
  title: string,
  at: Key,
  none?: string,
): Column<Readonly<Record<Key, string | null>>>;
export function ageColumn<T>(title: string, at: (row: T) => string | null, none?: string): Column<T>;
export function ageColumn(
  title: string,
  at: string | ((row: never) => string | null),
  none = '',
): Column<never> {
  return {
    title,
    minor: true,
    cell: (row) => <Time at={typeof at === 'string' ? row[at] : at(row)} relative none={none} />,
  };
}

const typingMs = 300;

/** Searches once typing pauses, and the text has `min` characters. */
export function SearchFilter({ label, name = 'q', min = 1 }: { label: string; name?: string; min?: number }) {
  const set = query.value.get(name) ?? '';
  const [text, setText] = useState(set);
  const sent = useRef(set);
  useEffect(() => {
    if (sent.current === set) return;
    sent.current = set;
    setText(set);
  }, [set]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === sent.current || (wanted !== '' && wanted.length < min)) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      setQuery({ [name]: wanted, page: null });
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text, name, min]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

type Options = readonly (readonly [value: string, title: string])[];

/** One of a few values; `any` is what the first option says. */
export function SelectFilter({
  label,
  name,
  any,
  options,
}: {
  label: string;
  name: string;
  any: string;
  options: Options;
}) {
  return (
    <Choice
      aria-label={label}
      value={query.value.get(name) ?? ''}
      onChange={(value) => setQuery({ [name]: value, page: null })}
      options={[['', any], ...options]}
    />
  );
}

/** A filter by one parameter of the address: one of `options`, a day, or a text. */
type Filter = {
  readonly name: string;
  readonly label: string;
  readonly day?: true;
  readonly any?: string;
  readonly options?: Options;
};
export const searchFilter = (label: string, name = 'q'): Filter => ({ name, label });
export const selectFilter = (label: string, name: string, any: string, options: Options): Filter => ({
  name,
  label,
  any,
  options,
});

export const dayFilter = (label: string, name: string): Filter => ({ name, label, day: true });

function FilterInput({ name, label, day, any = '', options }: Filter) {
  if (options !== undefined) return <SelectFilter label={label} name={name} any={any} options={options} />;
  if (day === undefined) return <SearchFilter label={label} name={name} />;
  return (
    <label>
      {label}
      <input
        type="date"
        value={query.value.get(name) ?? ''}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value, page: null })}
      />
    </label>
  );
}

/** The parts of a screen as links: which one is shown is in the address, as `show`. The first has no name. */
export function Tabs({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly (readonly [name: string, title: string])[];
}) {
  const shown = query.value.get('show') ?? '';
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([name, title]) => (
        <a
          key={name}
          href={`${base}${path.value}${name === '' ? '' : `?show=${name}`}`}
          aria-current={shown === name ? 'page' : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

/** Numbers side by side. Values that are null are left out. */
export const Stats = ({
  values,
  kind = '',
}: {
  values: readonly (readonly [name: string, value: ComponentChildren])[];
  kind?: string;
}) => (
  <dl class={`stats ${kind}`}>
    {values.map(
      ([name, value]) =>
        value !== null && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

type Tab = readonly [name: string, title: string, Content: () => JSX.Element | null, permission?: string];

/** Tabs that the person's permissions allow, and the content of the one that is shown. */
export function TabbedContent({ label, tabs }: { label: string; tabs: readonly [Tab, ...Tab[]] }) {
  const shown = query.value.get('show') ?? '';
  const allowed = tabs.filter(([, , , permission]) => permission === undefined || may(permission));
  const Content = (allowed.find(([name]) => name === shown) ?? allowed[0])?.[2];
  return (
    <>
      <Tabs label={label} tabs={allowed.map(([name, title]) => [name, title] as const)} />
      {Content && <Content />}
    </>
  );
}

/** Names and values of one object. Values that are absent are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value || value === 0)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}
