// The providers that the operator configured. Loaded with the first question to one of them: the libraries are large, and a service
// without agents needs none.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import type { Settings } from '../../core/settings.ts';

export type Provider = {
  /** Each request brings its own fetch, which knows its deadline. */
  languageModel(request: typeof fetch): LanguageModel;
  readonly secrets: readonly string[];
};

type ModelSettings = Settings['models'];

/** `name` is what follows `anthropic/`. */
export function anthropicProvider({ apiKey, baseUrl }: NonNullable<ModelSettings['anthropic']>, name: string): Provider {
  return {
    languageModel: (request) => createAnthropic({ apiKey, baseURL: baseUrl, fetch: request })(name),
    secrets: [apiKey],
  };
}

/** `name` is what follows `openai-compatible/`; it may hold slashes of its own. */
export function openAiCompatibleProvider({ apiKey, baseUrl }: NonNullable<ModelSettings['openAiCompatible']>, name: string): Provider {
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
