// The words of alert mails: what happened, since when, what to do. Pure.
import type { MailContent } from '../mail/index.ts';
import type { RunError } from './retry.ts';

export type Health = 'green' | 'unwell' | 'held' | 'paused';

export type HealthNews = {
  readonly health: Health;
  /** What is wrong; null when nothing is. */
  readonly problem: RunError | null;
  /** The run that showed it; null where a person did it. */
  readonly runId: string | null;
};
export type Subject = { readonly id: string; readonly name: string; readonly recordType: string };

const instantText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const titles: Readonly<Record<Health, (name: string, problem: RunError | null) => string>> = {
  green: (name) => `Sync ${name} is well again`,
  unwell: (name, problem) => (problem?.code === 'RECORDS_REJECTED' ? `Sync ${name} leaves records out` : `Sync ${name} failed`),
  held: (name) => `Sync ${name} holds deletions back`,
  paused: (name) => `Sync ${name} is paused`,
};

const nextRuns: Readonly<Record<Health, string>> = {
  green: '',
  unwell: 'Runs go on as scheduled, and what was published before stays served.',
  held: 'Everything else was published, and runs go on as scheduled. The records in question stay served until someone decides.',
  paused: 'No scheduled run starts until this is put right. What was published before stays served.',
};

const why = (name: string): string =>
  `You get this mail because your address is on the alert list of the sync ${name}. One mail is sent each time its state changes.`;

/** `since` is when it stopped being well. */
export function healthMail(config: Subject, { health, problem, runId }: HealthNews, since: Date, publicUrl: string): MailContent {
  const base = `${publicUrl}/api/platform/v1`;
  const about = `Sync: ${config.name}, record type ${config.recordType}.`;
  const fix = problem?.fix.replaceAll('{id}', config.id) ?? '';
  const words =
    health === 'green'
      ? [about, `The last run succeeded. The sync had not been well since ${instantText(since)}.`, 'There is nothing to do.']
      : [
          about,
          `What happened: ${problem?.message ?? 'the run did not succeed'}${problem === null ? '' : ` (${problem.code})`}.`,
          `Since when: ${instantText(since)}.`,
          `What to do: ${fix === '' ? "See the run's log." : fix}`,
          nextRuns[health],
        ];
  return {
    title: titles[health](config.name, problem),
    paragraphs: words,
    action:
      runId === null
        ? { label: 'See the sync', url: `${base}/sync-configs/${config.id}` }
        : { label: 'See the run', url: `${base}/sync-runs/${runId}` },
    notes: [why(config.name)],
  };
}

/** `daysLeft` below 0 when it is over. */
export function certificateMail(organization: string, notAfter: Date, daysLeft: number, publicUrl: string): MailContent {
  const base = `${publicUrl}/api/platform/v1/netsuite/connection`;
  const days = Math.floor(daysLeft);
  const ending = daysLeft < 0 ? 'has ended' : days === 0 ? 'ends today' : `ends in ${days} ${days === 1 ? 'day' : 'days'}`;
  return {
    title: `The ERP certificate of ${organization} ${ending}`,
    paragraphs: [
      `The certificate that signs this service in to the ERP ${daysLeft < 0 ? 'ended' : 'ends'} on ${instantText(notAfter)}. Without a valid one every sync of ${organization} is paused.`,
      `What to do: make a new certificate with POST ${base}/certificate, upload it in the ERP, and name its certificate id with PUT ${base}. The present one goes on signing until then.`,
    ],
    action: { label: 'See the connection', url: base },
    notes: [`You get this mail because your address is on the alert list of a sync of ${organization}.`],
  };
}
