// The log of a run: live while it is open, in pages afterwards.
import { useState } from 'preact/hooks';
import { formatNumber, sentenceCase } from '../../format.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Section } from '../../parts/page.tsx';
import { type Column, Pager, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import type { RunEvent } from './follow-run.ts';

const tones: Readonly<Record<RunEvent['level'], Tone>> = { info: 'calm', warning: 'warn', error: 'bad' };

/** `recordType` is `Record type`. */
const toWords = (name: string): string =>
  sentenceCase(name.replace(/[A-Z_]+/g, (part) => ` ${part.replaceAll('_', '').toLowerCase()}`));

const instant = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** Instants in the viewer's zone, numbers in the viewer's digits. */
function Detail({ value }: { value: unknown }) {
  if (typeof value === 'string' && instant.test(value)) return <Time at={value} />;
  if (typeof value === 'number' && Number.isInteger(value)) return <span>{formatNumber(value)}</span>;
  return typeof value === 'string' ? <span>{value}</span> : <code>{JSON.stringify(value)}</code>;
}

const columns: readonly Column<RunEvent>[] = [
  { title: 'At', cell: ({ at }) => <Time at={at} seconds /> },
  { title: 'Level', minor: true, cell: ({ level }) => <Badge tone={tones[level]}>{level}</Badge> },
  {
    title: 'Event',
    cell: ({ message, data }) => (
      <>
        {message}
        {Object.keys(data).length > 0 && (
          <details class="fine">
            <summary>Details</summary>
            <ul class="bullets">
              {Object.entries(data).map(([name, value]) => (
                <li key={name}>
                  {toWords(name)}: <Detail value={value} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </>
    ),
  },
];

type LogProps = Pick<Parameters<typeof Table<RunEvent>>[0], 'rows' | 'error' | 'retry'>;

const Log = (props: LogProps) => (
  <div class="events">
    <Table
      label="Log of the run"
      columns={columns}
      rowKey={({ at, message }) => `${at} ${message}`}
      empty={<p class="muted">No events. The log of a run is kept for 30 days.</p>}
      {...props}
    />
  </div>
);

/** The log of a run that has ended, read when it is opened. */
function EndedLog({ runId }: { runId: string }) {
  const [open, setOpen] = useState(false);
  const [page, setPage] = useState(1);
  const { data, error, reload } = useGet(open ? '/sync-runs/{id}/events' : null, {
    path: { id: runId },
    query: { page, pageSize: 50 },
  });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show the log of the run</summary>
      {open && <Log rows={data?.data} error={error} retry={() => void reload()} />}
      <Pager pagination={data?.pagination} onPage={setPage} />
    </details>
  );
}

/** `live`: what an open run has logged so far. */
export const Events = ({ runId, live }: { runId: string; live: readonly RunEvent[] | undefined }) => (
  <Section title="Events">{live === undefined ? <EndedLog runId={runId} /> : <Log rows={live} />}</Section>
);
