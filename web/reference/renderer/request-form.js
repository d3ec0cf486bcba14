// The parameters of one operation: each with its meaning and an input for its value, and the body as text.
// Filters are grouped by their field.
import { freshId, make } from './dom.js';
import { fieldsBlock } from './fields.js';
import { phrase } from './prose.js';

const splitSentences = (text) => text.split(/(?<=[.!?])\s+/);
/** Long sentences that filters of several kinds repeat; they are shown once, above all filters. */
function repeatedSentences(parameters) {
  const kinds = new Map();
  for (const { name, description, field } of parameters)
    for (const sentence of splitSentences(description)) {
      if (!kinds.has(sentence)) kinds.set(sentence, new Set());
      kinds.get(sentence).add(toSuffix(name, field));
    }
  return [...kinds]
    .filter(([sentence, { size }]) => size > 1 && sentence.length > 60)
    .map(([sentence]) => sentence);
}

function choices(parameter, attributes) {
  return make(
    'select',
    attributes,
    make('option', { value: '' }, '–'),
    parameter.options.map((option) => make('option', { value: String(option) }, String(option))),
  );
}

/** A multiple choice from a known list, such as field names. */
function manyChoices(parameter, { id, ...attributes }) {
  const boxes = parameter.options.map((option) =>
    make(
      'label',
      { class: 'choice' },
      make('input', { type: 'checkbox', value: String(option) }),
      make('code', {}, String(option)),
    ),
  );
  return make(
    'fieldset',
    { id, class: 'choices', ...attributes },
    make('legend', { class: 'unseen' }, parameter.name),
    boxes,
  );
}

function control(parameter, attributes) {
  const { isList, isRepeated, isChoice, options, example } = parameter;
  if (isList && isChoice) return manyChoices(parameter, attributes);
  if (options.length > 0 && (!isList || options.length === 2)) return choices(parameter, attributes);
  const shared = {
    ...attributes,
    class: 'value',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    required: parameter.required,
  };
  if (isRepeated)
    return make('textarea', {
      ...shared,
      rows: 1,
      placeholder: example === '' ? 'one per line' : `${example} – one per line`,
    });
  return make('input', { ...shared, type: 'text', placeholder: example });
}

const readControl = (element, { isRepeated }) => {
  if (element.disabled) return [];
  if (element.matches('fieldset')) return [...element.querySelectorAll(':checked')].map(({ value }) => value);
  const values = isRepeated ? element.value.split('\n') : [element.value];
  return values.map((value) => value.trim()).filter((value) => value !== '');
};

function fillControl(element, values) {
  if (element.matches('fieldset'))
    for (const box of element.querySelectorAll('input')) box.checked = values.includes(box.value);
  else element.value = values.join('\n');
}

/** A parameter's row with its input. `sharedSentences` are shown elsewhere. */
function parameterRow(parameter, sharedSentences) {
  const id = freshId('parameter');
  const own = splitSentences(parameter.description).filter((sentence) => !sharedSentences.includes(sentence));
  const about = own.join(' ');
  const element = control(parameter, { id, 'aria-describedby': `${id}-about` });
  const name = make('code', { class: 'name' }, parameter.name);
  const row = make(
    'div',
    { class: 'parameter' },
    make(
      'div',
      {},
      element.matches('fieldset') ? name : make('label', { for: id }, name),
      make('span', { class: 'type' }, parameter.isList ? `${parameter.type}, several` : parameter.type),
      parameter.required && make('span', { class: 'tag strong' }, 'required'),
      parameter.deprecated && make('span', { class: 'tag strong' }, 'deprecated'),
      make(
        'p',
        { id: `${id}-about`, class: 'hint' },
        phrase(about),
        parameter.bounds !== '' && ` (${parameter.bounds})`,
      ),
    ),
    parameter.options.length > 2 && element.matches('fieldset')
      ? make('details', { class: 'chooser' }, make('summary', {}, 'Choose'), element)
      : element,
  );
  return { parameter, element, row };
}

const toSuffix = (name, field) => (name === field.name ? 'equals' : name.slice(field.name.length));

function filterGroup(field, rows) {
  const used = make('span', { class: 'used', hidden: true });
  const details = make(
    'details',
    { class: 'filter' },
    make(
      'summary',
      {},
      make('code', { class: 'name' }, field.name),
      make('span', { class: 'type' }, field.type),
      make(
        'span',
        { class: 'operators' },
        rows.map(({ parameter }) => toSuffix(parameter.name, field)).join(' · '),
      ),
      used,
    ),
    rows.map(({ row }) => row),
  );
  const showUse = () => {
    const count = rows.filter(({ element, parameter }) => readControl(element, parameter).length > 0).length;
    used.textContent = `${count} set`;
    used.hidden = count === 0;
    if (count > 0) details.open = true;
  };
  return { details, showUse };
}

