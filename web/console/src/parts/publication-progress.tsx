// How far the service is with making reads ready, for a version or for the portal: indexes, then trying the reads.
import { formatDuration, sentenceCase } from '../format.ts';
import { Progress } from './plot.tsx';

const steps: Readonly<Record<string, string>> = {
  'trying its reads': 'Measuring reads on the real records',
  'tables pending': 'Waiting until the records have been moved',
};

type Publication = {
  readonly progress: {
    readonly step: string;
    readonly done: number;
    readonly total: number;
    readonly estimatedSecondsLeft: number | null;
  };
};

/** One bar over all steps, which the service names as its log does. */
export function PublicationProgress({ publication }: { publication: Publication | null }) {
  if (publication === null) return null;
  const { step, done, total, estimatedSecondsLeft: left } = publication.progress;
  const text = steps[step] ?? sentenceCase(step);
  if (total <= 1) return <Progress done={done} total={null} label={text} />;
  const parts = [
    `${Math.floor((done / total) * 100)} %`,
    text,
    left !== null && `about ${formatDuration(left * 1000)} left`,
  ];
  return <Progress done={done} total={total} label={parts.filter(Boolean).join(' · ')} />;
}
