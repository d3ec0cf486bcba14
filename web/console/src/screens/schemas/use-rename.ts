// Renames while a name is typed. Each letter starts from what was there before the first one: on its way a
// name may be that of another field, and what mentions either must not be mixed up.
import { useRef } from 'preact/hooks';

type Renaming = { readonly onChange: (name: string) => void; readonly onBlur: () => void };

/** `current`: what holds the name now; `rename` returns it with the new name. */
export function useRename<T extends object>(
  current: T,
  rename: (from: T, name: string) => T,
  set: (next: T) => void,
): Renaming {
  const typing = useRef<{ readonly start: T; readonly last: T } | null>(null);
  return {
    onChange(name) {
      const start = typing.current?.last === current ? typing.current.start : current;
      const last = rename(start, name);
      typing.current = { start, last };
      set(last);
    },
    onBlur() {
      typing.current = null;
    },
  };
}
