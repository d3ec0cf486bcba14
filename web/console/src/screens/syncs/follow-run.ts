// A run as it happens: the service sends its state and its log while it is open, and this hook measures its
// pace.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Item, platformBase } from '../../api.ts';
import { invalidate } from '../../query.ts';
import { noteOpenRuns, openRuns } from '../../service-state.ts';
import { isOpen } from '../../states.ts';
import type { Run } from './words.ts';

export type RunEvent = Item<'/sync-runs/{id}/events'>;
export type LiveRun = {
  /** The newest state that was sent; null before the first. */
  readonly run: Run | null;
  readonly log: readonly RunEvent[];
  /** Records a second that the phase reads or compares; null while unknown. */
  readonly pace: number | null;
  /** The stream ended before the run did. */
  readonly lost: boolean;
};

/** Where a phase was when it was first seen here. */
type Start = { readonly phase: string; readonly done: number; readonly atMs: number };

/** By the service's own estimate where it has one, otherwise by what was done since `start`. */
function computePace(
  { done, expected, estimatedSecondsLeft }: NonNullable<Run['progress']>,
  start: Start,
  nowMs: number,
): number | null {
  if (expected !== null && estimatedSecondsLeft) return (expected - done) / estimatedSecondsLeft;
  return done > start.done ? ((done - start.done) * 1000) / (nowMs - start.atMs) : null;
}

const nothing: LiveRun = { run: null, log: [], pace: null, lost: false };

/** A page that is hidden for this long holds no stream open. */
const maxHiddenMs = 60_000;

/** False once the page has been hidden for a while. */
function useShown(): boolean {
  const [shown, setShown] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = (): void => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => setShown(false), maxHiddenMs);
      else setShown(true);
    };
    document.addEventListener('visibilitychange', onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onChange);
    };
  }, []);
  return shown;
}

/**
 * Follows the run while `follow` holds; afterwards the last state stays. Reads of runs and syncs are repeated
 * when the run ends.
 */
export function useLiveRun(id: string, follow: boolean): LiveRun {
  const [live, setLive] = useState<LiveRun>(nothing);
  const start = useRef<Start | null>(null);
  const isFollowed = useShown() && follow;
  useEffect(() => {
    if (!isFollowed) return;
    setLive((before) => ({ ...before, log: [] }));
    const source = new EventSource(`${platformBase}/sync-runs/${encodeURIComponent(id)}/events`);
    const parse = <T>(event: MessageEvent<string>): T => JSON.parse(event.data) as T;
    const show = (run: Run): void => {
      const { progress } = run;
      const nowMs = performance.now();
      if (progress?.phase !== start.current?.phase) start.current = progress && { ...progress, atMs: nowMs };
      const pace = progress && start.current && computePace(progress, start.current, nowMs);
      setLive((before) => ({ ...before, run, pace, lost: false }));
      noteOpenRuns(isOpen(run) ? Math.max(1, openRuns.peek()) : Math.max(0, openRuns.peek() - 1));
    };
    source.addEventListener('run', (event) => show(parse<Run>(event)));
    source.addEventListener('log', (event) => {
      const line = parse<RunEvent>(event);
      setLive((before) => ({ ...before, log: [...before.log, line] }));
    });
    source.addEventListener('end', (event) => {
      source.close();
      show(parse<Run>(event));
      void invalidate('/sync-runs', '/sync-configs', '/overview');
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED)
        setLive((before) => ({ ...before, lost: before.run === null || isOpen(before.run) }));
    });
    return () => source.close();
  }, [id, isFollowed]);
  return live;
}
