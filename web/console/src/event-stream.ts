// Reads server-sent events of an answer to a POST request, which EventSource can't make.
import { ApiError, readError, send } from './api.ts';

export type StreamEvent = { readonly event: string; readonly data: unknown };

function parseEvent(block: string): StreamEvent | undefined {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const event = fields.get('event');
  return event === undefined ? undefined : { event, data: JSON.parse(fields.get('data') ?? 'null') };
}

/**
 * Sends `body` and calls `onEvent` for each event until the stream ends. Rejects with an ApiError, also for
 * the event `error`.
 */
export async function postStream(
  path: string,
  body: object,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(path, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (!isStream || response.body === null) throw await readError(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event?.event === 'error')
        throw new ApiError(response.status, (event.data as { error?: object }).error ?? {});
      if (event !== undefined) onEvent(event);
    }
  }
}
