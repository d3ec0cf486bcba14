// Saves a list as a CSV file or an Excel workbook. A link can't ask for them, so the file is read first and
// then handed to the browser.
import { useState } from 'preact/hooks';
import { type ApiError, readError, send, toApiError } from '../api.ts';
import { formatBytes, formatCount } from '../format.ts';
import { Problem } from './problem.tsx';

type Report = (total: number, bytes: number) => void;

const forms = {
  csv: { accept: 'text/csv', label: 'Export CSV' },
  xlsx: {
    accept: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    label: 'Export for Excel',
  },
} as const;
type Form = keyof typeof forms;

/** Reads the file, and reports each piece of it. */
async function readFile(
  path: string,
  form: Form,
  report: Report,
  signal: AbortSignal,
): Promise<{ file: Blob; total: number }> {
  const response = await send(path, { headers: { accept: forms[form].accept }, signal });
  if (response.body === null) throw await readError(response);
  const total = Number(response.headers.get('x-total-count'));
  let bytes = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      bytes += piece.byteLength;
      report(total, bytes);
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
type State = { readonly running?: AbortController; readonly text?: string; readonly error?: ApiError };
type Query = Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];

type ExportProps = { path: string; query?: Query; fileName: string; form?: Form; item?: string };

/**
 * Saves all entries that `query` selects, with progress. `fileName` is without an ending; `item` is what one of
 * them is.
 */
export function ExportButton({ path, query = {}, fileName, form = 'csv', item = 'record' }: ExportProps) {
  const [{ running, text, error }, setState] = useState<State>({});
  const start = async (): Promise<void> => {
    const abort = new AbortController();
    const report: Report = (total, bytes) =>
      setState({ running: abort, text: `${formatCount(total, item)}, ${formatBytes(bytes)} so far` });
    setState({ running: abort });
    try {
      const search = new URLSearchParams(query as Record<string, string>);
      const { file, total } = await readFile(`${path}?${search}`, form, report, abort.signal);
      saveFile(file, `${fileName}.${form}`);
      setState({ text: `Exported ${formatCount(total, item)}` });
    } catch (thrown) {
      setState(abort.signal.aborted ? {} : { error: toApiError(thrown) });
    }
  };
  return (
    <>
      <button type="button" onClick={() => (running === undefined ? void start() : running.abort())}>
        {running === undefined ? forms[form].label : 'Cancel the export'}
      </button>
      <span role="status" class="fine">
        {text}
      </span>
      <Problem error={error} />
    </>
  );
}
