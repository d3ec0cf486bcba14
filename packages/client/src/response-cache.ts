export type CachedResponse = { readonly tag: string; readonly text: string };

const maxChars = 8_000_000;
const maxEntryChars = 1_000_000;

/** Keeps responses by address; the least recently used go first. */
export function createResponseCache(maxEntries: number) {
  const entries = new Map<string, CachedResponse>();
  let chars = 0;
  const drop = (path: string) => {
    chars -= entries.get(path)?.text.length ?? 0;
    entries.delete(path);
  };
  return {
    find(path: string): CachedResponse | undefined {
      return entries.get(path);
    },
    keep(path: string, entry: CachedResponse): void {
      drop(path);
      if (entry.text.length > maxEntryChars) return;
      entries.set(path, entry);
      chars += entry.text.length;
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && chars <= maxChars) return;
        drop(oldest);
      }
    },
  };
}
export type ResponseCache = ReturnType<typeof createResponseCache>;
