// Tables of records and lines. Where there is no room for columns, each row becomes a few lines: its number and
// its amount on the first one, and the rest below, by CSS alone.
import type { Column, Label, Table, Value } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';
import { Icon } from './icon.tsx';
import { ValueView } from './value.tsx';

/** More columns than these may scroll sideways. */
const maxFittingColumns = 6;

const meaningOf = ({ label, meaning }: Column): string | undefined => {
  if (meaning !== undefined || typeof label !== 'object') return meaning;
  if ('meaning' in label) return label.meaning;
  return 'line' in label ? label.line : undefined;
};
const means = (column: Column, ...meanings: readonly string[]): boolean =>
  meanings.includes(meaningOf(column) ?? '');

/** The columns of the first line of a narrow row; -1 where there is none. */
function findMain({ columns, rows }: Table): { lead: number; key: number } {
  const lead = columns.findIndex(
    (column, at) =>
      means(column, 'number', 'item') || rows.some(({ cells }) => cells[at]?.kind === 'number-of-record'),
  );
  const open = columns.findIndex((column) => means(column, 'amountDue'));
  const amount = columns.findIndex((column) => means(column, 'amount'));
  return { lead: Math.max(lead, 0), key: open === -1 ? amount : open };
}

/** What the cells of each column have in common. `isLead`: leads to the record of the row. */
type Layout = readonly { readonly text: string; readonly name: string; readonly isLead: boolean }[];

function layOut(table: Table, toText: (label: Label) => string): Layout {
  const { lead, key } = findMain(table);
  return table.columns.map((column, at) => {
    const { label, numeric } = column;
    const meaning = meaningOf(column);
    const about =
      meaning === undefined || (typeof label === 'object' && 'line' in label) ? '' : `of-${meaning}`;
    const names = [at === lead && 'lead', at === key && 'key', numeric && 'numeric', about];
    return { text: toText(label), name: names.filter(Boolean).join(' '), isLead: at === lead };
  });
}

const cellClass = (name: string, value: Value): string | undefined =>
  `${name}${value === null ? ' empty' : ''}`.trim() || undefined;

const Head = ({ column: { sort }, text, name }: { column: Column; text: string; name: string }) => (
  <th scope="col" class={name || undefined} aria-sort={sort?.now ?? undefined}>
    {sort === null ? (
      text
    ) : (
      <a class="sort" href={sort.href}>
        {text}
        <Icon name={sort.now ?? 'sortable'} />
      </a>
    )}
  </th>
);

const Cell = ({ value, href }: { value: Value; href: string | null }) =>
  href === null ? (
    <ValueView value={value} />
  ) : (
    <a class="row-link" href={href}>
      <ValueView value={value} />
    </a>
  );

const Row = ({ layout, href, cells }: { layout: Layout; href: string | null; cells: readonly Value[] }) => (
  <tr class={href === null ? undefined : 'linked'}>
    {layout.map(({ text, name, isLead }, at) => {
      const value = cells[at] ?? null;
      return (
        <td key={at} class={cellClass(name, value)} data-label={text}>
          <Cell value={value} href={isLead ? href : null} />
        </td>
      );
    })}
  </tr>
);

const Totals = ({ layout, totals }: { layout: Layout; totals: readonly Value[] }) => {
  const view = useView();
  return (
    <tfoot>
      <tr>
        {layout.map(({ text, name }, at) => {
          const value = totals[at] ?? null;
          if (at === 0 && value === null)
            return (
              <th key={at} scope="row" class={name || undefined}>
                {view.text('record.total')}
              </th>
            );
          return (
            <td key={at} class={cellClass(name, value)} data-label={text}>
              {value !== null && <ValueView value={value} />}
            </td>
          );
        })}
      </tr>
    </tfoot>
  );
};

/** `caption`: what it lists, for screen readers. `compact`: in narrow rows only what matters first. */
export const TableView = ({
  table,
  caption,
  compact = false,
}: {
  table: Table;
  caption: string;
  compact?: boolean;
}) => {
  const view = useView();
  const { columns, rows, totals } = table;
  const layout = layOut(table, view.label);
  const isSortable = columns.some(({ sort }) => sort !== null);
  const scrolls = columns.length > maxFittingColumns;
  return (
    <div class="table-box">
      <div class="table-scroll" {...(scrolls && { role: 'region', 'aria-label': caption, tabIndex: 0 })}>
        <table class={compact ? 'compact' : undefined}>
          <caption class="hidden-text">{caption}</caption>
          <thead class={isSortable ? 'sorts' : undefined} data-label={view.text('list.sortBy')}>
            <tr>
              {columns.map((column, at) => (
                <Head key={at} column={column} text={layout[at]?.text ?? ''} name={layout[at]?.name ?? ''} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ href, cells }, at) => (
              <Row key={at} layout={layout} href={href} cells={cells} />
            ))}
          </tbody>
          {totals !== undefined && <Totals layout={layout} totals={totals} />}
        </table>
      </div>
    </div>
  );
};
