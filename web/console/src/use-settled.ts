import { useEffect, useState } from 'preact/hooks';

const pauseMs = 200;

/** The text once it has not changed for a moment: a search for each letter would be too many. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
