// The proof of a publication: how fast the reads of a version were on the real records, and what to do next.
import { useEffect, useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { Copy, publicRequest } from '../../parts/copy.tsx';
import { Pending, Warnings } from '../../parts/detail.tsx';
import { Section } from '../../parts/page.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { toReferencePath } from './published.tsx';
import { formatMs, SlowReads } from './slow-reads.tsx';
import type { Version } from './use-draft.ts';

type Report = Answer<'/api-schema/{id}/publication'>;

/**
 * The report of a publication. While something is `awaited` it is read often at first, because most end soon,
 * and then 6 times a minute.
 */
export function useReport(id: string, awaited: boolean) {
  const [everyMs, setEveryMs] = useState(2_500);
  useEffect(() => {
    if (!awaited) return;
    setEveryMs(2_500);
    const timer = setTimeout(() => setEveryMs(10_000), 15_000);
    return () => clearTimeout(timer);
  }, [awaited]);
  return useGet('/api-schema/{id}/publication', { path: { id } }, { everyMs: awaited ? everyMs : undefined });
}

export function Proof({ version }: { version: Version }) {
  const { id, status, endpoints } = version;
  /** Of the report that a new one is awaited for. */
  const [replaced, setReplaced] = useState<string | null>();
  const isMeasuring = replaced !== undefined;
  const { data, error, reload } = useReport(id, isMeasuring);
  useEffect(() => {
    if (data?.madeAt !== replaced) setReplaced(undefined);
  }, [data]);
  const measure = async (): Promise<void> => {
    if (isMeasuring) return;
    const { data: current } = await api.POST('/api-schema/{id}/prove', { params: { path: { id } } });
    setReplaced(current?.madeAt ?? null);
  };
  if (data === undefined) return <Pending error={error} reload={reload} />;
  const again = may('api-schema:publish') && status !== 'retired';
  return (
    <div class="stack">
      <p class="note good">
        {version.version} is published: {formatCount(endpoints.length, 'resource')} can be read by API keys.
      </p>
      <NextSteps version={version} />
      <Section
        title="What was proved"
        actions={again && <ActionButton label={isMeasuring ? 'Measuring…' : 'Measure again'} run={measure} />}
      >
        <ProofOf report={data} />
      </Section>
    </div>
  );
}

function NextSteps({ version }: { version: Version }) {
  const path = `${version.version}/${version.endpoints[0]?.name}`;
  const links = [
    [true, toReferencePath(version), 'Open the reference'],
    [may('api-key:create'), `${base}/keys/new`, 'Create an API key'],
    [may('record:read'), `${base}/data/${path}`, 'Browse the records'],
  ] as const;
  return (
    <Section title="First request">
      <div class="stack">
        <p class="row">
          {links.map(
            ([isAllowed, to, title]) =>
              isAllowed && (
                <a key={to} class={to.endsWith('/keys/new') ? 'button primary' : 'button'} href={to}>
                  {title}
                </a>
              ),
          )}
        </p>
        <Copy text={publicRequest(`/${path}?pageSize=5`)} />
      </div>
    </Section>
  );
}

function ProofOf({ report: { proof, records, pairs, madeAt } }: { report: Report }) {
  if (proof === null) return <p class="muted">Its reads were not measured.</p>;
  const rows = records.reduce((sum, { rows: own }) => sum + own, 0);
  const isWithinLimit = proof.warnings.every(({ code }) => code !== 'too_slow' && code !== 'too_costly');
  return (
    <div class="stack">
      <p>
        {formatCount(proof.tried, 'read')} were tried on the real {formatCount(rows, 'record')}, as callers
        make them, with frequent, rare and absent values{madeAt && ', '}
        <Time at={madeAt} />.{' '}
        {isWithinLimit ? 'Each ended within the time limit of reads' : 'Some took longer than reads may'}; the
        slowest took {formatMs(proof.slowestMs)} once its data was in memory.
      </p>
      <p class="fine">
        That is {formatNumber(proof.tried)} of {formatCount(proof.pairs, 'combination')} of filters, sorts,
        row scopes and groups
        {proof.tried < proof.pairs &&
          '; fewer suffice for few records, and the time for measuring is limited'}
        . Not proved: how fast reads are with more records, or many at the same time.
      </p>
      <Warnings problems={proof.warnings.filter(({ code }) => code !== 'slow_read')} />
      <SlowReads pairs={pairs} />
    </div>
  );
}
