// One operation: what it answers, its parameters, and beside them the request as a program's lines, ready to be sent.
import { readCredential, showProblem } from '../access.js';
import { answerPlace } from './answer.js';
import { button, copyButton, freshId, make } from './dom.js';
import { showText } from './json-text.js';
import { phrase, prose } from './prose.js';
import { requestForm } from './request-form.js';
import { isJson, samples } from './samples.js';

let language = Object.keys(samples)[0];

/** Ready-made requests from the version's own fields. */
export function presetsOf(operation) {
  const named = (name) => operation.parameters.find((parameter) => parameter.name === name);
  const size = named('pageSize') === undefined ? {} : { pageSize: 5 };
  const isTimed = (name) => operation.fields.some((field) => field.name === name && /^date/.test(field.format));
  const sortable = named('sort')?.options ?? [];
  const dated = sortable.find(isTimed) ?? sortable[0];
  const presets = [];
  if (named('pageSize') !== undefined) presets.push(['First five', size]);
  if (dated !== undefined) presets.push([isTimed(dated) ? 'Newest first' : `By ${dated}`, { ...size, sort: dated, order: 'desc' }]);
  const filter = operation.parameters.find(({ name }) => /_(after|gte|contains|starts_with)$/.test(name) && name !== 'id');
  if (filter !== undefined) presets.push([`Filter by ${filter.name}`, { ...size, [filter.name]: filter.example || 'text' }]);
  const chosen = (named('fields')?.options ?? []).filter((name) => name !== 'id').slice(0, 3);
  if (chosen.length > 0) presets.push(['Few fields', { ...size, fields: chosen }]);
  return presets;
}

const exampleBlock = (example, label) => {
  const body = make(
    'pre',
    { class: 'body', tabindex: 0, role: 'region', 'aria-label': label },
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
          headers.map(({ name, description: about }) => make('div', {}, make('dt', {}, name), make('dd', {}, phrase(about)))),
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

/** A choice of which one is taken; arrow keys move within it, as in any group of radio buttons. */
function languageChoice(onChoice) {
  const name = freshId('language');
  return make(
    'fieldset',
    { class: 'segments' },
    make('legend', { class: 'unseen' }, 'Language of the example'),
    Object.keys(samples).map((each) =>
      make(
        'label',
        {},
        make('input', { type: 'radio', name, value: each, checked: each === language, onchange: () => onChoice(each) }),
        make('span', {}, each),
      ),
    ),
  );
}

function keyForm(access) {
  const id = freshId('key');
  const input = make('input', {
    id,
    class: 'value masked',
    type: 'text',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    placeholder: 'psk_…',
  });
  const problem = make('div', { class: 'problem', role: 'alert', hidden: true });
  const use = () => {
    try {
      access.useKey(readCredential(id, 'API key'));
    } catch (error) {
      showProblem(error, problem);
    }
  };
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') use();
  });
  return make(
    'div',
    { class: 'key-form' },
    problem,
    make('label', { for: id }, 'API key'),
    make('p', { class: 'hint' }, 'Records are read with a key, as your programs do. It stays in the memory of this page.'),
    make('div', { class: 'row' }, input, button('Use this key', use, { class: 'action' })),
  );
}

/** The panel beside the parameters. */
function requestPanel(operation, form, access) {
  const code = make('pre', { class: 'body code-sample', tabindex: 0, role: 'region', 'aria-label': 'Example of the request' });
  const types = operation.media.map(({ type }) => type);
  const mediaId = freshId('media');
  const media =
    types.length > 1 &&
    make(
      'select',
      { id: mediaId, onchange: () => update() },
      types.map((type) => make('option', { value: type }, type)),
    );
  const request = () => {
    const { path, headers } = form.read();
    return {
      url: `${location.origin}${access.serverPath}${path}`,
      path: operation.path,
      accept: media === false ? (types[0] ?? 'application/json') : media.value,
      tenant: access.tenant,
      headers,
    };
  };
  const update = () => {
    form.setWhole(media !== false && !isJson(media.value));
    code.textContent = samples[language](request());
  };
  const headersOf = (own) => ({ ...Object.fromEntries(own), ...access.headers() });
  const answer = answerPlace({
    fileName:
      operation.path
        .split('/')
        .filter((step) => step !== '' && !step.startsWith('{'))
        .at(-1) ?? 'answer',
    follow: (url) => send(url),
    again: operation.parameters.some(({ name }) => name === 'If-None-Match')
      ? (tag, url) => send(url, [['If-None-Match', tag]])
      : undefined,
  });
  const sendButton = button('Send', () => send(), { class: 'action' });
  const stop = button('Stop', () => answer.cancel(), { class: 'small', hidden: true });
  async function send(url, extra = []) {
    const missing = form.firstMissing();
    if (missing !== undefined) {
      missing.setAttribute('aria-invalid', 'true');
      return missing.focus();
    }
    const given = request();
    const target = url ?? new URL(given.url);
    if (target.origin !== location.origin || !target.pathname.startsWith(`${access.serverPath}/`)) return;
    stop.hidden = false;
    await answer.send({ url: target, accept: given.accept, headers: headersOf([...given.headers, ...extra]) });
    stop.hidden = true;
  }
  const actions = make('div', { class: 'row actions' });
  const showActions = () => {
    const how = access.isDraft
      ? [make('p', { class: 'hint' }, 'A draft answers no requests until it is published.')]
      : access.hasKey()
        ? [sendButton, stop]
        : [keyForm(access)];
    actions.replaceChildren(...how);
  };
  access.onChange(() => {
    showActions();
    update();
  });
  showActions();
  const presets = presetsOf(operation);
  const element = make(
    'div',
    { class: 'panel-body' },
    make('h4', {}, 'Try it'),
    presets.length > 0 &&
      make(
        'div',
        { class: 'row presets', role: 'group', 'aria-label': 'Ready-made requests' },
        presets.map(([label, values]) => button(label, () => form.fill(values), { class: 'small' })),
      ),
    media !== false && make('div', { class: 'row' }, make('label', { for: mediaId }, 'Answer as'), media),
    make(
      'div',
      { class: 'row' },
      languageChoice((chosen) => {
        language = chosen;
        update();
      }),
      copyButton(
        'Copy the example',
        () => code.textContent,
        () => code,
      ),
    ),
    code,
    actions,
    answer.element,
  );
  return { element, update };
}

/** The section of one operation, below the heading of its resource. `fieldsOfAnswer` is there where they are not the resource's. */
export function operationSection(operation, access, { description, fieldsOfAnswer }) {
  let panel;
  const form = requestForm(operation, () => panel.update());
  panel = requestPanel(operation, form, access);
  panel.update();
  form.element.addEventListener('input', (event) => event.target.removeAttribute('aria-invalid'));
  return make(
    'section',
    { class: 'operation', id: `at-${operation.id}`, 'aria-labelledby': `title-${operation.id}` },
    make('h3', { id: `title-${operation.id}`, tabindex: -1 }, operation.summary),
    make('p', { class: 'path' }, make('span', { class: 'method' }, 'GET'), make('code', {}, operation.path)),
    operation.deprecated && make('p', { class: 'notice' }, 'This operation is deprecated.'),
    description !== '' && prose(description, 4),
    make(
      'div',
      { class: 'columns' },
      form.element,
      make('div', { class: 'panel-side' }, panel.element),
      make(
        'div',
        { class: 'about' },
        fieldsOfAnswer,
        make('section', { class: 'responses' }, make('h4', {}, 'Answers'), operation.responses.map(responseDetails)),
      ),
    ),
  );
}
