// How many tokens an answer used. A provider's own count is accepted only where it is possible; otherwise the
// bytes that were sent and received are counted instead, so that a missing or absurd count neither costs
// nothing nor ends up in the books.
import type { ModelUsage } from './model.ts';

/** For counts of our own; about right for prose and JSON in most languages. */
const bytesPerToken = 4;
/**
 * Higher than in any language: a provider that counts fewer tokens, or sends more bytes than its limit of
 * tokens allows, is wrong.
 */
export const maxBytesPerToken = 100;
/** Of a response on its way: each token may come in an event of its own. */
const maxEventBytes = 2_000;
const minResponseBytes = 1024 * 1024;
const maxResponseBytes = 64 * 1024 * 1024;
/** How many bytes the response to one call may have, with everything around what the model wrote. */
export const responseLimit = (maxOutputTokens: number): number =>
  Math.min(maxResponseBytes, minResponseBytes + maxOutputTokens * maxEventBytes);

/** What a provider may add, such as instructions for tools. Other tokens have at least one byte each. */
const maxAddedTokens = 4_000;

/** One call of the model. */
export type Traffic = {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly maxOutputTokens: number;
};
type Reported = { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined };

/** By the number of bytes: the usage of an interrupted call, or of one whose provider reports none usable. */
export const estimateUsage = ({ sentBytes, receivedBytes, maxOutputTokens }: Traffic): ModelUsage => ({
  inputTokens: Math.ceil(sentBytes / bytesPerToken),
  outputTokens: Math.min(maxOutputTokens, Math.ceil(receivedBytes / bytesPerToken)),
});

const isPossible = (tokens: number | undefined, bytes: number, max: number): tokens is number =>
  Number.isSafeInteger(tokens) && tokens !== undefined && tokens >= bytes / maxBytesPerToken && tokens <= max;

/** The provider's counts, each replaced by an estimate where it is missing or impossible. */
export function usableUsage({ inputTokens, outputTokens }: Reported, traffic: Traffic): ModelUsage {
  const estimated = estimateUsage(traffic);
  const { sentBytes, receivedBytes, maxOutputTokens } = traffic;
  return {
    inputTokens: isPossible(inputTokens, sentBytes, sentBytes + maxAddedTokens)
      ? inputTokens
      : estimated.inputTokens,
    outputTokens: isPossible(outputTokens, receivedBytes, maxOutputTokens)
      ? outputTokens
      : estimated.outputTokens,
  };
}

export const addUsage = (a: ModelUsage, b: ModelUsage): ModelUsage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
});
