// Reads a whole list as NDJSON, from one state of the data.
import { parseJson } from './attempt.ts';
import { ApiError, ConnectionError, InterruptedError } from './errors.ts';
import { backOff, PassingFailure } from './retry.ts';
import type { CallOptions, Transport } from './transport.ts';

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

export type Export = {
  readonly transport: Transport;
  readonly path: string;
  readonly toItem: (record: unknown) => unknown;
  readonly options: CallOptions;
};

type Progress = { given: number; tag: string | undefined };

const cannotContinue = (given: number, why: string): InterruptedError =>
  new InterruptedError(`The export broke off after ${given} records, and ${why}. Start it again`);

/** Proxies that compress make tags weak, which If-Match doesn't take. */
const readTag = (headers: Headers): string | undefined => headers.get('etag')?.replace(/^W\//, '');

/** One attempt: the records behind those that were given. */
async function* readRest({ transport, path, toItem, options }: Export, progress: Progress) {
  const headers = new Headers({ accept: 'application/x-ndjson' });
  if (progress.given > 0) {
    if (progress.tag === undefined) throw cannotContinue(progress.given, 'has no ETag by which to continue');
    headers.set('if-match', progress.tag);
  }
  const response = await transport.start(path, headers, options);
  progress.tag = readTag(response.headers);
  const total = response.headers.get('x-total-count');
  let count = 0;
  for await (const line of readLines(response.chunks)) {
    count += 1;
    if (count <= progress.given) continue;
    const record = parseJson(line);
    if (record === undefined) break;
    progress.given += 1;
    yield toItem(record);
  }
  // Without the header, a body that ends well is complete.
  if (total !== null && progress.given !== Number(total))
    throw new PassingFailure(
      new ConnectionError(`The export ended after ${progress.given} of ${total} records`),
    );
}

/**
 * All records, each once. When the connection is lost, the export is requested again and continues behind
 * what was given. Rejects with InterruptedError when the records have changed meanwhile.
 */
export async function* exportRecords(request: Export): AsyncGenerator<unknown> {
  const progress: Progress = { given: 0, tag: undefined };
  const { signal } = request.options;
  for (let failures = 1, before = 0; ; failures += 1) {
    try {
      return yield* readRest(request, progress);
    } catch (error) {
      if (error instanceof ApiError && error.status === 412)
        throw cannotContinue(progress.given, 'the records have changed since');
      if (progress.given > before) [failures, before] = [1, progress.given];
      await backOff(error, failures, { maxRetries: request.transport.maxRetries, signal });
    }
  }
}
