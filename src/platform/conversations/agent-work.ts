// Periodic background work for agents: restarts checks whose process died, and fails messages whose process died.
import type { Ctx } from '../../core/ctx.ts';
import { startRecurring } from '../../core/recurring.ts';
import { stopAnswers, waitForAnswers } from '../conversations/answer.ts';
import { failLostAnswers } from '../conversations/credits.store.ts';
import { startAgentChecks, stopAgentChecks, waitForAgentChecks } from './agent-checks.ts';

export type AgentWork = {
  /** Polls now. */
  tick(): Promise<void>;
  /** Ends the answers and checks of this process and waits until that is saved. */
  stop(): Promise<void>;
};

const intervalMs = 5_000;

/** Resolves when this process neither checks agents nor answers messages any more. */
export async function waitForAgentWork(ctx: Pick<Ctx, 'db'>): Promise<void> {
  await Promise.all([waitForAgentChecks(ctx), waitForAnswers(ctx)]);
}

export function startAgentWork(ctx: Ctx): AgentWork {
  const poll = async (): Promise<void> => {
    startAgentChecks(ctx);
    await failLostAnswers(ctx);
  };
  const polling = startRecurring(intervalMs, poll, (error) => ctx.log.warn({ err: error }, 'polling for lost messages failed'));
  void polling.tick();
  return {
    tick: polling.tick,
    stop: async () => {
      const ended = [stopAgentChecks(ctx), stopAnswers(ctx)];
      await polling.stop();
      await Promise.all([...ended, stopAgentChecks(ctx)]);
    },
  };
}
