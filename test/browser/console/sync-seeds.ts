// Syncs for the stories of the console: made and run through the management interface, from a simulated
// account.
import { expect } from 'vitest';
import { until } from '../../setup/until.ts';
import type { ConsoleSite } from './console-site.ts';

const expectStatus = async (answer: ReturnType<ConsoleSite['api']>, status: number) => {
  const { status: got, body } = await answer;
  if (got !== status) throw new Error(`${got} ${JSON.stringify(body)}`);
  return body;
};

/** Creates a sync, and returns its id. */
export const createSync = async (
  { api }: ConsoleSite,
  recordType: string,
  more: object = {},
): Promise<string> =>
  (await expectStatus(api('post', '/sync-configs', { name: recordType, recordType, ...more }), 201)).id;

type Ended = {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly proposalId?: string } | null;
};

/** Waits for the end of a run. */
export const runEnd = ({ api }: ConsoleSite, runId: string): Promise<Ended> =>
  until(async () => {
    const run = await expectStatus(api('get', `/sync-runs/${runId}`), 200);
    return run.finishedAt === null ? undefined : run;
  });

/** Starts a run, and waits for its end. */
export async function runSync(
  site: ConsoleSite,
  syncId: string,
  mode?: 'full' | 'incremental',
): Promise<Ended> {
  const { id } = await expectStatus(
    site.api('post', `/sync-configs/${syncId}/trigger`, mode === undefined ? {} : { mode }),
    202,
  );
  return runEnd(site, id);
}

/** Publishes what the service proposes for these record types, and waits until it is published. */
export async function publishDraft({ api }: ConsoleSite, recordTypes: readonly string[]): Promise<void> {
  const { endpoints } = await expectStatus(api('post', '/api-schema/draft-from', { recordTypes }), 200);
  const { id, revision } = await expectStatus(api('post', '/api-schema', { name: 'First', endpoints }), 201);
  await expectStatus(api('post', `/api-schema/${id}/publish`, { revision }), 202);
  await until(async () =>
    (await api('get', `/api-schema/${id}`)).body.status === 'published' ? true : undefined,
  );
}

/** Runs one sync of each record type to its end. */
export async function syncRecordTypes(site: ConsoleSite, recordTypes: readonly string[]): Promise<void> {
  const ids = await Promise.all(recordTypes.map((recordType) => createSync(site, recordType)));
  for (const { status } of await Promise.all(ids.map((id) => runSync(site, id))))
    expect(status).toBe('succeeded');
}
