export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

/** A state in a word, shown by its colour and by the word. */
export const Badge = ({ tone = 'calm', children }: { tone?: Tone; children: string }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

const runTones: Readonly<Record<string, Tone>> = {
  succeeded: 'good',
  partial: 'warn',
  failed: 'bad',
  cancelled: 'calm',
  running: 'busy',
  pending: 'busy',
  queued: 'busy',
  published: 'good',
  draft: 'calm',
  deprecated: 'warn',
  retired: 'calm',
};

/** The state of a run or a version. */
export const StatusBadge = ({ status }: { status: string }) => (
  <span class={`badge status ${runTones[status] ?? 'calm'}`}>{status.replaceAll('_', ' ')}</span>
);
