// The search of a record picker: the text, the list of what is found while it is open, and what the keys do.
import { useState } from 'preact/hooks';
import { useSettled } from '../../use-settled.ts';
import { type Found, type Lookup, useFound } from './lookup.ts';

/** What can be chosen while the list is open. */
function useOptions(lookup: Lookup, text: string, open: boolean) {
  const wanted = useSettled(text);
  const parameters = wanted === '' || lookup.search === undefined ? [] : [[lookup.search, wanted] as const];
  const { found, error } = useFound(lookup, open ? parameters : null);
  const isRead = wanted === text && (found ?? error) !== undefined;
  const options = open && isRead ? listOptions(lookup, found ?? [], wanted) : [];
  const status = open && (isRead ? options.length === 0 && 'Nothing found' : 'Searching…');
  return { options, status, error: open ? error : undefined };
}

/**
 * What was found, then the text itself as an id. Where nothing can be searched by name, what has the text of
 * the first page.
 */
function listOptions({ search }: Lookup, found: readonly Found[], text: string): Found[] {
  const has = ({ id, name }: Found): boolean => `${id} ${name}`.toLowerCase().includes(text.toLowerCase());
  const matches = search === undefined ? found.filter(has) : found;
  const isEntered = text !== '' && !matches.some(({ id }) => id === text);
  return isEntered ? [...matches, { id: text, name: 'Use the id' }] : [...matches];
}

export function useSearch(lookup: Lookup, onChoose: (found: Found) => void) {
  const [{ text, open, at }, setState] = useState({ text: '', open: false, at: 0 });
  const { options, status, error } = useOptions(lookup, text.trim(), open);
  const active = options[Math.min(at, options.length - 1)];
  const setOpen = (next: boolean): void => setState((last) => ({ ...last, open: next }));
  const move = (by: number): void =>
    setState({ text, open: true, at: open ? (at + options.length + by) % Math.max(1, options.length) : 0 });
  const choose = (one: Found | undefined): void => {
    if (one === undefined) return;
    onChoose(one);
    setState({ text: '', open: false, at: 0 });
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    // Enter in an empty, closed list saves the form, and Escape closes the dialog, as everywhere.
    ...((open || text !== '') && { Enter: () => choose(active) }),
    ...(open && { Escape: () => setOpen(false) }),
  };
  const setText = (next: string): void => setState({ text: next, open: true, at: 0 });
  return { text, open, options, active, status, error, setText, setOpen, choose, keys };
}
