// The panel next to an operation's parameters: example requests, the request as sample code, and the button
// that sends it.
import { readCredential, showProblem } from '../access.js';
import { showCode } from './code-text.js';
import { button, copyButton, freshId, make } from './dom.js';
import { responseView } from './response-view.js';
import { isJson, samples } from './samples.js';

/** The language of the sample code, the same for all operations. */
let language = Object.keys(samples)[0];

/** Example requests, built from the operation's own fields. */
function choosePresets(operation) {
  const named = (name) => operation.parameters.find((parameter) => parameter.name === name);
  const size = named('pageSize') === undefined ? {} : { pageSize: 5 };
  const isTimed = (name) =>
    operation.fields.some((field) => field.name === name && /^date/.test(field.format));
  const sortable = named('order') === undefined ? [] : (named('sort')?.options ?? []);
  const dated = sortable.find(isTimed) ?? sortable[0];
  const presets = [];
  if (named('pageSize') !== undefined) presets.push(['First five', size]);
  if (dated !== undefined)
    presets.push([isTimed(dated) ? 'Newest first' : `By ${dated}`, { ...size, sort: dated, order: 'desc' }]);
  const filter = operation.parameters.find(
    ({ name, field }) => field !== undefined && /_(after|gte|contains|starts_with)$/.test(name),
  );
  if (filter !== undefined)
    presets.push([`Filter by ${filter.name}`, { ...size, [filter.name]: filter.example || 'text' }]);
  const related = named('expand')?.options.slice(0, 1) ?? [];
  if (related.length > 0) presets.push([`With ${related[0]}`, { ...size, expand: related }]);
  const groups = named('by')?.options ?? [];
  // Counts work for every group; sums may need one for the currency.
  for (const isPeriod of [false, true]) {
    const by = groups.find((name) => (isPeriod ? name.endsWith('.month') : !name.includes('.')));
    if (by !== undefined) presets.push([`By ${by}`, { by: [by], count: true }]);
  }
  const chosen = (named('fields')?.options ?? []).filter((name) => name !== 'id').slice(0, 3);
  if (chosen.length > 0) presets.push(['Few fields', { ...size, fields: chosen }]);
  return presets;
}

/** The choice of the language: a group of radio buttons, so arrow keys move within it. */
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
        make('input', {
          type: 'radio',
          name,
          value: each,
          checked: each === language,
          onchange: () => onChoice(each),
        }),
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
    make(
      'p',
      { class: 'hint' },
      "Requests need an API key, as your programs do. It stays in this page's memory only.",
    ),
    make('div', { class: 'row' }, input, button('Use this key', use, { class: 'action' })),
  );
}

/** The media type to request; a choice when there are several. */
function mediaChoice(types, onChoice) {
  if (types.length < 2) return { row: null, read: () => types[0] ?? 'application/json' };
  const id = freshId('media');
  const select = make(
    'select',
    { id, onchange: onChoice },
    types.map((type) => make('option', { value: type }, type)),
  );
  return {
    row: make('div', { class: 'row' }, make('label', { for: id }, 'Response format'), select),
    read: () => select.value,
  };
}

function presetRow(operation, form) {
  const presets = choosePresets(operation);
  const buttons = presets.map(([label, values]) =>
    button(label, () => form.fill(values), { class: 'small' }),
  );
  return (
    presets.length > 0 &&
    make('div', { class: 'row presets', role: 'group', 'aria-label': 'Example requests' }, buttons)
  );
}

/** The request of a form: what samples show, and what is sent together with the credentials. */
export function createRequest({ method, path, reads }, { serverPath, tenant }, form, accept) {
  const url = `${location.origin}${serverPath}${form.path}`;
  return { method, url, path, accept, tenant, headers: form.headers, body: form.body, reads };
}

/** The request as sample code, which assistive technology calls `label`: `{parts, update}`. */
export function sampleView(label, readRequest) {
  const code = make('pre', { class: 'body code-sample', tabindex: 0, role: 'group', 'aria-label': label });
  const update = () => {
    code.replaceChildren(...showCode(samples[language](readRequest())));
  };
  const choice = languageChoice((chosen) => {
    language = chosen;
    update();
  });
  const copy = copyButton(
    'Copy the example',
    () => code.textContent,
    () => code,
  );
  return { parts: [make('div', { class: 'row' }, choice, copy), code], update };
}

const lastStep = (path) =>
  path
    .split('/')
    .filter((step) => step !== '' && !step.startsWith('{'))
    .at(-1) ?? 'response';

/**
 * Sends the form's request when no required value is missing, and only to the described interface itself:
 * `{parts, show}`.
 */
function sender(operation, form, access, readRequest) {
  const takesTag = operation.parameters.some(({ name }) => name === 'If-None-Match');
  const response = responseView({
    fileName: lastStep(operation.path),
    unauthorized: access.unauthorized,
    onPage: (url) => send(url),
    onRepeat: takesTag ? (tag, url) => send(url, [['If-None-Match', tag]]) : undefined,
  });
  const stop = button('Stop', () => response.cancel(), { class: 'small', hidden: true });
  async function send(url, extra = []) {
    const missing = form.firstMissing();
    if (missing !== undefined) {
      missing.setAttribute('aria-invalid', 'true');
      return missing.focus();
    }
    const request = readRequest();
    const target = url ?? new URL(request.url);
    if (target.origin !== location.origin || !target.pathname.startsWith(`${access.serverPath}/`)) return;
    stop.hidden = false;
    const headers = { ...Object.fromEntries([...request.headers, ...extra]), ...access.headers() };
    await response.send({ ...request, url: target, headers, credentials: access.credentials() });
    stop.hidden = !response.isRunning();
  }
  const sendButton = button('Send', () => send(), { class: 'action' });
  const actions = make('div', { class: 'row actions' });
  const show = () => {
    if (access.isDraft)
      actions.replaceChildren(
        make('p', { class: 'hint' }, 'A draft serves no requests until it is published.'),
      );
    else if (access.canSend()) actions.replaceChildren(sendButton, stop);
    else actions.replaceChildren(keyForm(access));
  };
  return { parts: [actions, response.element], show };
}

/** The panel next to the parameters: `{element, update}`. Call `update` when the form has changed. */
export function requestPanel(operation, form, access) {
  const media = mediaChoice(operation.media, () => update());
  const readRequest = () => createRequest(operation, access, form.read(), media.read());
  const sample = sampleView('Example of the request', readRequest);
  const sending = sender(operation, form, access, readRequest);
  const update = () => {
    form.setWhole(media.row !== null && !isJson(media.read()));
    sample.update();
  };
  const showAll = () => {
    sending.show();
    update();
  };
  access.onChange(showAll);
  showAll();
  const element = make(
    'div',
    { class: 'panel-body' },
    make('h4', {}, 'Try it'),
    presetRow(operation, form),
    media.row,
    // A body makes the example long, and the button must be in view.
    operation.body === undefined ? [sample.parts, sending.parts] : [sending.parts, sample.parts],
  );
  return { element, update };
}
