// Creates a model by the name that agents store: `offline`, or `<provider>/<model>` from the operator's list.
// Each is loaded when an agent uses it.
import type { Ctx } from '../../core/ctx.ts';
import type { Settings } from '../../core/settings.ts';
import { type Model, ModelError } from './model.ts';

export const offlineModelName = 'offline';

/** The model names that an agent may use, the default first. The offline model is always available. */
export const modelNames = ({ models }: Pick<Settings, 'models'>): readonly string[] => [
  ...models.names,
  offlineModelName,
];

/**
 * Rejects with a ModelError: of kind `rejected` for a name that is not, or no longer, configured, and
 * `unavailable` for the built-in model where it is left out.
 */
export async function createModel(ctx: Pick<Ctx, 'clock' | 'settings'>, name: string): Promise<Model> {
  if (name === offlineModelName) {
    // An installation may leave its folder out.
    const { createOfflineModel } = await import('./offline/offline-model.ts').catch((cause: unknown) => {
      throw new ModelError('unavailable', 'This installation does not include the built-in model', { cause });
    });
    return createOfflineModel(ctx);
  }
  const { anthropic, openAiCompatible, names } = ctx.settings.models;
  const [provider = '', ...rest] = name.split('/');
  const model = rest.join('/');
  if (names.includes(name) && (anthropic !== null || openAiCompatible !== null)) {
    const [{ anthropicProvider, openAiCompatibleProvider }, { createProviderModel: openProviderModel }] =
      await Promise.all([import('./providers.ts'), import('./provider-model.ts')]);
    if (provider === 'anthropic' && anthropic !== null)
      return openProviderModel(ctx, name, anthropicProvider(anthropic, model));
    if (provider === 'openai-compatible' && openAiCompatible !== null)
      return openProviderModel(ctx, name, openAiCompatibleProvider(openAiCompatible, model));
  }
  throw new ModelError('rejected', 'This model is not configured on this service');
}
