// Step 3: signs in to the account, reads one row of each table, and the record types. Each problem says what to
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
import { type Connection, fixSteps, openStep, stepAddress, stepTitles, type TestReport } from './words.ts';

type ReportedProblem = TestReport['problems'][number];

const Problems = ({
  title,
  text,
  problems,
}: {
  title: string;
  text?: string;
  problems: readonly ReportedProblem[];
}) =>
  problems.length > 0 && (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p class="muted">{text}</p>
      <ul class="cx-problems">
        {problems.map(({ code, message, fix }) => (
          <li key={`${code} ${message}`}>
            <strong>{message}</strong>
            <p>{fix}</p>
            <p class="row">
              {fixSteps[code]?.map((step) => (
                <a key={step} href={stepAddress(step)}>
                  Go to: {stepTitles[step]}
                </a>
              ))}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );

function Report({ ok, partial, account, latencyMs, problems }: TestReport) {
  const [tone, title] = ok
    ? ['good', `The service can sign in to account ${account} and read it.`]
    : partial
      ? ['warn', `The service can sign in to account ${account}, but can't read everything that is synced.`]
      : ['bad', `The service can't read account ${account}.`];
  return (
    <>
      <p class={`note ${tone}`} role="status">
        <strong>{title}</strong> The test took {formatDuration(latencyMs)}.
      </p>
      <Problems
        title="What to do"
        problems={problems.filter(({ recordTypes }) => recordTypes === undefined)}
      />
      <Problems
        title="What the role can't see"
        text={
          ok
            ? 'No enabled sync needs it: grant the permission only to sync it too.'
            : 'Enabled syncs need it: grant the permissions in NetSuite, then test again.'
        }
        problems={problems.filter(({ recordTypes }) => recordTypes !== undefined)}
      />
    </>
  );
}

/** How many record types the account has. Reads them unless that was done before. Rejects with an ApiError. */
async function readRecordTypes(): Promise<number> {
  const params = { query: { pageSize: 1 } };
  const { data: known } = await api.GET('/netsuite/metadata', { params });
  const read = known?.notListed === null ? known : (await api.POST('/netsuite/metadata/refresh')).data;
  await invalidate('/netsuite/metadata', '/overview');
  return read?.pagination.total ?? 0;
}

/** The test, and after one that could sign in the record types: how many, or that they are being read. */
function useTest() {
  const [types, setTypes] = useState<number | 'reading' | null>(null);
  const [report, setReport] = useKept<TestReport | null>('connection test', null);
  const { busy, error, submit } = useAction(async () => {
    const { data } = await api.POST('/netsuite/connection/test');
    await invalidate('/netsuite/connection', '/sync-configs', '/overview');
    setReport(data ?? null);
    if (!data?.ok && !data?.partial) return;
    setTypes('reading');
    setTypes(await readRecordTypes());
  });
  const start = (): void => {
    setTypes(null);
    submit();
  };
  return { types, report, busy, error, start };
}

/** Tests the connection, at once when `starts`. */
export function ConnectionTest({ connection, starts }: { connection: Connection; starts: boolean }) {
  const { status, lastError, lastTestedAt } = connection;
  const { types, report, busy, error, start } = useTest();
  useEffect(() => {
    if (starts) start();
  }, []);
  const isConnected = status === 'connected';
  const isTesting = busy && types === null;
  // Only while it still says what the service knows.
  const current = status !== 'untested' && report?.ok === isConnected ? report : null;
  return (
    <div class="stack">
      {isTesting && <Working label="Signing in and reading one row of each table" />}
      {!isTesting && current !== null && <Report {...current} />}
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
          <a class="button primary" href={`${base}/record-types`}>
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
