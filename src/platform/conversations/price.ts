// What an answer may cost and does cost: 1 credit for each started 1,000 tokens, read and written, over all steps. Pure.
import type { Settings } from '../../core/settings.ts';
import { offlineName } from '../../gateways/model/open-model.ts';

type Limits = Pick<Settings['agents'], 'inputTokens' | 'outputTokens'>;
type Tokens = { readonly inputTokens: number; readonly outputTokens: number };

const tokensPerCredit = 1_000;

const creditsFor = ({ inputTokens, outputTokens }: Tokens): number => Math.ceil((inputTokens + outputTokens) / tokensPerCredit);

/** The built-in model takes no tokens; one credit must be there all the same, and is given back. */
export const mostCredits = (model: string, limits: Limits): number => (model === offlineName ? 1 : creditsFor(limits));

/** A provider counts after a step what we bound before it: what it counts beyond the bound is not the organization's. */
export const creditsSpent = (used: Tokens, held: number): number => Math.min(held, creditsFor(used));

/** With fewer credits than the most, fewer tokens in the same proportion. */
export function limitsWithin(limits: Limits, held: number): Tokens {
  const share = Math.min(1, (held * tokensPerCredit) / (limits.inputTokens + limits.outputTokens));
  const bounded = (tokens: number): number => Math.max(1, Math.floor(tokens * share));
  return { inputTokens: bounded(limits.inputTokens), outputTokens: bounded(limits.outputTokens) };
}
