// Texts of alert mails: what happened, since when, and what to do. Pure.
import type { MailContent } from '../../mail/index.ts';
import type { RunError } from '../queue/retry.ts';
import type { SyncConfigRow } from '../queue/runs.store.ts';

export type Health = 'green' | 'failing' | 'held' | 'stale' | 'stale-held' | 'paused';

export type HealthChange = {
  readonly health: Health;
  /** What is wrong; null when nothing is. */
  readonly problem: RunError | null;
  /** The run that revealed it; null when a person caused the change. */
  readonly runId: string | null;
  /** The proposal of the deletions that are held back. */
  readonly held?: HeldRecords | null;
};
/** `shown`: document numbers or ids of the first records, no names or amounts: mail isn't confidential. */
export type HeldRecords = {
  readonly proposalId: string;
  readonly shown: readonly string[];
  readonly count: number;
};
type FreshnessSubject = Pick<
  SyncConfigRow,
  'id' | 'name' | 'record_type' | 'enabled' | 'paused_reason' | 'freshness_target'
>;
export type AlertSubject = { readonly id: string; readonly name: string; readonly recordType: string };

const instantText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const titles: Readonly<Record<Health, (name: string, problem: RunError | null) => string>> = {
  green: (name) => `Sync ${name} has recovered`,
  failing: (name, problem) =>
    problem?.code === 'RECORDS_REJECTED'
      ? `Sync ${name} could not store every record`
      : `Sync ${name} failed`,
  held: (name) => `Sync ${name} is holding back deletions`,
  stale: (name) => `Sync ${name} can't update some fields`,
  'stale-held': (name) => `Sync ${name} can't update some fields and is holding back deletions`,
  paused: (name) => `Sync ${name} is paused`,
};

const staleText =
  'Everything else was published, and scheduled runs continue. The last values of these fields stay available, and API responses name the fields as stale.';

const nextRuns: Readonly<Record<Health, string>> = {
  green: '',
  failing: 'Scheduled runs continue, and data that was published earlier stays available.',
  held: 'Everything else was published, and scheduled runs continue. The affected records stay available until their deletion is approved.',
  stale: staleText,
  'stale-held': `${staleText} The absent records stay available until their deletion is approved.`,
  paused: 'No scheduled run starts until this is fixed. Data that was published earlier stays available.',
};

const reasonForMail = (name: string): string =>
  `You receive this mail because your address is on the alert list of the sync ${name}. One mail is sent for each change of its state.`;

const heldText = ({ shown, count }: HeldRecords, proposal: string): string => {
  const more = count - shown.length;
  return `Records, by number or id: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}. The proposal: ${proposal}`;
};

/** `since` is when the sync stopped being healthy. */
export function healthMail(
  config: AlertSubject,
  { health, problem, runId, held = null }: HealthChange,
  since: Date,
  publicUrl: string,
): MailContent {
  const sync = `${publicUrl}/console/syncs/${config.id}`;
  const proposal = held === null ? null : `${sync}/deletions/${held.proposalId}`;
  const about = `Sync: ${config.name}, record type ${config.recordType}.`;
  // Runs that earlier releases stored have `{id}` in their fix.
  const fix = problem?.fix.replaceAll('{id}', config.id) ?? '';
  const paragraphs =
    health === 'green'
      ? [
          about,
          `The last run succeeded. The sync had been unhealthy since ${instantText(since)}.`,
          'No action is needed.',
        ]
      : [
          about,
          `What happened: ${problem?.message ?? 'the run did not succeed'}${problem === null ? '' : ` (${problem.code})`}.`,
          `Since: ${instantText(since)}.`,
          `What to do: ${fix === '' ? "See the run's log." : fix}`,
          ...(held === null || proposal === null ? [] : [heldText(held, proposal)]),
          nextRuns[health],
        ];
  return {
    title: titles[health](config.name, problem),
    paragraphs,
    action:
      proposal !== null && health === 'held'
        ? { label: 'View the proposal', url: proposal }
        : runId === null
          ? { label: 'View the sync', url: sync }
          : { label: 'View the run', url: `${publicUrl}/console/runs/${runId}` },
    notes: [reasonForMail(config.name)],
  };
}

/** What keeps runs from starting by themselves; null when nothing does. */
function describeHalt({ enabled, paused_reason: paused }: FreshnessSubject): string | null {
  if (paused !== null) return `The sync is paused: ${paused.message} (${paused.code}). ${paused.fix}`;
  return enabled ? null : 'The sync is disabled: no run starts by itself. Enable it, or remove its target.';
}

/** `syncedAt`: when the data were read, RFC 3339; null before the first run that published. */
export function freshnessMail(
  config: FreshnessSubject,
  { isStale, syncedAt }: { readonly isStale: boolean; readonly syncedAt: string | null },
  publicUrl: string,
): MailContent {
  const { id, name, record_type: recordType, freshness_target: target } = config;
  const minutes = `${target} ${target === 1 ? 'minute' : 'minutes'}`;
  const from =
    syncedAt === null
      ? 'No run has published data yet.'
      : `The data are from ${instantText(new Date(syncedAt))}.`;
  return {
    title: isStale
      ? `The data of sync ${name} are older than ${minutes}`
      : target === null
        ? `Sync ${name} has no freshness target any more`
        : `The data of sync ${name} are fresh again`,
    paragraphs: [
      `Sync: ${name}, record type ${recordType}.`,
      from,
      ...(target === null ? [] : [`Its freshness target is ${minutes}.`]),
      isStale
        ? `What to do: ${describeHalt(config) ?? "See the sync's runs: they fail, take too long or are too rare."}`
        : 'No action is needed.',
    ],
    action: { label: 'View the sync', url: `${publicUrl}/console/syncs/${id}` },
    notes: [reasonForMail(name)],
  };
}

/** `daysLeft` is negative once the certificate has expired. */
export function certificateMail(
  organization: string,
  notAfter: Date,
  daysLeft: number,
  publicUrl: string,
): MailContent {
  const days = Math.floor(daysLeft);
  const expiry =
    daysLeft < 0
      ? 'has expired'
      : days === 0
        ? 'expires today'
        : `expires in ${days} ${days === 1 ? 'day' : 'days'}`;
  return {
    title: `The ERP certificate of ${organization} ${expiry}`,
    paragraphs: [
      `The certificate that signs this service in to the ERP ${daysLeft < 0 ? 'expired' : 'expires'} on ${instantText(notAfter)}. Without a valid certificate, every sync of ${organization} is paused.`,
      `What to do: create a new certificate, upload it in the ERP, and enter its certificate id in the connection. The current certificate keeps signing until then.`,
    ],
    action: { label: 'View the connection', url: `${publicUrl}/console/connection` },
    notes: [`You receive this mail because your address is on the alert list of a sync of ${organization}.`],
  };
}
