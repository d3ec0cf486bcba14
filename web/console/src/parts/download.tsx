// Saves a list as a CSV file or an Excel workbook. A link can't ask for them, so the file is read first and
// then handed to the browser.
import { useState } from 'preact/hooks';
import { ApiError, readError, send, toApiError } from '../api.ts';
import { formatBytes, formatCount, formatNumber } from '../format.ts';
import { createRowCounter } from './csv-rows.ts';
import { Progress } from './plot.tsx';
import { Popover } from './popover.tsx';
import { Problem } from './problem.tsx';

/** `rows`: those that are there; null where the form doesn't tell. */
type Received = { readonly rows: number | null; readonly total: number; readonly bytes: number };

const forms = {
  xlsx: {
    accept: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    label: 'For Excel (.xlsx)',
    about: 'Dates and numbers as such, in any language of Excel. Lines are rows of a sheet of their own.',
  },
  csv: {
    accept: 'text/csv',
    label: 'CSV',
    about: 'For other programs: commas, UTF-8 with a byte order mark, numbers with a point.',
  },
} as const;
type Form = keyof typeof forms;

const reportMs = 200;

/** Reads the file, and reports how much of it is there. */
async function readFile(
  path: string,
  form: Form,
  report: (received: Received) => void,
  signal: AbortSignal,
): Promise<{ file: Blob; total: number }> {
  const response = await send(path, { headers: { accept: forms[form].accept }, signal });
  if (response.body === null) throw await readError(response);
  const total = Number(response.headers.get('x-total-count'));
  const countRows = form === 'csv' ? createRowCounter() : () => null;
  let [bytes, reportedAt] = [0, 0];
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      bytes += piece.byteLength;
      const rows = countRows(piece);
      if (Date.now() - reportedAt > reportMs) {
        reportedAt = Date.now();
        report({ rows, total, bytes });
      }
      controller.enqueue(piece);
    },
  });
  return { file: await new Response(response.body.pipeThrough(counted)).blob(), total };
}

function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser reads the address after this call.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** `running` ends the download. */
type State = {
  readonly form?: Form;
  readonly running?: AbortController;
  readonly received?: Received;
  readonly text?: string;
  readonly error?: ApiError;
};
type Query = Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
type ExportProps = { path: string; query?: Query; fileName: string; item?: string };

/** A refusal is what the service says; a file that broke off can only be read again from its beginning. */
function toProblem(thrown: unknown, received: Received | undefined): ApiError {
  if (thrown instanceof ApiError || received === undefined) return toApiError(thrown);
  const { rows, total, bytes } = received;
  const part = rows === null ? formatBytes(bytes) : `${formatNumber(rows)} of ${formatNumber(total)}`;
  return new ApiError(0, {
    message: `The connection broke off after ${part}. A file shows the data of one moment, so it is not continued later but read again as a whole.`,
  });
}

function useExport({ path, query = {}, fileName, item = 'record' }: ExportProps) {
  const [state, setState] = useState<State>({});
  const run = async (form: Form): Promise<void> => {
    const running = new AbortController();
    let received: Received | undefined;
    const report = (next: Received): void => {
      received = next;
      setState({ form, running, received });
    };
    setState({ form, running });
    try {
      const search = new URLSearchParams(query as Record<string, string>);
      const { file, total } = await readFile(`${path}?${search}`, form, report, running.signal);
      saveFile(file, `${fileName}.${form}`);
      setState({ text: `Exported ${formatCount(total, item)}` });
    } catch (thrown) {
      setState(running.signal.aborted ? {} : { form, error: toProblem(thrown, received) });
    }
  };
  return { state, start: (form: Form): void => void run(form) };
}

function describeReceived({ rows, total, bytes }: Received, item: string): string {
  const part =
    rows === null ? formatCount(total, item) : `${formatNumber(rows)} of ${formatCount(total, item)}`;
  return `${part}, ${formatBytes(bytes)} so far`;
}

/** How far the export is, what came of it, or why it failed. */
function ExportState({
  state: { form, running, received, text, error },
  item = 'record',
  start,
}: {
  state: State;
  item?: string | undefined;
  start: (form: Form) => void;
}) {
  return (
    <>
      {running !== undefined && (
        <div class="export">
          <Progress
            done={received?.rows ?? 0}
            total={received?.rows == null ? null : received.total}
            label={received === undefined ? 'The export begins' : describeReceived(received, item)}
          />
          <button type="button" onClick={() => running.abort()}>
            Cancel the export
          </button>
        </div>
      )}
      <span role="status" class="fine">
        {text}
      </span>
      <Problem error={error} retry={form && (() => start(form))} />
    </>
  );
}

/** Saves all entries that `query` selects as CSV. `fileName` has no ending; `item` is what one of them is. */
export function ExportButton(props: ExportProps) {
  const { state, start } = useExport(props);
  return (
    <>
      {state.running === undefined && (
        <button type="button" onClick={() => start('csv')}>
          Export CSV
        </button>
      )}
      <ExportState state={state} item={props.item} start={start} />
    </>
  );
}

/** The same in a form that is chosen. */
export function ExportMenu(props: ExportProps) {
  const { state, start } = useExport(props);
  return (
    <>
      {state.running === undefined && (
        <Popover label="Export">
          {(close) => (
            <ul class="menu" aria-label="Forms">
              {Object.entries(forms).map(([form, { label, about }]) => (
                <li key={form}>
                  <button
                    type="button"
                    onClick={() => {
                      close();
                      start(form as Form);
                    }}
                  >
                    {label}
                  </button>
                  <p class="fine">{about}</p>
                </li>
              ))}
            </ul>
          )}
        </Popover>
      )}
      <ExportState state={state} item={props.item} start={start} />
    </>
  );
}
