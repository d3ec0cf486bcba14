// Browses and edits records.
import { request } from './api.js';
import { button, byId, check, h, input, label, option, readValues, select } from './dom.js';

const PAGE_SIZE = 50;
const NAMES = ['tranid', 'entityid', 'itemid', 'name', 'memo'];
let tables = [];
let act;
let say;

export function setUpRecords(known, runAct, tell) {
  [tables, act, say] = [known, runAct, tell];
  const form = byId('record-form');
  const table = select(
    'table',
    known.filter(({ isReadable }) => isReadable).map(({ name }) => option(name)),
    { onchange: () => list(table.value) },
  );
  table.value = 'transaction';
  const id = input('id', { class: 'short', inputmode: 'numeric', placeholder: 'any' });
  form.append(
    label('Table', table),
    label('Internal id', id),
    h('button', { class: 'strong' }, 'Show'),
    button('Restore a removed record with this id', () =>
      act(
        async () => open(await request('POST', `/records/${table.value}/${id.value.trim()}/restore`)),
        'The record is back.',
      ),
    ),
    button('New empty record', () =>
      act(async () => open(await request('POST', `/records/${table.value}`, {})), 'The record is created.'),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { table: name, id: wanted } = readValues(form);
    if (wanted) show(name, wanted);
    else list(name);
  });
}

async function quietly(work) {
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

const list = (table, after) =>
  quietly(async () => {
    const { records, next } = await request(
      'GET',
      `/records/${table}?limit=${PAGE_SIZE}${after ? `&after=${after}` : ''}`,
    );
    const item = ({ id, fields }) => {
      const name = NAMES.map((key) => fields[key]).find(Boolean) ?? '';
      return h(
        'li',
        {},
        button(id, () => show(table, id), { class: 'link' }),
        h('span', { class: 'quiet' }, name),
      );
    };
    byId('record-list').replaceChildren(
      h('h3', {}, records.length === 0 ? `No ${table} records` : `${table} from ${records[0].id}`),
      h('ul', { tabindex: 0, 'aria-label': `Records of ${table}` }, records.map(item)),
      next ? button('Next page', () => list(table, next)) : '',
    );
  });

const show = (table, id) => quietly(async () => open(await request('GET', `/records/${table}/${id}`)));

/**
 * Inputs for the columns, those with a value first. `prefix` keeps names apart; the last value is kept to
 * find changes.
 */
function columnInputs(table, fields, prefix) {
  const { columns } = tables.find(({ name }) => name === table);
  const sorted = [
    ...columns.filter(({ name }) => fields[name] !== undefined),
    ...columns.filter(({ name }) => fields[name] === undefined),
  ];
  return sorted
    .filter(({ isStored, name }) => isStored || fields[name] !== undefined)
    .map(({ name, isStored }) => {
      const value = fields[name] ?? '';
      const isFixed = !isStored || name === 'id' || name === 'uniquekey';
      return label(
        name,
        input(`${prefix}${name}`, {
          value,
          'data-was': value,
          readonly: isFixed,
          title: isFixed ? 'computed' : undefined,
        }),
      );
    });
}

/** The values that a person changed below this prefix, by column. */
function changesIn(form, prefix) {
  const changed = [...form.elements].filter(
    (each) =>
      each.dataset.was !== undefined && each.name.startsWith(prefix) && each.value !== each.dataset.was,
  );
  return Object.fromEntries(
    changed.map((each) => [each.name.slice(prefix.length), each.value === '' ? null : each.value]),
  );
}

function open({ table, id, fields, lines }) {
  const { isEditable } = tables.find(({ name }) => name === table);
  const inputs = columnInputs(table, fields, 'header:');
  const filled = inputs.filter((each) => each.querySelector('input').value !== '');
  const lineParts = (lines ?? []).map(({ line, fields: values }) =>
    h(
      'details',
      {},
      h(
        'summary',
        {},
        `Line ${line}: ${values.memo ?? ''} ${values.quantity ?? ''} × ${values.rate ?? ''} = ${values.netamount ?? ''}`,
      ),
      h('div', { class: 'form-table' }, columnInputs('transactionline', values, `line ${line}:`)),
    ),
  );
  const form = h(
    'form',
    {},
    h('h3', {}, `${table} ${id}`),
    h('div', { class: 'form-table' }, filled),
    h(
      'details',
      {},
      h('summary', {}, 'Empty columns'),
      h(
        'div',
        { class: 'form-table' },
        inputs.filter((each) => !filled.includes(each)),
      ),
    ),
    ...lineParts,
    isEditable ? actions(table, id) : h('p', { class: 'quiet' }, 'These rows are edited with their records.'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { touch } = readValues(form);
    const changedLines = (lines ?? [])
      .map(({ line }) => ({ line, fields: changesIn(form, `line ${line}:`) }))
      .filter((each) => Object.keys(each.fields).length > 0);
    const body = {
      fields: changesIn(form, 'header:'),
      touch,
      ...(changedLines.length > 0 && { lines: changedLines }),
    };
    act(async () => open(await request('PATCH', `/records/${table}/${id}`, body)), 'The record is changed.');
  });
  byId('record').replaceChildren(form);
}

function actions(table, id) {
  const listed = check('listed', 'with an entry in the list of deletions', { checked: true });
  const remove = async () => {
    await request('DELETE', `/records/${table}/${id}?listed=${listed.querySelector('input').checked}`);
    byId('record').replaceChildren(h('p', {}, `${table} ${id} is removed.`));
  };
  return h(
    'div',
    { class: 'row' },
    label(
      'Modification time that moves',
      select('touch', [option('header'), option('lines'), option('none')]),
    ),
    h('button', { class: 'strong' }, 'Save changes'),
    button('Copy', () =>
      act(async () => open(await request('POST', `/records/${table}`, { like: id })), 'The copy is created.'),
    ),
    button('Remove', () => act(remove, 'The record is removed. It can be restored by its id.'), {
      class: 'danger',
    }),
    listed,
  );
}
