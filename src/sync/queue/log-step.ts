// One log line per step of a run, so that the log alone shows what a process did with the run.
import type { Ctx } from '../../core/ctx.ts';

type Step = 'claimed' | 'page' | 'proof' | 'publish' | 'outcome' | 'handed over' | 'taken over by another';

/** `ctx.log` must be bound to the run, its organization and, once loaded, its configuration and attempt. */
export const logStep = (
  { log }: Pick<Ctx, 'log'>,
  step: Step,
  facts: Readonly<Record<string, unknown>> = {},
): void => log.info({ step, ...facts }, 'sync run');
