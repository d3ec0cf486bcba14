// Sets swagger-ui up for these pages: requests go to this page's own origin with the credentials in use, nothing is stored,
// nothing is fetched from elsewhere, and what the page itself asks for (servers, credentials) is not asked for again.

let loading = null;

/** Loads swagger-ui once; a failure may be tried again. */
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

/** JSON with line breaks and the digits as they came: a number never passes through a binary float. */
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

/** Title and prose. The prose is long: where it would push the operations off the screen it starts folded. */
const introduction =
  (_Original, { React, getComponent, specSelectors }) =>
  () => {
    const { title, description = '' } = specSelectors.info().toJS();
    const Markdown = getComponent('Markdown', true);
    return React.createElement(
      'div',
      { className: 'introduction' },
      React.createElement('h2', null, title),
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

/** Answers other than good ones are folded: each is long, and they are much the same everywhere. */
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
 * A long list is shown only where it is scrolled to, and what is not there can't be found or printed. Group by group no list is long.
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

/** The command shows the headers that were sent, with a placeholder for the key: it may be pasted or photographed. */
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

const pageParts = (headersOf) => ({
  wrapComponents: {
    authorizeBtn: nothing,
    authorizeOperationBtn: nothing,
    ServersContainer: nothing,
    SchemesContainer: nothing,
    InfoContainer: introduction,
    operations: groupByGroup,
    response: foldedResponse,
    responseBody: exactResponseBody,
    curl: curlWithoutKey(headersOf),
  },
});

const sendHere = (headersOf, credentials) => (request) => {
  if (new URL(request.url, location.href).origin !== location.origin) throw new Error('Requests of this page stay on its own origin');
  request.headers = { ...request.headers, ...headersOf() };
  return Object.assign(request, { cache: 'no-store', credentials, redirect: 'error' });
};

/** Long lines are scrolled, which the keyboard can do only where it can go. */
function letKeyboardScroll(element) {
  const reach = () => {
    for (const block of element.querySelectorAll('pre:not([tabindex])')) block.tabIndex = 0;
  };
  new MutationObserver(reach).observe(element, { childList: true, subtree: true });
}

const manyTags = 12;

/**
 * Shows a description. `serverPath` is where its operations live on this origin, whatever the description says; `credentials` is
 * 'same-origin' where they take the cookie of a session, else 'omit'.
 */
export function showReference(SwaggerUIBundle, element, { description, serverPath, headersOf, credentials = 'omit' }) {
  followColourScheme();
  element.hidden = false;
  letKeyboardScroll(element);
  const tags = description.tags?.length ?? 0;
  SwaggerUIBundle({
    domNode: element.appendChild(document.createElement('div')),
    spec: { ...description, servers: [{ url: `${location.origin}${serverPath}` }] },
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [pageParts(headersOf)],
    layout: 'BaseLayout',
    requestInterceptor: sendHere(headersOf, credentials),
    showMutatedRequest: false,
    docExpansion: tags > manyTags ? 'none' : 'list',
    filter: tags > manyTags,
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
