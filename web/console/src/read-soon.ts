import { useEffect } from 'preact/hooks';

/** Most jobs are done by one of the first two. */
const soonMs = [1_500, 6_000];
const laterMs = 15_000;

/** While `open`, reads again twice soon, and then every 15 seconds. */
export function useReadSoon(open: boolean | undefined, reload: () => Promise<void>): void {
  useEffect(() => {
    if (open !== true) return;
    const soon = soonMs.map((ms) => setTimeout(() => void reload(), ms));
    const later = setInterval(() => !document.hidden && void reload(), laterMs);
    return () => {
      soon.forEach(clearTimeout);
      clearInterval(later);
    };
  }, [open]);
}
