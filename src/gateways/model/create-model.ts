// Finds a model by its name, as agents carry it: `offline`, or `<provider>/<model>` of those that the operator lists.
import type { Ctx } from '../../core/ctx.ts';
import type { Settings } from '../../core/settings.ts';
import { type Model, ModelError } from './model.ts';
import { openOfflineModel } from './offline/offline-model.ts';

export const offlineName = 'offline';

/** What an agent may name, the default first. The offline model is always there. */
export const modelNames = ({ models }: Pick<Settings, 'models'>): readonly string[] => [...models.names, offlineName];

/** Throws a ModelError of kind `rejected` for a name that is not configured (any more). */
export async function openModel(ctx: Pick<Ctx, 'clock' | 'settings'>, name: string): Promise<Model> {
  if (name === offlineName) return openOfflineModel(ctx);
  const { anthropic, openAiCompatible, names } = ctx.settings.models;
  const [provider = '', ...rest] = name.split('/');
  const model = rest.join('/');
  if (names.includes(name) && (anthropic !== null || openAiCompatible !== null)) {
    const [{ anthropicProvider, openAiCompatibleProvider }, { openProviderModel }] = await Promise.all([
      import('./providers.ts'),
      import('./provider-model.ts'),
    ]);
    if (provider === 'anthropic' && anthropic !== null) return openProviderModel(ctx, name, anthropicProvider(anthropic, model));
    if (provider === 'openai-compatible' && openAiCompatible !== null)
      return openProviderModel(ctx, name, openAiCompatibleProvider(openAiCompatible, model));
  }
  throw new ModelError('rejected', 'This model is not among those that the service is configured for');
}
