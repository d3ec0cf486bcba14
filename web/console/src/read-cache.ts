// The reads that screens share: what was read before is shown at once and read again.
import { type Signal, signal } from '@preact/signals';
import { type ApiError, toApiError } from './api-error.ts';

export type Read<T> = {
  /** The last answer, which may be of an earlier read. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** When `data` was read, in ms of this machine's clock. */
  readonly at: number;
};

/** `version` rises with each change of what is read, `users` are the screens that show it. */
export type Entry = {
  readonly state: Signal<Read<unknown>>;
  readonly load: () => Promise<unknown>;
  version: number;
  users: number;
  running: Promise<void> | null;
};

const unread: Read<unknown> = { data: undefined, error: undefined, loading: false, at: 0 };
const entries = new Map<string, Entry>();
/** Answers that no screen shows, kept so that a screen appears at once. */
const maxUnused = 200;

/** The entry of `key`, which `load` reads if it is new. */
export function loadEntry(key: string, load: () => Promise<unknown>): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  for (const [old, { users }] of entries) {
    if (entries.size < maxUnused) break;
    if (users === 0) entries.delete(old);
  }
  const entry: Entry = { state: signal(unread), load, version: 0, users: 0, running: null };
  entries.set(key, entry);
  return entry;
}

/**
 * Reads the entry, and once more when it changed during the read. Never rejects: a failure is part of the
 * state.
 */
export function reload(entry: Entry): Promise<void> {
  entry.running ??= (async () => {
    entry.state.value = { ...entry.state.peek(), loading: true };
    let version: number;
    let read: Partial<Read<unknown>>;
    do {
      version = entry.version;
      try {
        read = { data: await entry.load(), error: undefined, at: Date.now() };
      } catch (error) {
        read = { error: toApiError(error) };
      }
    } while (version !== entry.version);
    entry.state.value = { ...entry.state.peek(), ...read, loading: false };
    entry.running = null;
  })();
  return entry.running;
}

/** The entries of these paths, as changed. */
function change(prefixes: readonly string[]): [key: string, entry: Entry][] {
  const changed = [...entries].filter(([key]) => prefixes.some((prefix) => key.startsWith(prefix)));
  for (const [, entry] of changed) entry.version += 1;
  return changed;
}

/**
 * Reads again whatever is on screen of these paths, such as `/sync-configs`, and forgets the rest of them.
 * Resolves once it is read.
 */
export async function invalidate(...prefixes: readonly string[]): Promise<void> {
  const stale = change(prefixes);
  // The entry itself stays: a screen that is about to show it has no users yet.
  for (const [, { users, state }] of stale) if (users === 0) state.value = unread;
  await Promise.all(stale.filter(([, { users }]) => users > 0).map(([, entry]) => reload(entry)));
}

/**
 * What was read of these paths is read again when a screen next shows it. For an action that leads to another
 * screen.
 */
export function expire(...prefixes: readonly string[]): void {
  for (const [, { state }] of change(prefixes)) state.value = { ...state.peek(), at: 0 };
}
