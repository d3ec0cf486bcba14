// The address bar is the state: which screen is shown, and the filters of its list. Plain links work
// everywhere: clicks on links below /console are handled here, so that a screen changes without loading a
// page.
import { computed, signal } from '@preact/signals';

export const base = '/console';

const address = signal(new URL(location.href));

/** The path below /console, such as `/syncs`; without a slash at the end. */
export const path = computed(() => address.value.pathname.slice(base.length).replace(/\/+$/, '') || '/');
export const query = computed(() => address.value.searchParams);

const maxReturnLength = 1001;

/**
 * Where to sign in and come back to this screen; without its filters where the service takes no address as
 * long.
 */
export function signInAddress(): string {
  const { pathname, search } = address.value;
  const all = pathname + search.replaceAll('\\', '%5C');
  const returnTo = [all, pathname].find(({ length }) => length <= maxReturnLength) ?? base;
  return `/auth/login?returnTo=${encodeURIComponent(returnTo)}`;
}

const update = (): void => {
  address.value = new URL(location.href);
};

/** Shows the screen at `to`, which starts with /console. `replace` leaves no entry in the history. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  update();
  if (!replace) scrollTo(0, 0);
}

/** Changes parameters of the address; an empty or null value removes one. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  options: { replace?: boolean } = { replace: true },
): void {
  const next = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  go(next.pathname + next.search, options);
}

const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 &&
  !event.defaultPrevented &&
  !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

/** Call once. */
export function startRouter(): void {
  addEventListener('popstate', update);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || !isPlainClick(event) || link.target !== '' || link.hasAttribute('download')) return;
    const isInside = link.pathname === base || link.pathname.startsWith(`${base}/`);
    if (link.origin !== location.origin || !isInside) return;
    // A link to a part of this screen: the browser goes there.
    if (link.hash !== '' && link.pathname + link.search === location.pathname + location.search) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

export type Parameters = Readonly<Record<string, string>>;
/** What each screen gets. */
export type ScreenProps = { readonly params: Parameters };

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined; // An escape that is none.
  }
}

/** The parameters of `/syncs/:id` in a path, decoded; undefined when the path is another one. */
export function match(pattern: string, at: string): Parameters | undefined {
  const [wanted, given] = [pattern.split('/'), at.split('/')];
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== value) return undefined;
      continue;
    }
    const decoded = decode(value);
    if (decoded === undefined) return undefined;
    found[part.slice(1)] = decoded;
  }
  return found;
}
