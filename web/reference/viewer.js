// Configures swagger-ui for the management reference: requests go to this page's own origin with the credentials in use, nothing is stored
// or loaded from other origins, and swagger-ui's own inputs for servers and credentials are hidden.

let loading = null;

/** Loads swagger-ui once; a failed load can be retried. */
export function loadViewer() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = new URL('./swagger-ui-bundle.js', import.meta.url);
    script.addEventListener('load', () => resolve(globalThis.SwaggerUIBundle));
    script.addEventListener('error', () => {
      loading = null;
      script.remove();
      reject(new Error('A part of this page could not be loaded. Reload the page and try again.'));
    });
    document.head.append(script);
  });
  return loading;
}

const followColourScheme = () => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
};

const nothing = () => () => null;

/** Formats JSON with line breaks and keeps every digit: a number never passes through a binary float. */
function layOutJson(text) {
  try {
    const exact = (_key, value, context) =>
      typeof value === 'number' && context?.source !== undefined && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}

const isWide = () => matchMedia('(min-width: 760px)').matches;

/**
 * Title, first request and introduction. The introduction is long, so on narrow screens it starts folded to keep the operations in view.
 */
const introduction =
  (serverPath) =>
  (_Original, { React, getComponent, specSelectors }) =>
  () => {
    const { title, description = '' } = specSelectors.info().toJS();
    const Markdown = getComponent('Markdown', true);
    const HighlightCode = getComponent('HighlightCode', true);
    const firstRequest = `curl '${location.origin}${serverPath}/whoami' \\\n  -H 'Authorization: Bearer YOUR_API_KEY'`;
    return React.createElement(
      'section',
      { className: 'introduction', 'aria-labelledby': 'introduction' },
      React.createElement('h2', { id: 'introduction' }, title),
      React.createElement('h3', null, 'Your first request'),
      React.createElement(HighlightCode, { language: 'bash', canCopy: true }, firstRequest),
      description !== '' &&
        React.createElement(
          'details',
          { open: isWide() },
          React.createElement('summary', null, 'About this interface'),
          React.createElement(Markdown, { source: description }),
        ),
    );
  };

const isJson = (contentType) => /^application\/([\w.-]+\+)?json\b/i.test(contentType ?? '');

const exactResponseBody =
  (Original, { React, getComponent }) =>
  (props) => {
    if (typeof props.content !== 'string' || props.content === '' || !isJson(props.contentType))
      return React.createElement(Original, props);
    const HighlightCode = getComponent('HighlightCode', true);
    return React.createElement(
      'div',
      null,
      React.createElement('h5', null, 'Response body'),
      React.createElement(HighlightCode, { downloadable: true, fileName: 'response.json', language: 'json' }, layOutJson(props.content)),
    );
  };

/** Error responses are folded: each is long, and they are much the same for every operation. */
const foldedResponse =
  (Original, { React, getComponent }) =>
  (props) => {
    if (/^2/.test(props.code)) return React.createElement(Original, props);
    const Markdown = getComponent('Markdown', true);
    const summary = React.createElement(
      'summary',
      null,
      React.createElement(Markdown, { source: props.response?.get('description') ?? '' }),
    );
    return React.createElement(
      'tr',
      { className: 'response' },
      React.createElement('td', { className: 'response-col_status' }, props.code),
      React.createElement(
        'td',
        { className: 'response-col_description folded' },
        React.createElement(
          'details',
          null,
          summary,
          React.createElement('table', null, React.createElement('tbody', null, React.createElement(Original, props))),
        ),
      ),
    );
  };

/**
 * swagger-ui renders a long list only where it is scrolled to, so the rest can't be searched or printed. One list per group is never long.
 */
const groupByGroup =
  (Original, { React }) =>
  (props) => {
    const { specSelectors } = props;
    const groups = specSelectors.taggedOperations();
    const only = (tag) => ({ ...specSelectors, taggedOperations: () => groups.filter((_group, name) => name === tag) });
    const list = (tag) => React.createElement(Original, { ...props, key: tag, specSelectors: only(tag) });
    return React.createElement('div', null, groups.keySeq().map(list).toArray());
  };

/** The curl command shows the headers that were sent, with a placeholder for the key, since commands get pasted and photographed. */
const curlWithoutKey =
  (headersOf) =>
  (Original, { React }) =>
  ({ request, ...rest }) => {
    const shown = Object.entries({ ...headersOf(), ...(headersOf().authorization && { authorization: 'Bearer YOUR_API_KEY' }) });
    return React.createElement(Original, {
      ...rest,
      request: shown.reduce((held, [name, value]) => held.setIn(['headers', name], value), request),
    });
  };

/**
 * The button's word is that of the public reference. It appears when its operation is opened, which is then scrolled to the top: the button is
 * at the end of what is visible of the operation.
 */
const sendButton = (Original, { React }) =>
  class extends Original {
    button = React.createRef();
    componentDidMount() {
      this.button.current.closest('.opblock').scrollIntoView({ block: 'start' });
    }
    render() {
      return React.cloneElement(super.render(), { ref: this.button }, 'Send');
    }
  };

const pageParts = (serverPath, headersOf) => ({
  wrapComponents: {
    authorizeBtn: nothing,
    authorizeOperationBtn: nothing,
    ServersContainer: nothing,
    SchemesContainer: nothing,
    InfoContainer: introduction(serverPath),
    execute: sendButton,
    operations: groupByGroup,
    response: foldedResponse,
    responseBody: exactResponseBody,
    curl: curlWithoutKey(headersOf),
  },
});

const sendHere = (headersOf, credentials) => (request) => {
  if (new URL(request.url, location.href).origin !== location.origin) throw new Error('Requests from this page must go to its own origin');
  request.headers = { ...request.headers, ...headersOf() };
  return Object.assign(request, { cache: 'no-store', credentials, redirect: 'error' });
};

/** Makes blocks with long lines focusable, so that they can be scrolled with the keyboard, and names inputs and tables. */
function completeMarkup(element) {
  const complete = () => {
    for (const block of element.querySelectorAll('pre:not([tabindex])')) block.tabIndex = 0;
    for (const input of element.querySelectorAll('[data-param-name] :is(input, select, textarea):not([aria-label])'))
      input.setAttribute('aria-label', input.closest('[data-param-name]').dataset.paramName);
    for (const table of element.querySelectorAll('table[role="region"]:not([aria-label])')) {
      const title = table.closest('.opblock').querySelector('.opblock-summary-description').textContent;
      table.setAttribute('aria-label', `Responses: ${title}`);
    }
    for (const body of element.querySelectorAll('.body-param__text:not([aria-label])')) body.setAttribute('aria-label', 'Request body');
  };
  new MutationObserver(complete).observe(element, { childList: true, subtree: true });
}

const manyTags = 12;

/**
 * Shows an OpenAPI document with swagger-ui. `serverPath` is the operations' base path on this origin and replaces the document's servers;
 * `credentials` is 'same-origin' when the operations accept a session cookie, otherwise 'omit'.
 */
export function showInViewer(SwaggerUIBundle, element, { description, serverPath, headersOf, credentials = 'omit' }) {
  followColourScheme();
  element.hidden = false;
  completeMarkup(element);
  const tags = description.tags?.length ?? 0;
  SwaggerUIBundle({
    domNode: element.appendChild(document.createElement('div')),
    spec: { ...description, servers: [{ url: `${location.origin}${serverPath}` }] },
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [pageParts(serverPath, headersOf)],
    layout: 'BaseLayout',
    requestInterceptor: sendHere(headersOf, credentials),
    showMutatedRequest: false,
    docExpansion: tags > manyTags ? 'none' : 'list',
    filter: tags > manyTags,
    tryItOutEnabled: true,
    defaultModelRendering: 'example',
    defaultModelExpandDepth: 3,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    deepLinking: false,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: null,
    withCredentials: false,
  });
}
