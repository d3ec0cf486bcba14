// The fields of a schema as a list: name, type and meaning.
import { make } from './dom.js';
import { phrase } from './prose.js';

/** How the list operation can use a field: sorting and filters. */
function listUses(name, operation) {
  const parameters = operation?.parameters ?? [];
  const sortable = parameters.find((parameter) => parameter.name === 'sort')?.options.includes(name) === true;
  const filters = parameters.filter(({ field }) => field?.name === name).length;
  return [sortable && 'sort', filters > 0 && (filters === 1 ? '1 filter' : `${filters} filters`)].filter(
    (text) => text,
  );
}

const meaning = ({ description, bounds }, isInput) => {
  const limits = isInput ? bounds : '';
  const shown = limits === '' || description === '' ? limits : ` (${limits})`;
  return (
    (description !== '' || shown !== '') &&
    make('span', { class: 'words' }, description !== '' && phrase(description), shown)
  );
};

function fieldList(fields, { operation, isInput }) {
  return make(
    'dl',
    { class: 'fields' },
    fields.map((field) =>
      make(
        'div',
        { class: field.depth > 0 ? 'inner' : null },
        make('dt', {}, make('code', { class: 'name' }, field.name)),
        make(
          'dd',
          {},
          make('span', { class: 'type' }, field.type, field.isNullable && ' or null'),
          isInput && field.required && make('span', { class: 'tag strong' }, 'required'),
          listUses(field.name, operation).map((text) => make('span', { class: 'tag' }, text)),
          meaning(field, isInput),
          field.options.length > 0 &&
            make(
              'span',
              { class: 'words' },
              field.options.map((option) => make('code', {}, String(option))),
            ),
        ),
      ),
    ),
  );
}

/**
 * A collapsible block of fields. `operation`: the list whose sorting and filters are shown with them;
 * `isInput`: with limits, and which are required.
 */
export function fieldsBlock(title, fields, { isOpen, ...options }) {
  return (
    fields.length > 0 &&
    make(
      'details',
      { class: 'fields-block', open: isOpen },
      make('summary', {}, `${title}: ${fields.length === 1 ? '1 field' : `${fields.length} fields`}`),
      fieldList(fields, options),
    )
  );
}
