// Background work for agents: their checks, and messages whose process died, which fail.
import type { ReadingCtx } from '../../core/ctx.ts';
import { startRecurring } from '../../core/work/recurring.ts';
import { startAgentChecks } from '../agents/agent-checks.ts';
import { failLostAnswers } from './credits.store.ts';

export type AgentWork = {
  /** Fails lost messages, and checks the agents that wait for it, now. */
  tick(): Promise<void>;
  /** Ends the answers and checks of this process and waits until that is saved. */
  stop(): Promise<void>;
};

const intervalMs = 5_000;

export function startAgentWork(ctx: ReadingCtx): AgentWork {
  const checks = startAgentChecks(ctx);
  const polling = startRecurring(
    intervalMs,
    () => failLostAnswers(ctx),
    (error) => ctx.log.warn({ err: error }, 'polling for lost messages failed'),
  );
  void polling.tick();
  return {
    tick: async () => {
      await Promise.all([polling.tick(), checks.waitUntilIdle()]);
    },
    stop: async () => {
      await Promise.all([ctx.work.stop('answers'), polling.stop(), checks.stop()]);
    },
  };
}