function filtersSection(rows, sharedSentences) {
  const byField = Map.groupBy(rows, ({ parameter }) => parameter.field);
  const groups = [...byField].map(([field, own]) => filterGroup(field, own));
  const opener = make('button', { type: 'button', class: 'small', 'aria-pressed': 'false' }, 'Show all');
  opener.addEventListener('click', () => {
    const open = opener.getAttribute('aria-pressed') === 'false';
    for (const { details } of groups) details.open = open;
    opener.setAttribute('aria-pressed', String(open));
  });
  const section = make(
    'section',
    { class: 'parameters' },
    make(
      'div',
      { class: 'row' },
      make('h4', {}, `Filters by ${groups.length === 1 ? 'one field' : `${groups.length} fields`}`),
      opener,
    ),
    sharedSentences.length > 0 && make('p', { class: 'hint' }, phrase(sharedSentences.join(' '))),
    groups.map(({ details }) => details),
  );
  const showUse = () => {
    for (const group of groups) group.showUse();
  };
  return { section, showUse };
}

const plainSection = (title, rows) =>
  rows.length > 0 &&
  make(
    'section',
    { class: 'parameters' },
    make('h4', {}, title),
    rows.map(({ row }) => row),
  );

const manyFields = 20;

/** The body as JSON text that starts with the example, and the meaning of its fields. */
function bodySection({ text, fields, required }) {
  const id = freshId('body');
  const editor = make(
    'textarea',
    {
      id,
      class: 'value',
      rows: Math.min(text.split('\n').length, 20),
      autocapitalize: 'off',
      spellcheck: 'false',
      required,
    },
    text,
  );
  const section = make(
    'section',
    { class: 'parameters request-body' },
    make('h4', {}, make('label', { for: id }, 'Request body')),
    editor,
    fieldsBlock('Body', fields, { isOpen: fields.length <= manyFields, isInput: true }),
  );
  return { section, editor, read: () => editor.value.trim() || undefined };
}

const firstMissing = (rows, body) =>
  rows.find(({ parameter, element }) => parameter.required && readControl(element, parameter).length === 0)
    ?.element ?? (body?.editor.required && body.read() === undefined ? body.editor : undefined);

const pageParameters = new Set(['page', 'pageSize']);

const encodeList = (values) => values.map(encodeURIComponent).join(',');

function pathWithQuery(operation, rows) {
  let path = operation.path;
  const query = [];
  for (const { parameter, element } of rows) {
    const values = readControl(element, parameter);
    if (values.length === 0) continue;
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeList(values));
    if (parameter.in !== 'query') continue;
    const name = encodeURIComponent(parameter.name);
    if (parameter.isRepeated) query.push(...values.map((value) => `${name}=${encodeURIComponent(value)}`));
    else query.push(`${name}=${encodeList(values)}`);
  }
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/**
 * Returns `{element, read, fill, setWhole, firstMissing}`. `read` returns the path with its query, the
 * headers and the text of the body; `fill` sets values by name and clears the rest except for the path;
 * `firstMissing` returns the first input of a required value that is empty.
 */
export function requestForm(operation, onChange) {
  const isFilter = ({ field }) => field !== undefined;
  const sharedSentences = repeatedSentences(operation.parameters.filter(isFilter));
  const rows = operation.parameters.map((parameter) =>
    parameterRow(parameter, isFilter(parameter) ? sharedSentences : []),
  );
  const rowsIn = (place) => rows.filter(({ parameter }) => parameter.in === place && !isFilter(parameter));
  const filterRows = rows.filter(({ parameter }) => isFilter(parameter));
  const filters = filterRows.length === 0 ? undefined : filtersSection(filterRows, sharedSentences);
  const body = operation.body && bodySection(operation.body);
  const element = make(
    'div',
    { class: 'request-form' },
    plainSection('Path', rowsIn('path')),
    plainSection('Query', rowsIn('query')),
    filters?.section,
    plainSection('Headers', rowsIn('header')),
    body?.section,
  );
  const onInput = () => {
    filters?.showUse();
    onChange();
  };
  element.addEventListener('input', onInput);
  return {
    element,
    read: () => ({
      path: pathWithQuery(operation, rows),
      headers: rowsIn('header').flatMap(({ element, parameter }) =>
        readControl(element, parameter).map((value) => [parameter.name, value]),
      ),
      body: body?.read(),
    }),
    fill(values) {
      for (const { element, parameter } of rows)
        if (parameter.in !== 'path') fillControl(element, [values[parameter.name] ?? []].flat().map(String));
      onInput();
    },
    /** A complete list has no pages, so the parameters that choose a page aren't sent. */
    setWhole(isWhole) {
      for (const { element, parameter } of rows)
        if (pageParameters.has(parameter.name)) element.disabled = isWhole;
    },
    firstMissing: () => firstMissing(rows, body),
  };
}
