// What agents need without being asked: checks whose process died are made again, and messages whose process died have failed.
import type { Ctx } from '../../core/ctx.ts';
import { recurring } from '../../core/recurring.ts';
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
  const look = async (): Promise<void> => {
    checkInBackground(ctx);
    await endLostAnswers(ctx);
  };
  const looking = recurring(everyMs, look, (error) => ctx.log.warn({ err: error }, 'lost messages could not be looked for'));
  void looking.tick();
  return {
    tick: looking.tick,
    stop: async () => {
      const ended = [stopChecks(ctx), stopAnswers(ctx)];
      await looking.stop();
      await Promise.all([...ended, stopChecks(ctx)]);
    },
  };
}
