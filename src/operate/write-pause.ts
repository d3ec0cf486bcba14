// Pauses what this process writes while schema public moves to another database: requests that may write are
// refused with 503, background work is handed over, and once nothing is left the process confirms it in
// `paused_processes`. Reads of the public interface go on. A cancelled move ends the pause; after a completed
// one it stays until the process is replaced.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { startRecurring } from '../core/work/recurring.ts';

/** The channel on which a pause and its end are announced. */
const channel = 'control_move';
/** Notifications may be lost. */
const pollMs = 5_000;
const retryAfterSeconds = 30;

type Middleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;
type Move = { id: string; moved: boolean };
type Work = { stop(): Promise<void> };

export type WritePause<B extends Work> = {
  /** Refuses requests with 503 while paused. Mount it before everything that may write. */
  readonly gate: Middleware;
  /** Undefined without a move. `moved`: the move is complete, and this process must be replaced. */
  state(): 'paused' | 'moved' | undefined;
  /** Starts the background work, now or once the pause ends, and follows moves from then on. */
  start(startWork: () => Promise<B>): Promise<void>;
  /** Undefined while paused. */
  work(): B | undefined;
  stop(): Promise<void>;
};

const texts = {
  paused: 'The service is being moved to another database and takes no changes for a moment; try again',
  moved: 'The service was moved to another database; this process no longer takes changes',
};

const refusal = (state: 'paused' | 'moved'): AppError =>
  new AppError('INTERNAL_ERROR', texts[state], {
    status: 503,
    headers: { 'Retry-After': String(retryAfterSeconds) },
    details: [{ path: '', code: 'paused', message: texts[state] }],
  });

/** Counts the requests that may write, until their responses are complete. */
function createWriteCount() {
  let running = 0;
  let onIdle: (() => void)[] = [];
  const count: Middleware = (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      running += 1;
      res.once('close', () => {
        running -= 1;
        if (running > 0) return;
        for (const resolve of onIdle) resolve();
        onIdle = [];
      });
    }
    next();
  };
  const waitUntilIdle = (): Promise<void> =>
    running === 0 ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve));
  return { count, waitUntilIdle };
}

async function findMove(db: Ctx['db']): Promise<Move | undefined> {
  const { rows } = await db.control.raw<{ rows: Move[] }>(
    `select id, moved_at is not null as moved from control_moves where side = 'from'`,
  );
  return rows[0];
}

/** Reads the current state. `process`: this one's name in pg_stat_activity. Rejects with database errors. */
export async function openWritePause<B extends Work>(
  { db, log }: Pick<Ctx, 'db' | 'log'>,
  process: string,
): Promise<WritePause<B>> {
  let move = await findMove(db);
  let work: B | undefined;
  let startWork: (() => Promise<B>) | undefined;
  const { count, waitUntilIdle } = createWriteCount();
  const state = () => move && (move.moved ? 'moved' : 'paused');

  const pause = async (found: Move): Promise<void> => {
    await work?.stop();
    work = undefined;
    await waitUntilIdle();
    if (found.moved) return;
    await db.control.raw(
      'insert into paused_processes (move_id, process) values (?, ?) on conflict do nothing',
      [found.id, process],
    );
  };
  const follow = async (): Promise<void> => {
    const before = state();
    move = await findMove(db);
    if (state() !== before)
      log.warn(
        { state: state() ?? 'running' },
        'a move to another database pauses this process, or has ended its pause',
      );
    if (move !== undefined) await pause(move);
    else work ??= await startWork?.();
  };
  let following: ReturnType<typeof startRecurring> | undefined;
  let unsubscribe: (() => Promise<void>) | undefined;
  return {
    gate: (req, res, next) => {
      const now = state();
      if (now !== undefined) throw refusal(now);
      count(req, res, next);
    },
    state,
    work: () => work,
    start: async (begin) => {
      startWork = begin;
      await follow();
      const poller = startRecurring(pollMs, follow, (err) =>
        log.warn({ err }, 'could not read whether the service is being moved'),
      );
      following = poller;
      unsubscribe = db.notifications.subscribe(channel, () => void poller.tickAgain());
    },
    stop: async () => {
      await Promise.all([unsubscribe?.(), following?.stop()]);
      await work?.stop();
    },
  };
}
