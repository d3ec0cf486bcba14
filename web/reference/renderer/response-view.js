// Sends one request and shows its response. The request goes to this page's own origin with the credentials
// in use; nothing is cached. JSON is shown with its exact digits; anything else is saved as a file, however
// long it is.
import { button, copyButton, make } from './dom.js';
import { showText } from './json-text.js';
import { chooseExtension, isBinary, isJson } from './samples.js';

export function sizeText(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
const durationText = (ms) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

/** The same-origin URLs of a `Link` header, by relation. */
function parseLinks(header) {
  const found = [...(header ?? '').matchAll(/<([^>]*)>\s*;\s*rel="?([^",;]+)"?/g)];
  return new Map(
    found
      .map(([, target, rel]) => [rel, new URL(target, location.href)])
      .filter(([, url]) => url.origin === location.origin),
  );
}

function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const blobBytes = 8 << 20;

/** Collects a body of any length in blobs of 8 MiB, which the browser may keep on disk. */
async function collect(response, onProgress) {
  const reader = response.body.getReader();
  const blobs = [];
  let chunks = [];
  let waiting = 0;
  let bytes = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value);
    waiting += read.value.length;
    bytes += read.value.length;
    onProgress(bytes);
    if (waiting < blobBytes) continue;
    blobs.push(new Blob(chunks));
    chunks = [];
    waiting = 0;
  }
  return new Blob([...blobs, ...chunks], { type: response.headers.get('content-type') ?? '' });
}

const headerList = (headers) =>
  make(
    'details',
    { class: 'headers' },
    make('summary', {}, `${headers.length} headers`),
    make(
      'dl',
      {},
      headers.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))),
    ),
  );

function pagesText(text) {
  try {
    const { data, pagination } = JSON.parse(text);
    const { page, totalPages, total } = pagination;
    const records = total === 1 ? '1 record' : `${total.toLocaleString('en')} records`;
    if (total === 0) return 'No records match.';
    if (data.length === 0) return `Beyond the last page: ${records} on ${totalPages} pages.`;
    return `Page ${page} of ${totalPages}, ${records}`;
  } catch {
    return '';
  }
}

const relations = [
  ['first', 'First'],
  ['prev', 'Previous'],
  ['next', 'Next'],
  ['last', 'Last'],
];

function pageButtons(links, text, onPage) {
  const summary = pagesText(text);
  if (summary === '' && ![...links.keys()].some((rel) => rel === 'next' || rel === 'prev')) return null;
  return make(
    'div',
    { class: 'pages', role: 'group', 'aria-label': 'Pages of this response' },
    make('span', { class: 'where' }, summary),
    relations
      .filter(([rel]) => links.has(rel) || (summary !== '' && links.size > 0))
      .map(([rel, label]) =>
        button(label, () => onPage(links.get(rel)), { class: 'small', disabled: !links.has(rel) }),
      ),
  );
}

const hints = {
  304: 'Not modified: your copy is up to date.',
  503: 'The service is temporarily unavailable. Try again in a moment.',
};

/** The message of an error response; empty when it has none. */
function parseMessage(text) {
  try {
    return String(JSON.parse(text).error.message);
  } catch {
    return '';
  }
}

/**
 * The elements of a response body. Even when only a part is shown, the complete body can be copied and saved.
 */
function bodyParts(text, type, name) {
  if (text === '') return [];
  const { nodes, isCut } = showText(text, isJson(type));
  const body = make(
    'pre',
    { class: 'body', tabindex: 0, role: 'group', 'aria-label': 'Response body' },
    nodes,
  );
  const tools = make(
    'div',
    { class: 'row tools' },
    isCut && make('span', { class: 'hint' }, 'Too long to show completely.'),
    copyButton(
      'Copy the response',
      () => (text.length > 1_000_000 ? text : body.textContent),
      () => body,
    ),
    button('Save', () => saveFile(new Blob([text], { type }), name), {
      class: 'small',
      'aria-label': 'Save the response',
    }),
  );
  return [tools, body];
}

