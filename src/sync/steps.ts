// One line of the log for each step of a run, so that what a process did with it can be read from there alone.
import type { Ctx } from '../core/ctx.ts';

type Step = 'claimed' | 'page' | 'proof' | 'publish' | 'outcome' | 'handed over' | 'taken over by another';

/** The log of `ctx` knows the run, its organization and, once it was read, its configuration and attempt. */
export const logStep = ({ log }: Pick<Ctx, 'log'>, step: Step, facts: Readonly<Record<string, unknown>> = {}): void =>
  log.info({ step, ...facts }, 'sync run');
