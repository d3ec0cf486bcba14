// Puts faults: one by a click on a common one, or with a form. Putting replaces the whole list, so each
// change sends it again.
import { request } from './api.js';
import { button, byId, h, input, label, option, readValues, renderOnChange, select } from './dom.js';

const KINDS = ['rows', 'count', 'metadata', 'token', 'record'];

/**
 * Effect → its name for people, and how its value is entered: a fixed value, a number with a default, a
 * column, or a choice.
 */
const EFFECTS = {
  status: { title: 'Fail with status', choices: [429, 401, 403, 500, 503] },
  html: { title: 'Answer with an HTML page', fixed: true },
  cut: { title: 'Close the connection after bytes', number: 100 },
  delayMs: { title: 'Answer late, by milliseconds', number: 3000 },
  repeatPage: { title: 'Repeat the previous page', fixed: true },
  stalePage: { title: 'Show the books before the last edit', fixed: true },
  countOffset: { title: 'Count wrongly, by', number: 1 },
  hasMore: { title: 'Say that a page is the last one', fixed: false },
  duplicateRow: { title: 'Give a row twice', fixed: true },
  nullColumn: { title: 'Empty a column', column: 'foreigntotal' },
  dropEvery: { title: 'Leave out every Nth row', number: 100 },
  dropWhere: { title: 'Leave out rows where', condition: 'linesequencenumber=2' },
};

const PRESETS = [
  ['Outage', { on: {}, status: 503 }],
  ['Too many requests, 5 times', { on: {}, times: 5, status: 429 }],
  ['Slow queries', { on: { kind: 'rows' }, delayMs: 3000 }],
  ['Lose every 100th transaction', { on: { table: 'transaction', kind: 'rows' }, dropRows: { every: 100 } }],
  [
    'Lose second lines',
    { on: { table: 'transactionline', kind: 'rows' }, dropRows: { where: { linesequencenumber: 2 } } },
  ],
  ['Lists end early', { on: { kind: 'rows' }, hasMore: false }],
  ['Counts are off by one', { on: { kind: 'count' }, countOffset: 1 }],
  ['Repeat a page once', { on: { kind: 'rows' }, times: 1, repeatPage: true }],
];

let current = [];
const put = (faults) => request('PUT', '/faults', faults);

function toEffect({ effect, value }) {
  const { fixed, number, condition } = EFFECTS[effect];
  if (fixed !== undefined) return { [effect]: fixed };
  if (effect === 'dropEvery') return { dropRows: { every: Number(value) } };
  if (condition) {
    const pairs = value.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
    return {
      dropRows: {
        where: Object.fromEntries(pairs.map(([name, text = '']) => [name, text === '' ? null : text])),
      },
    };
  }
  return { [effect]: number !== undefined || effect === 'status' ? Number(value) : value };
}

/** The field for the effect's value. */
function valueField(effect) {
  const { choices, number, column, condition } = EFFECTS[effect];
  if (choices)
    return label(
      'Status',
      select(
        'value',
        choices.map((choice) => option(choice)),
      ),
    );
  if (number !== undefined)
    return label('Number', input('value', { type: 'number', value: number, required: true }));
  if (column) return label('Column', input('value', { value: column, class: 'short', required: true }));
  return condition ? label('column=value, …', input('value', { value: condition, required: true })) : '';
}

export function setUpFaults(tables, act) {
  byId('presets').append(
    ...PRESETS.map(([title, fault]) =>
      button(title, () => act(() => put([...current, fault]), `Put: ${title}.`)),
    ),
  );
  const holder = h('span', {});
  const effect = select(
    'effect',
    Object.entries(EFFECTS).map(([name, { title }]) => option(name, title)),
    {
      onchange: () => holder.replaceChildren(valueField(effect.value)),
    },
  );
  holder.append(valueField(effect.value));
  const form = byId('fault-form');
  form.append(
    label('Effect', effect),
    holder,
    label('On table', select('table', [option('', 'any'), ...tables.map(({ name }) => option(name))])),
    label('On answers of kind', select('kind', [option('', 'any'), ...KINDS.map((kind) => option(kind))])),
    label('Times', input('times', { type: 'number', min: 1, placeholder: 'always' })),
    h('button', { class: 'strong' }, 'Put fault'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { table, kind, times, ...rest } = readValues(form);
    const fault = {
      on: { ...(table && { table }), ...(kind && { kind }) },
      ...(times && { times: Number(times) }),
      ...toEffect(rest),
    };
    act(() => put([...current, fault]), 'The fault is put.');
  });
}

function describe({ on, times, ...effect }) {
  const where = [on.kind ?? 'all answers', ...(on.table ? [`of ${on.table}`] : [])].join(' ');
  return `${JSON.stringify(effect).slice(1, -1).replaceAll('"', '')} on ${where}${times ? `, ${times} times` : ''}`;
}

export function showFaults({ faults, hits }, act) {
  current = faults;
  renderOnChange(byId('faults'), [faults, hits], () => {
    if (faults.length === 0) return h('p', { class: 'quiet' }, 'No faults are put.');
    const item = (fault, i) => {
      const text = describe(fault);
      const remove = () => act(() => put(current.filter((_, at) => at !== i)), 'The fault is removed.');
      return h(
        'li',
        {},
        h('code', {}, text),
        h('span', {}, `met ${hits[i]} `, button('Remove', remove, { 'aria-label': `Remove ${text}` })),
      );
    };
    return [
      h('ul', {}, faults.map(item)),
      button('Remove all faults', () => act(() => put([]), 'There are no faults.')),
    ];
  });
}
