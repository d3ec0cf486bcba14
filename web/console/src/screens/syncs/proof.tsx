// What a run compared with the ERP before it published: each check in the service's words, with its numbers
// and its result.
import type { Answer } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { type States, WordBadge } from '../../parts/detail.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { TextWithTimes } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';

type Check = Answer<'/sync-runs/{id}/proof'>['checks'][number];

const titles: Readonly<Record<string, string>> = {
  pages: 'Every page was read',
  count: 'Number of records',
  staged: 'Every record that was read is stored',
  fields: 'Fields',
  lines: "Lines against the ERP's own totals",
  absent: 'Records that no page contained',
  changed: 'Records that changed',
  open: 'Open records and those closed recently',
  rolling: 'Part of the full read',
  feed: 'Deletions that the ERP lists',
  scan: 'All records, field by field',
  volume: 'Compared with the runs before',
};

function describeResult({ check, passed, facts }: Check): States<string>[string] {
  if (!passed) return check === 'fields' ? ['warn', 'Incomplete'] : ['bad', 'Differs'];
  return facts['level'] === 'warning' ? ['warn', 'Unusual'] : ['good', 'Agrees'];
}

const columns: readonly Column<Check>[] = [
  {
    title: 'What was compared',
    cell: ({ check, message }) => (
      <>
        {titles[check] ?? check}
        <p class="fine check-text">
          <TextWithTimes text={`${message}.`} />
        </p>
      </>
    ),
  },
  { title: 'Result', cell: (check) => <WordBadge state={describeResult(check)} /> },
];

/** The proof of a run that has ended. */
export function Proof({ runId }: { runId: string }) {
  const { data, error, reload } = useGet('/sync-runs/{id}/proof', { path: { id: runId } });
  const checks = data?.checks ?? [];
  const counted = checks.find(({ check }) => check === 'count' || check === 'scan');
  return (
    <Section title="Proof">
      <div class="stack">
        {checks.length > 0 && (
          <p class="muted">
            Compared with the ERP before publishing.{' '}
            {counted && <TextWithTimes text={`${counted.message.split('. ')[0]}. `} />}
            {checks.filter(({ passed }) => passed).length} of {formatCount(checks.length, 'check')} agree.
          </p>
        )}
        <Table
          label="Comparisons"
          columns={columns}
          rows={data?.checks}
          rowKey={({ check }) => check}
          error={error}
          retry={() => void reload()}
          empty={
            <Empty title="Nothing was proved.">
              <p>
                The run ended before it could compare what it read with the ERP, so nothing of it was
                published.
              </p>
            </Empty>
          }
        />
      </div>
    </Section>
  );
}
