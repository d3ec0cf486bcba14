// Custom fields: adds, changes and removes them.
import { request } from './api.js';
import { button, byId, h, input, label, option, readValues, renderOnChange, select } from './dom.js';

const TYPES = [
  ...[
    'text',
    'textarea',
    'longtext',
    'email',
    'phone',
    'url',
    'integer',
    'number',
    'currency',
    'percent',
    'boolean',
    'date',
    'datetime',
  ],
  ...['list', 'multiselect', 'reference'],
];
const TARGETS = ['customer', 'vendor', 'employee', 'contact', 'item', 'transaction'];
const hasEntries = (type) => type === 'list' || type === 'multiselect';
const PREFIXES = {
  transaction: 'custbody_',
  transactionline: 'custcol_',
  customer: 'custentity_',
  item: 'custitem_',
  vendor: 'custentity_',
  employee: 'custentity_',
  contact: 'custentity_',
};

export function setUpFields(act) {
  const form = byId('field-form');
  const name = input('name', { value: 'custbody_', required: true });
  const values = label('Entries, with commas', input('values'));
  const target = label(
    'Refers to',
    select(
      'target',
      TARGETS.map((each) => option(each)),
    ),
  );
  values.hidden = true;
  target.hidden = true;
  const table = select(
    'table',
    Object.keys(PREFIXES).map((each) => option(each)),
    {
      onchange: () => {
        name.value = PREFIXES[table.value];
      },
    },
  );
  const type = select(
    'type',
    TYPES.map((each) => option(each)),
    {
      onchange: () => {
        values.hidden = !hasEntries(type.value);
        target.hidden = type.value !== 'reference';
      },
    },
  );
  form.append(
    label('Table', table),
    label('Name', name),
    label('Label', input('label', { required: true })),
    label('Type', type),
    values,
    target,
    h('button', { class: 'strong' }, 'Add field'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { values: entries, target: referred, ...field } = readValues(form);
    const texts = entries
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean);
    const more = {
      ...(hasEntries(field.type) && { values: texts }),
      ...(field.type === 'reference' && { target: referred }),
    };
    act(() => request('POST', '/fields', { ...field, ...more }), `${field.name} is added.`);
  });
}

export function showFields({ fields }, act) {
  renderOnChange(byId('fields'), fields, () => {
    if (fields.length === 0) return h('p', { class: 'quiet' }, 'There are no custom fields.');
    return h(
      'ul',
      {},
      fields.map((field) => {
        const path = `/fields/${field.table}/${field.name}`;
        const change = (body) => act(() => request('PATCH', path, body), `${field.name} is changed.`);
        const type = select(
          'type',
          TYPES.map((each) => option(each)),
          { 'aria-label': `Type of ${field.name}`, onchange: () => change({ type: type.value }) },
        );
        type.value = field.type;
        const title = input('label', {
          value: field.label,
          'aria-label': `Label of ${field.name}`,
          class: 'short',
          onchange: () => change({ label: title.value }),
        });
        const remove = () => act(() => request('DELETE', path), `${field.name} is gone, with its values.`);
        return h(
          'li',
          {},
          h('code', {}, `${field.table}.${field.name}`),
          h(
            'span',
            {},
            title,
            ' ',
            type,
            ' ',
            button('Remove', remove, { class: 'danger', 'aria-label': `Remove ${field.name}` }),
          ),
        );
      }),
    );
  });
}
