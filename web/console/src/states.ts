// What the states of syncs, runs, versions and connections are called, with their tone: the same in lists, on
// screens of one object and on the overview.
import type { Answer, Item } from './api.ts';
import type { State, States } from './parts/detail.tsx';

type RunStatus = Item<'/sync-runs'>['status'];

export const runStates: States<RunStatus> = {
  queued: ['busy', 'Queued'],
  running: ['busy', 'Running'],
  waiting: ['warn', 'Waiting'],
  publishing: ['busy', 'Publishing'],
  succeeded: ['good', 'Succeeded'],
  partial: ['warn', 'Partial'],
  failed: ['bad', 'Failed'],
  cancelled: ['calm', 'Cancelled'],
};

export const isOpen = ({ status }: { status: RunStatus }): boolean =>
  ['queued', 'running', 'waiting', 'publishing'].includes(status);

type SyncState = NonNullable<Answer<'/overview'>['syncs']>['configs'][number]['state'];

export const syncStates: States<SyncState> = {
  paused: ['warn', 'Paused'],
  failing: runStates.failed,
  held: ['warn', 'Deletions held'],
  drift: ['warn', 'Fields missing'],
  partial: runStates.partial,
  stale: ['bad', 'Behind'],
  new: ['calm', 'Never ran'],
  running: runStates.running,
  ok: ['good', 'Up to date'],
  disabled: ['calm', 'Disabled'],
};

/** The state of a sync, the most pressing first. */
export function syncState(sync: Item<'/sync-configs'>): State {
  const { status, lastRun, heldDeletions, staleFields, freshness } = sync;
  if (status !== 'active') return syncStates[status];
  if (lastRun === null) return syncStates.new;
  if (isOpen(lastRun)) return runStates[lastRun.status];
  if (lastRun.status === 'failed') return syncStates.failing;
  if (staleFields.length > 0) return syncStates.drift;
  if (heldDeletions !== null) return syncStates.held;
  if (lastRun.status === 'partial') return syncStates.partial;
  return freshness?.isStale === true ? syncStates.stale : syncStates.ok;
}

export const versionStates: States<Item<'/api-schema'>['status']> = {
  draft: ['calm', 'Draft'],
  published: ['good', 'Published'],
  deprecated: ['warn', 'Deprecated'],
  retired: ['calm', 'Retired'],
};

/** The state of a version; `publication` is how its last one goes or ended. */
export function versionState(status: keyof typeof versionStates, publication: string | undefined): State {
  if (status === 'draft' && publication === 'running') return runStates.publishing;
  if (status === 'draft' && publication === 'failed') return ['bad', 'Not published'];
  return versionStates[status];
}

export const connectionStates: States<Answer<'/connections/{connection}'>['status']> = {
  untested: ['calm', 'Not tested'],
  connected: ['good', 'Connected'],
  failed: ['bad', 'Failed'],
};

export const portalStates: States<Answer<'/portal/access'>['status']> = {
  off: ['calm', 'Off'],
  preparing: ['busy', 'Preparing'],
  failed: runStates.failed,
  on: ['good', 'On'],
};
