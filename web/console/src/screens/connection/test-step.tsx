// The last step: signs in to the account, reads what is needed, and the record types. Each problem says what to
// do and leads to the step that mends it.
import { useEffect, useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount, formatDuration } from '../../format.ts';
import { useKept } from '../../kept.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { invalidate } from '../../query.ts';
import { base } from '../../router.ts';
import { addressOf, type Connection, findFixStep, openStep, type TestReport, titleStep } from './words.ts';

type ReportedProblem = TestReport['problems'][number];

const Problems = ({
  connection: { kind, name },
  title,
  text,
  problems,
}: {
  connection: Connection;
  title: string;
  text?: string;
  problems: readonly ReportedProblem[];
}) =>
  problems.length > 0 && (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p class="muted">{text}</p>
      <ul class="cx-problems">
        {problems.map(({ code, message, fix }) => {
          const step = findFixStep(kind, code);
          return (
            <li key={`${code} ${message}`}>
              <strong>{message}</strong>
              <p>{fix}</p>
              {step && <a href={addressOf(name, step)}>Go to: {titleStep(kind, step)}</a>}
            </li>
          );
        })}
      </ul>
    </section>
  );

type ReportProps = { report: TestReport; connection: Connection };

function Report({ report: { ok, partial, account, latencyMs, problems }, connection }: ReportProps) {
  // Other kinds have no account that a person would call so.
  const what = connection.kind === 'netsuite' ? `account ${account}` : connection.name;
  const [tone, title] = ok
    ? ['good', `The service can sign in to ${what} and read it.`]
    : partial
      ? ['warn', `The service can sign in to ${what}, but can't read everything that is synced.`]
      : ['bad', `The service can't read ${what}.`];
  return (
    <>
      <p class={`note ${tone}`} role="status">
        <strong>{title}</strong> The test took {formatDuration(latencyMs)}.
      </p>
      <Problems
        connection={connection}
        title="What to do"
        problems={problems.filter(({ recordTypes }) => recordTypes === undefined)}
      />
      <Problems
        connection={connection}
        title="What the role can't see"
        text={
          ok
            ? 'No enabled sync needs it: grant the permission only to sync it too.'
            : 'Enabled syncs need it: grant the permissions in the ERP, then test again.'
        }
        problems={problems.filter(({ recordTypes }) => recordTypes !== undefined)}
      />
    </>
  );
}

/** How many record types the account has. Reads them unless that was done before. Rejects with an ApiError. */
async function readRecordTypes(path: { connection: string }): Promise<number> {
  const params = { path, query: { pageSize: 1 } };
  const { data: known } = await api.GET('/connections/{connection}/metadata', { params });
  const read =
    known?.notListed === null
      ? known
      : (await api.POST('/connections/{connection}/metadata/refresh', { params: { path } })).data;
  await invalidate('/connections/{connection}/metadata', '/overview');
  return read?.pagination.total ?? 0;
}

/** The test, and after one that could sign in the record types: how many, or that they are being read. */
function useTest(connection: string) {
  const [types, setTypes] = useState<number | 'reading' | null>(null);
  const [report, setReport] = useKept<TestReport | null>(`test of ${connection}`, null);
  const { busy, error, submit } = useAction(async () => {
    const path = { connection };
    const { data } = await api.POST('/connections/{connection}/test', { params: { path } });
    await invalidate('/connections', '/sync-configs', '/overview');
    setReport(data ?? null);
    if (!data?.ok && !data?.partial) return;
    setTypes('reading');
    setTypes(await readRecordTypes(path));
  });
  const start = (): void => {
    setTypes(null);
    submit();
  };
  return { types, report, busy, error, start };
}

/** Tests the connection, at once when `starts`. */
export function ConnectionTest({ connection, starts }: { connection: Connection; starts: boolean }) {
  const { name, kind, status, lastError, lastTestedAt } = connection;
  const { types, report, busy, error, start } = useTest(name);
  useEffect(() => {
    if (starts) start();
  }, []);
  const isConnected = status === 'connected';
  const isTesting = busy && types === null;
  // Only while it still says what the service knows.
  const current = status !== 'untested' && report?.ok === isConnected ? report : null;
  return (
    <div class="stack">
      {isTesting && (
        <Working
          label={kind === 'netsuite' ? 'Signing in and reading one row of each table' : 'Signing in'}
        />
      )}
      {!isTesting && current !== null && <Report report={current} connection={connection} />}
      {busy && types === 'reading' && (
        <Working label="Reading the record types of the account, which takes up to a few minutes" />
      )}
      {typeof types === 'number' && <p>{formatCount(types, 'record type')} can be chosen from.</p>}
      <Problem error={error} />
      {!busy && current === null && lastError !== null && (
        <p class="note bad">
          <strong>{lastError}</strong> Test the connection to see what to do.
        </p>
      )}
      <div class="row">
        <button type="button" class={isConnected ? '' : 'primary'} disabled={busy} onClick={start}>
          {lastTestedAt === null ? 'Test the connection' : 'Test again'}
        </button>
        {isConnected && !busy && (
          <a class="button primary" href={`${base}/record-types?connection=${name}`}>
            Choose record types
          </a>
        )}
      </div>
    </div>
  );
}

export const TestStep = ({ connection }: { connection: Connection }) => (
  <ConnectionTest
    connection={connection}
    starts={connection.status === 'untested' && openStep(connection) === null}
  />
);
