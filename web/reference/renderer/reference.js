// The reference: navigation on one side, one view at a time on the other. The fragment (`#at=…`) names the
// view, so that links and the back button work. Credentials are never part of the URL.
import { button, make } from './dom.js';
import { navigation } from './navigation.js';
import { guideView, resourceView } from './views.js';

const fragment = () => new URLSearchParams(location.hash.slice(1));

/** A link within the page; other parameters of the fragment are kept. */
function toHref(at) {
  const parameters = fragment();
  parameters.set('at', at);
  return `#${parameters}`;
}

const dateText = (date) => date.toLocaleDateString('en', { day: 'numeric', month: 'long', year: 'numeric' });

/**
 * A notice when the response headers say that the version is deprecated, with its sunset date; otherwise
 * null.
 */
function deprecationNotice(headers) {
  const since = /^@(\d+)$/.exec(headers.get('deprecation') ?? '')?.[1];
  if (since === undefined) return null;
  const sunset = headers.get('sunset');
  const successor = /<([^>]+)>\s*;\s*rel="successor-version"/.exec(headers.get('link') ?? '')?.[1];
  const label = successor?.split('/').at(-1);
  return make(
    'p',
    { class: 'notice warning' },
    make('strong', {}, `Deprecated since ${dateText(new Date(Number(since) * 1_000))}. `),
    sunset === null
      ? 'It keeps working until it is retired. '
      : `It may be retired from ${dateText(new Date(sunset))} on. `,
    successor !== undefined && make('a', { href: `${successor}/preview` }, `Go to ${label}`),
  );
}

function banner(access, headers) {
  if (!access.isDraft) return deprecationNotice(headers);
  const text = 'It may still change, and it serves no requests until it is published.';
  return make('p', { class: 'notice warning' }, make('strong', {}, 'This is a draft. '), text);
}

let listening = new AbortController();

/** Removes the reference and everything it holds in memory. */
export function hideReference(container) {
  listening.abort();
  container.replaceChildren();
  container.hidden = true;
}

/** Ctrl+K or Cmd+K. */
function searchOnKey(event, search) {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  search();
}

function focusHeading(container, content, operation, isFirst) {
  const heading =
    operation === null ? content.querySelector('h2') : document.getElementById(`title-${operation}`);
  if (!isFirst || operation !== null) heading.focus({ preventScroll: true });
  if (operation !== null) heading.scrollIntoView({ block: 'start' });
  // The form for credentials may be above the reference.
  else if (!isFirst) scrollTo({ top: document.getElementById('access').hidden ? 0 : container.offsetTop });
}

/** Shows a document read by `readDescription` in `container`. */
export function showReference(container, model, access, headers = new Headers()) {
  const content = make('div', { id: 'content' });
  const menu = button('Operations', () => setMenu(!container.classList.contains('menu-open')), {
    class: 'menu',
    'aria-expanded': 'false',
    'aria-controls': 'navigation',
  });
  const setMenu = (isOpen) => {
    container.classList.toggle('menu-open', isOpen);
    menu.setAttribute('aria-expanded', String(isOpen));
  };
  const list = navigation(model, toHref, () => setMenu(false));
  const findResource = (at) =>
    model.resources.find(({ name, operations }) => name === at || operations.some(({ id }) => id === at));
  let shown;

  function show(isFirst) {
    const at = fragment().get('at') ?? 'guide';
    const resource = findResource(at);
    const operation = resource && resource.name !== at ? at : null;
    const summary = resource?.operations.find(({ id }) => id === operation)?.summary;
    if (shown !== (resource ?? null)) {
      access.removeListeners();
      content.replaceChildren(
        resource === undefined
          ? guideView(model, toHref, access)
          : resourceView(resource, model.kind, access),
      );
      shown = resource ?? null;
    }
    list.mark(resource?.name ?? 'guide', operation);
    document.title = `${summary ?? resource?.title ?? 'Guide'} · ${access.title}`;
    focusHeading(container, content, operation, isFirst);
  }

  const main = make('div', { class: 'main', tabindex: -1 }, banner(access, headers), content);
  const skip = button('Skip to the content', () => main.focus(), { class: 'skip' });
  container.replaceChildren(skip, menu, list.element, main);
  container.hidden = false;
  listening = new AbortController();
  const { signal } = listening;
  addEventListener('hashchange', () => show(false), { signal });
  const search = () => {
    setMenu(true);
    list.focus();
  };
  addEventListener('keydown', (event) => searchOnKey(event, search), { signal });
  show(true);
}
