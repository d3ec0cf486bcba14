// What agents need without being asked: checks whose process died are made again, and messages whose process died have failed.
import type { Ctx } from '../../core/ctx.ts';
import { answersSettled, stopAnswers } from '../conversations/answer.ts';
import { endLostAnswers } from '../conversations/credits.store.ts';
import { checkInBackground, checksSettled, stopChecks } from './agent-checks.ts';

export type AgentWork = {
  /** Looks at once. */
  tick(): Promise<void>;
  /** Ends what this process is answering and checking, and waits until that is noted. */
  stop(): Promise<void>;
};

const everyMs = 5_000;

/** Once nothing is checked or answered any more. */
export async function agentsSettled(ctx: Pick<Ctx, 'db'>): Promise<void> {
  await Promise.all([checksSettled(ctx), answersSettled(ctx)]);
}

export function startAgentWork(ctx: Ctx): AgentWork {
  const tick = async (): Promise<void> => {
    checkInBackground(ctx);
    await endLostAnswers(ctx).catch((error: unknown) => ctx.log.warn({ err: error }, 'lost messages could not be looked for'));
  };
  let ticking = tick();
  const timer = setInterval(() => {
    ticking = tick();
  }, everyMs);
  return {
    tick,
    stop: async () => {
      clearInterval(timer);
      const ended = [stopChecks(ctx), stopAnswers(ctx)];
      await ticking;
      await Promise.all([...ended, stopChecks(ctx)]);
    },
  };
}
