// Hides tables, columns and rows from the role.
import { request } from './api.js';
import { button, byId, h, input, label, option, readValues, renderOnChange, select } from './dom.js';

let current = { tables: [], columns: {}, rows: {} };

const add = (lists, key, values) => ({ ...lists, [key]: [...new Set([...(lists[key] ?? []), ...values])] });
const remove = (lists, key, value) =>
  Object.fromEntries(
    Object.entries({ ...lists, [key]: lists[key].filter((each) => each !== value) }).filter(
      ([, list]) => list.length > 0,
    ),
  );
const put = (hidden) => request('PUT', '/hidden', hidden);

export function setUpHidden(tables, act) {
  const table = select(
    'table',
    tables.map(({ name }) => option(name)),
    { onchange: () => fillColumns() },
  );
  const column = select('column', []);
  const fillColumns = () => {
    const known = tables.find(({ name }) => name === table.value);
    column.replaceChildren(option('', 'the whole table'), ...known.columns.map(({ name }) => option(name)));
  };
  fillColumns();
  const form = byId('hide-form');
  form.append(
    label('Table', table),
    label('Column', column),
    label('or rows: ids, with commas', input('rows', { class: 'short', placeholder: 'none' })),
    h('button', { class: 'strong' }, 'Hide'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { table: name, column: columnName, rows } = readValues(form);
    const ids = rows.split(/[\s,]+/).filter(Boolean);
    const wanted = () =>
      ids.length > 0
        ? { ...current, rows: add(current.rows, name, ids) }
        : columnName
          ? { ...current, columns: add(current.columns, name, [columnName]) }
          : { ...current, tables: [...new Set([...current.tables, name])] };
    act(() => put(wanted()), 'It is hidden.');
  });
}

export function showHidden({ hidden }, act) {
  current = hidden;
  renderOnChange(byId('hidden'), hidden, () => {
    const lists = (part, text) =>
      Object.entries(hidden[part]).flatMap(([table, values]) =>
        values.map((value) => [
          text(table, value),
          { ...hidden, [part]: remove(hidden[part], table, value) },
        ]),
      );
    const items = [
      ...hidden.tables.map((table) => [
        `table ${table}`,
        { ...hidden, tables: hidden.tables.filter((each) => each !== table) },
      ]),
      ...lists('columns', (table, column) => `column ${table}.${column}`),
      ...lists('rows', (table, id) => `row ${table} ${id}`),
    ];
    if (items.length === 0) return h('p', { class: 'quiet' }, 'Nothing is hidden.');
    return h(
      'ul',
      {},
      items.map(([text, without]) =>
        h(
          'li',
          {},
          h('code', {}, text),
          button('Show again', () => act(() => put(without), 'It can be seen again.'), {
            'aria-label': `Show again: ${text}`,
          }),
        ),
      ),
    );
  });
}
