// One operation: its responses, its parameters, and next to them the request as sample code, ready to be
// sent.
import { make } from './dom.js';
import { showText } from './json-text.js';
import { phrase, prose } from './prose.js';
import { requestForm } from './request-form.js';
import { requestPanel } from './request-panel.js';

const exampleBlock = (example, label) => {
  const body = make(
    'pre',
    { class: 'body', tabindex: 0, role: 'group', 'aria-label': label },
    showText(JSON.stringify(example), true).nodes,
  );
  return make('div', { class: 'example' }, body);
};

function responseDetails({ status, description, headers, content }) {
  return make(
    'details',
    { class: 'response' },
    make(
      'summary',
      {},
      make('span', { class: /^2/.test(status) ? 'code good' : 'code' }, status),
      ' ',
      make('span', {}, phrase(description)),
    ),
    headers.length > 0 &&
      make(
        'details',
        { class: 'headers' },
        make('summary', {}, `${headers.length} headers`),
        make(
          'dl',
          {},
          headers.map(({ name, description: about }) =>
            make('div', {}, make('dt', {}, name), make('dd', {}, phrase(about))),
          ),
        ),
      ),
    content.map(({ type, example }) => [
      make('p', { class: 'hint' }, make('code', {}, type)),
      example !== undefined &&
        (typeof example === 'string'
          ? make('pre', { class: 'body', tabindex: 0 }, example)
          : exampleBlock(example, `Example of ${status}`)),
    ]),
  );
}

/**
 * The section of one operation, below the heading of its resource. `responseFields` is null when they are the
 * resource's own.
 */
export function operationSection(operation, access, { description, responseFields }) {
  let panel;
  const form = requestForm(operation, () => panel.update());
  panel = requestPanel(operation, form, access);
  form.element.addEventListener('input', (event) => event.target.removeAttribute('aria-invalid'));
  return make(
    'section',
    { class: 'operation', id: `at-${operation.id}`, 'aria-labelledby': `title-${operation.id}` },
    make('h3', { id: `title-${operation.id}`, tabindex: -1 }, operation.summary),
    make(
      'p',
      { class: 'path' },
      make('span', { class: `method ${operation.method.toLowerCase()}` }, operation.method),
      make('code', {}, operation.path),
    ),
    operation.deprecated && make('p', { class: 'notice' }, 'This operation is deprecated.'),
    description !== '' && prose(description, 4),
    make(
      'div',
      { class: 'columns' },
      make('div', { class: 'panel-side' }, panel.element),
      form.element,
      make(
        'div',
        { class: 'about' },
        responseFields,
        make(
          'section',
          { class: 'responses' },
          make('h4', {}, 'Responses'),
          operation.responses.map(responseDetails),
        ),
      ),
    ),
  );
}
