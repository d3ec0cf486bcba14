// Periodic background work for agents: restarts checks whose process died, and fails messages whose process
// died.
import type { Ctx, ReadingCtx } from '../../core/ctx.ts';
import { startRecurring } from '../../core/recurring.ts';
import { startAgentChecks } from '../agents/agent-checks.ts';
import { failLostAnswers } from './credits.store.ts';

export type AgentWork = {
  /** Polls now. */
  tick(): Promise<void>;
  /** Ends the answers and checks of this process and waits until that is saved. */
  stop(): Promise<void>;
};

const intervalMs = 5_000;

/** Resolves when this process neither checks agents nor answers messages any more. */
export async function waitForAgentWork({ work }: Pick<Ctx, 'work'>): Promise<void> {
  await Promise.all([work.waitUntilIdle('agent-checks'), work.waitUntilIdle('answers')]);
}

export function startAgentWork(ctx: ReadingCtx): AgentWork {
  const poll = async (): Promise<void> => {
    startAgentChecks(ctx);
    await failLostAnswers(ctx);
  };
  const polling = startRecurring(intervalMs, poll, (error) =>
    ctx.log.warn({ err: error }, 'polling for lost messages failed'),
  );
  void polling.tick();
  return {
    tick: polling.tick,
    stop: async () => {
      const ended = [ctx.work.stop('agent-checks'), ctx.work.stop('answers')];
      await polling.stop();
      await Promise.all([...ended, ctx.work.stop('agent-checks')]);
    },
  };
}
