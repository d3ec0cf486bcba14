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

/** What is there of a file. `tag` names its content; null for one that can only be read as a whole. */
type Part = Received & {
  readonly pieces: Uint8Array<ArrayBuffer>[];
  readonly countRows: (piece: Uint8Array) => number | null;
  readonly tag: string | null;
};

/** Asks for a file, or for the rest of one. */
async function openFile(
  path: string,
  form: Form,
  known: Part | undefined,
  signal: AbortSignal,
): Promise<{ response: Response; part: Part }> {
  const rest = known && { 'if-match': known.tag ?? '', 'x-resume-at': String(known.bytes) };
  const response = await send(path, { headers: { accept: forms[form].accept, ...rest }, signal });
  const part = known ?? {
    pieces: [],
    bytes: 0,
    rows: null,
    total: Number(response.headers.get('x-total-count')),
    countRows: form === 'csv' ? createRowCounter() : () => null,
    tag: response.headers.get('etag'),
  };
  return { response, part };
}

/** Reads the file, or the rest of one, and reports how much of it is there; rarely, but always what came last. */
async function readFile(
  { response, part }: { response: Response; part: Part },
  report: (part: Part) => void,
): Promise<Part> {
  if (response.body === null) throw await readError(response);
  const reader = response.body.getReader();
  let [now, reportedAt] = [part, 0];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return now;
      now.pieces.push(value);
      now = { ...now, bytes: now.bytes + value.byteLength, rows: now.countRows(value) };
      if (Date.now() - reportedAt <= reportMs) continue;
      reportedAt = Date.now();
      report(now);
    }
  } finally {
    report(now);
  }
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
  readonly part?: Part;
  readonly text?: string;
  readonly error?: ApiError;
};
type Query = Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
type ExportProps = { path: string; query?: Query; fileName: string; item?: string };
type MenuProps = ExportProps & {
  /** What the file will have. */
  content?: string | undefined;
};

/** A refusal is what the service says. */
function toProblem(thrown: unknown, part: Part | undefined, item: string): ApiError {
  if (thrown instanceof ApiError || part === undefined) return toApiError(thrown);
  const known = part.rows === null ? formatBytes(part.bytes) : describeReceived(part, item);
  const received = part.bytes === 0 ? 'before the first record' : `after ${known}`;
  const next =
    part.tag === null || part.bytes === 0
      ? 'It can be read again as a whole.'
      : 'The rest can still be read.';
  return new ApiError(0, {
    message: `The connection broke off ${received}, and no file was saved. ${next}`,
  });
}

function useExport({ path, query = {}, fileName, item = 'record' }: ExportProps) {
  const [state, setState] = useState<State>({});
  const run = async (form: Form, known?: Part): Promise<void> => {
    const running = new AbortController();
    let part = known;
    const report = (next: Part): void => {
      part = next;
      setState({ form, running, part });
    };
    setState({ form, running, ...(known && { part: known }) });
    try {
      const search = new URLSearchParams(query as Record<string, string>);
      const opened = await openFile(`${path}?${search}`, form, known, running.signal);
      const { pieces, total } = await readFile(opened, report);
      saveFile(new Blob(pieces, { type: forms[form].accept }), `${fileName}.${form}`);
      setState({ text: `Exported ${formatCount(total, item)}` });
    } catch (thrown) {
      if (running.signal.aborted) return setState({});
      const hasChanged = thrown instanceof ApiError && thrown.status === 412;
      const rest = hasChanged || part?.tag == null || part.bytes === 0 ? {} : { part };
      setState({ form, error: toProblem(thrown, part, item), ...rest });
    }
  };
  return { state, start: (form: Form, known?: Part): void => void run(form, known) };
}

function describeReceived({ rows, total, bytes }: Received, item: string): string {
  const part =
    rows === null ? formatCount(total, item) : `${formatNumber(rows)} of ${formatCount(total, item)}`;
  return `${part}, ${formatBytes(bytes)}`;
}

/** How far the export is, what came of it, or why it failed. */
function ExportState({
  state: { form, running, part, text, error },
  item = 'record',
  start,
}: {
  state: State;
  item?: string | undefined;
  start: (form: Form, known?: Part) => void;
}) {
  return (
    <>
      {running !== undefined && (
        <div class="export">
          <Progress
            done={part?.rows ?? 0}
            total={part?.rows == null ? null : part.total}
            label={part === undefined ? 'The export begins' : `${describeReceived(part, item)} so far`}
          />
          <button type="button" onClick={() => running.abort()}>
            Cancel the export
          </button>
        </div>
      )}
      <span role="status" class="fine">
        {text}
      </span>
      <Problem
        error={error}
        retry={form && (() => start(form, part))}
        retryLabel={part === undefined ? 'Try again' : 'Continue'}
      />
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
export function ExportMenu({ content, ...props }: MenuProps) {
  const { state, start } = useExport(props);
  return (
    <>
      {state.running === undefined && (
        <Popover label="Export">
          {(close) => (
            <>
              {content !== undefined && <p class="fine">{content}</p>}
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
            </>
          )}
        </Popover>
      )}
      <ExportState state={state} item={props.item} start={start} />
    </>
  );
}
