// Record types of the simulated account, synced into the organization of a story.
import { until } from '../../setup/until.ts';
import type { ConsoleSite } from './console-site.ts';

/** Runs one sync of each record type to its end. Needs `erp: 'connected'` and `background: true`. */
export async function syncRecordTypes({ api }: ConsoleSite, recordTypes: readonly string[]): Promise<void> {
  const made = await Promise.all(
    recordTypes.map((recordType) => api('post', '/sync-configs', { name: recordType, recordType })),
  );
  const ids = made.map(({ body }) => body.id as string);
  for (const id of ids) await api('post', `/sync-configs/${id}/trigger`, {});
  for (const id of ids)
    await until(async () =>
      (await api('get', `/sync-configs/${id}`)).body.lastRun?.status === 'succeeded' ? true : undefined,
    );
}
