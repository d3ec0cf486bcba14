// The list of resources and operations, and its search. Ctrl+K focuses the search, arrow keys move through
// the results.
import { make } from './dom.js';

const toSearchText = ({ summary, path, id, parameters }) =>
  [summary, path, id, ...parameters.map(({ name }) => name)].join(' ').toLowerCase();

/** Every word of the search must occur in the text. */
const fits = (text, words) => words.every((word) => text.includes(word));

function createEntries(model, toHref) {
  return model.resources.map((resource) => {
    const operations = resource.operations.map((operation) => ({
      text: toSearchText(operation),
      at: operation.id,
      item: make('li', {}, make('a', { href: toHref(operation.id) }, operation.summary)),
    }));
    const sublist = make(
      'ul',
      {},
      operations.map(({ item }) => item),
    );
    const link = make('a', { class: 'resource-link', href: toHref(resource.name) }, resource.title);
    const text = `${resource.name} ${resource.title} ${resource.description}`.toLowerCase();
    return { at: resource.name, text, link, sublist, operations, item: make('li', {}, link, sublist) };
  });
}

/**
 * Hides entries that don't match; without search words, hides the operations of all resources but the current
 * one. Returns the number of matching operations.
 */
function filterEntries(entries, words, current) {
  let count = 0;
  for (const { at, text, sublist, operations, item } of entries) {
    for (const operation of operations) {
      operation.item.hidden = words.length > 0 && !fits(`${text} ${operation.text}`, words);
      if (!operation.item.hidden) count += 1;
    }
    item.hidden =
      words.length > 0 && !fits(text, words) && operations.every((operation) => operation.item.hidden);
    sublist.hidden = words.length === 0 && at !== current;
  }
  return count;
}

const foundText = (count) =>
  count === 0 ? 'Nothing found' : count === 1 ? '1 operation' : `${count} operations`;

const setCurrent = (link, isCurrent) =>
  isCurrent ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');

/**
 * Arrow keys move through the visible links, Escape clears the search, Enter opens the first operation found.
 */
function handleKeys(element, search, clear) {
  const shown = () => [...element.querySelectorAll('a')].filter((link) => link.offsetParent !== null);
  const move = (step) => {
    const links = shown();
    const next = links.indexOf(document.activeElement) + step;
    if (next < 0) search.focus();
    else links[Math.min(next, links.length - 1)]?.focus();
  };
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  element.addEventListener('keydown', (event) => {
    if (event.key in steps) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (event.key === 'Escape') clear();
    else if (event.key === 'Enter' && event.target === search && search.value !== '')
      shown()
        .find((link) => !link.classList.contains('resource-link'))
        ?.click();
  });
}

/**
 * Returns `{element, focus, mark}`; `mark` sets the current resource and operation. `onChoice` is called when
 * the reader opens a link.
 */
export function navigation(model, toHref, onChoice) {
  const entries = createEntries(model, toHref);
  const search = make('input', {
    id: 'search',
    type: 'search',
    autocomplete: 'off',
    placeholder: 'Ctrl K',
    'aria-describedby': 'found',
  });
  const found = make('p', { id: 'found', class: 'hint', role: 'status' });
  const guide = make('a', { href: toHref('guide'), class: 'resource-link' }, 'Guide');
  const items = [make('li', {}, guide), entries.map(({ item }) => item)];
  const label = make('label', { for: 'search' }, 'Find an operation');
  const attributes = { id: 'navigation', 'aria-label': 'Resources and operations' };
  const element = make('nav', attributes, label, search, found, make('ul', { class: 'entries' }, items));
  let current = 'guide';

  const update = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const count = filterEntries(entries, words, current);
    guide.parentElement.hidden = words.length > 0;
    found.textContent = words.length === 0 ? '' : foundText(count);
  };
  handleKeys(element, search, () => {
    search.value = '';
    update();
    search.focus();
  });
  element.addEventListener('click', (event) => event.target.closest('a') !== null && onChoice());
  search.addEventListener('input', update);
  update();
  return {
    element,
    focus: () => search.focus(),
    mark(resource, operation) {
      current = resource;
      for (const { link, at, operations } of [{ link: guide, at: 'guide', operations: [] }, ...entries]) {
        setCurrent(link, at === resource && operation === null);
        for (const each of operations) setCurrent(each.item.firstChild, each.at === operation);
      }
      update();
      element.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
    },
  };
}