const statusLine = (response, startedMs, bytes) =>
  make(
    'p',
    { class: 'status' },
    make(
      'span',
      { class: response.ok ? 'code good' : response.status === 304 ? 'code' : 'code bad' },
      `${response.status} ${response.statusText}`.trim(),
    ),
    ` ${durationText(performance.now() - startedMs)} · ${sizeText(bytes)}`,
  );

async function showSaved({ status, rest, fileName }, response, type, startedMs) {
  // Outside the status element, so that a screen reader doesn't announce every chunk.
  const progress = make('p', {});
  rest.prepend(progress);
  const blob = await collect(response, (bytes) => {
    progress.textContent = `${sizeText(bytes)} received…`;
  });
  const name = `${fileName}.${chooseExtension(type)}`;
  saveFile(blob, name);
  status.replaceChildren(statusLine(response, startedMs, blob.size), make('p', {}, `Saved as ${name}.`));
  if (isBinary(type)) return progress.remove();
  const start = await blob.slice(0, 2_000).text();
  const lines = start.split('\n').slice(0, 5).join('\n');
  progress.replaceWith(
    make('pre', { class: 'body', tabindex: 0, role: 'group', 'aria-label': 'Start of the file' }, lines),
  );
}

async function showBody(
  { status, rest, fileName, unauthorized, onPage, onRepeat },
  response,
  type,
  startedMs,
) {
  const text = await response.text();
  const message =
    (response.status === 401 ? unauthorized : hints[response.status]) ??
    (response.ok ? '' : parseMessage(text));
  status.replaceChildren(
    statusLine(response, startedMs, new Blob([text]).size),
    ...(message === '' ? [] : [make('p', {}, message)]),
  );
  const tag = response.headers.get('etag');
  const parts = [
    pageButtons(parseLinks(response.headers.get('link')), text, onPage),
    ...bodyParts(text, type, `${fileName}.${chooseExtension(type)}`),
    tag !== null &&
      onRepeat !== undefined &&
      button('Repeat with this ETag', () => onRepeat(tag, new URL(response.url)), { class: 'small' }),
  ];
  rest.prepend(...parts.filter((each) => each));
}

async function exchange(view, { method, url, accept, headers: given, body, credentials }, signal) {
  const startedMs = performance.now();
  const headers = { ...given, accept, ...(body !== undefined && { 'content-type': 'application/json' }) };
  const response = await fetch(url, {
    method,
    headers,
    body,
    cache: 'no-store',
    credentials,
    redirect: 'error',
    signal,
  });
  const type = response.headers.get('content-type') ?? '';
  view.rest.append(
    make('p', { class: 'sent' }, make('code', {}, `${method} ${url.pathname}${url.search}`)),
    headerList([...response.headers]),
  );
  await (response.ok && type !== '' && !isJson(type) ? showSaved : showBody)(view, response, type, startedMs);
}

const stopped = 'Stopped; nothing was saved.';
const broken =
  'The response is incomplete: the service cannot be reached, or the connection was lost. Nothing was saved.';

/**
 * The view of one operation's responses: `{element, send, cancel, isRunning}`. `send` takes `{method, url,
 * accept, headers, body?, credentials}`; `unauthorized` is the text for a 401; `onPage` is called with the
 * URL of another page, `onRepeat` with the ETag of the response shown and its URL.
 */
export function responseView(given) {
  const status = make('div', { role: 'status', class: 'answer-status' });
  const rest = make('div', {});
  const element = make(
    'section',
    { class: 'answer', role: 'group', 'aria-label': 'Response', hidden: true },
    status,
    rest,
  );
  let running = null;

  async function send(request) {
    running?.abort();
    const own = new AbortController();
    running = own;
    element.hidden = false;
    element.setAttribute('aria-busy', 'true');
    status.replaceChildren(make('p', {}, 'Waiting for the response…'));
    rest.replaceChildren();
    try {
      await exchange({ ...given, status, rest }, request, own.signal);
    } catch {
      if (running === own)
        status.replaceChildren(make('p', { class: 'problem' }, own.signal.aborted ? stopped : broken));
    } finally {
      if (running === own) {
        running = null;
        element.removeAttribute('aria-busy');
      }
    }
  }
  return { element, send, cancel: () => running?.abort(), isRunning: () => running !== null };
}
