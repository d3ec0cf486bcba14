// Publishes a version through the management interface.
import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from '../../setup/api.ts';
import type { Shape } from './account.ts';
import { toEndpoint } from './published.ts';
import { ask } from './run-report.ts';

const withinMs = 30_000;

async function waitForEnd(api: Api, id: string): Promise<string | null> {
  for (const end = performance.now() + withinMs; ; ) {
    const { status, publication } = await ask(200, () => api('get', `/api-schema/${id}`));
    if (status === 'published') return null;
    if (publication?.status === 'failed') return JSON.stringify(publication);
    if (performance.now() > end) return 'the publication takes too long';
    await pause(20);
  }
}

/**
 * Resolves to the version's label, such as v1, and to why it can't be published now, or null. Rejects with an
 * Error when the interface doesn't answer as documented.
 */
export async function publish(
  api: Api,
  shapes: readonly Shape<string>[],
): Promise<{ version: string; problem: string | null }> {
  const draft = await ask(201, () =>
    api('post', '/api-schema', { name: 'Everything', endpoints: shapes.map(toEndpoint) }),
  );
  const begun = await api('post', `/api-schema/${draft.id}/publish`, { revision: draft.revision });
  const problem =
    begun.status === 202 ? await waitForEnd(api, draft.id) : JSON.stringify(begun.body).slice(0, 600);
  if (problem !== null) await api('delete', `/api-schema/${draft.id}`);
  return { version: draft.version, problem };
}
