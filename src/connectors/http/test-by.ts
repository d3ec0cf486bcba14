// The test of a connection that is no more than one request.
import type { Clock } from '../../core/clock.ts';
import { type ConnectionReport, ErpError } from '../connector.ts';

/** Its errors become problems of the report. Rejects with the signal's reason, and for a programming error. */
export async function testBy(
  clock: Clock,
  account: string,
  request: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<ConnectionReport> {
  const startedMs = clock.monotonicMs();
  const problems = await request(signal).then(
    () => [],
    (error: unknown) => {
      if (signal.aborted || !(error instanceof ErpError)) throw error;
      return [{ code: error.code, message: error.message, fix: error.fix }];
    },
  );
  const latencyMs = Math.round(clock.monotonicMs() - startedMs);
  return { ok: problems.length === 0, latencyMs, account, problems };
}
