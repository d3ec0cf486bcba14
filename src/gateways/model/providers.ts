// The providers that the operator can configure. Imported when the first model is created: the libraries are
// large, and a service without agents needs none of them.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import type { Settings } from '../../core/settings.ts';

export type Provider = {
  /** Each request passes its own fetch, which knows its deadline. */
  languageModel(request: typeof fetch): LanguageModel;
  readonly secrets: readonly string[];
};

type ModelSettings = Settings['models'];

/** `name` is what follows `anthropic/`. */
export function anthropicProvider(
  { apiKey, baseUrl }: NonNullable<ModelSettings['anthropic']>,
  name: string,
): Provider {
  return {
    languageModel: (request) => createAnthropic({ apiKey, baseURL: baseUrl, fetch: request })(name),
    secrets: [apiKey],
  };
}

/** `name` is what follows `openai-compatible/`; it may contain slashes. */
export function openAiCompatibleProvider(
  { apiKey, baseUrl }: NonNullable<ModelSettings['openAiCompatible']>,
  name: string,
): Provider {
  return {
    languageModel: (request) =>
      createOpenAICompatible({
        name: 'openai-compatible',
        baseURL: baseUrl,
        fetch: request,
        includeUsage: true,
        ...(apiKey !== null && { apiKey }),
      })(name),
    secrets: apiKey === null ? [] : [apiKey],
  };
}
