// Price of an answer: 1 credit per started 1,000 tokens, input plus output over all steps. Pure functions.
import type { Settings } from '../../core/settings.ts';
import { offlineModelName } from '../../gateways/model/create-model.ts';

type Limits = Pick<Settings['agents'], 'inputTokens' | 'outputTokens'>;
type Tokens = { readonly inputTokens: number; readonly outputTokens: number };

const tokensPerCredit = 1_000;

const creditsFor = ({ inputTokens, outputTokens }: Tokens): number =>
  Math.ceil((inputTokens + outputTokens) / tokensPerCredit);

/** Maximum cost of an answer. The built-in model uses no tokens, but reserves one credit until it ends. */
export const maxCredits = (model: string, limits: Limits): number =>
  model === offlineModelName ? 1 : creditsFor(limits);

/** At most the reserved credits: providers count tokens only after a step, and any excess is not charged. */
export const creditsToCharge = (used: Tokens, reserved: number) => Math.min(reserved, creditsFor(used));

/** Reduces both token limits in proportion when fewer credits are reserved than the maximum. */
export function limitsForCredits(limits: Limits, reserved: number): Tokens {
  const share = Math.min(1, (reserved * tokensPerCredit) / (limits.inputTokens + limits.outputTokens));
  const bounded = (tokens: number): number => Math.max(1, Math.floor(tokens * share));
  return { inputTokens: bounded(limits.inputTokens), outputTokens: bounded(limits.outputTokens) };
}
