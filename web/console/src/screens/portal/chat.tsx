// A conversation with an agent. The answer to a question arrives as a stream of events: its text, and the
// tools that the agent calls.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type ApiError, api, type Item, toApiError } from '../../api.ts';
import { postStream, type StreamEvent } from '../../event-stream.ts';
import { formatCount } from '../../format.ts';
import { Empty, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { FormButton } from '../../parts/record-form.tsx';
import { Pager } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import '../../styles/portal.css';
import { invalidate, useGet } from '../../query.ts';
import { useReadSoon } from '../../read-soon.ts';
import { base, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';

type Message = Item<'/conversations/{id}/messages'>;
type ToolCall = Message['toolCalls'][number];
/** The answer as far as it has arrived. */
type Draft = { readonly question: string; readonly text: string; readonly calls: readonly ToolCall[] };

/** Adds an event of the stream to the answer. */
function applyEvent(draft: Draft, { event, data }: StreamEvent): Draft {
  const part = data as { readonly text?: string } & ToolCall;
  if (event === 'text') return { ...draft, text: draft.text + (part.text ?? '') };
  if (event === 'tool-started')
    return { ...draft, calls: [...draft.calls, { ...part, ok: null, output: '' }] };
  if (event === 'tool-ended')
    return {
      ...draft,
      calls: draft.calls.map((call) =>
        call.id === part.id ? { ...call, ok: part.ok, output: part.output } : call,
      ),
    };
  return draft;
}

function ToolCalls({ calls }: { calls: readonly ToolCall[] }) {
  if (calls.length === 0) return null;
  return (
    <details class="tools">
      <summary>{formatCount(calls.length, 'tool call')}</summary>
      <ol>
        {calls.map(({ id, name, input, ok, output }) => (
          <li key={id}>
            <code>{name}</code> <span class="muted">{ok === null ? 'running' : ok ? 'done' : 'failed'}</span>
            <pre class="source">
              <code>{JSON.stringify(input)}</code>
              {output !== '' && <code>{`\n${output}`}</code>}
            </pre>
          </li>
        ))}
      </ol>
    </details>
  );
}

const endings: Readonly<Partial<Record<Message['status'], string>>> = {
  failed: 'failed',
  canceled: 'was canceled',
};

type Shown = Pick<Message, 'id' | 'role' | 'content' | 'toolCalls' | 'status'> &
  Partial<Pick<Message, 'error' | 'createdAt' | 'credits'>>;

function MessageItem({
  message: { role, content, toolCalls, status, error, createdAt, credits = 0 },
}: {
  message: Shown;
}) {
  const ending = endings[status];
  return (
    <li class={`message ${role}`} aria-busy={status === 'running'}>
      <p class="fine">
        {role === 'user' ? 'You' : 'Agent'}
        {createdAt !== undefined && ' · '}
        <Time at={createdAt ?? null} relative />
        {credits > 0 && ` · ${formatCount(credits, 'credit')}`}
      </p>
      <ToolCalls calls={toolCalls} />
      {content !== '' && <p class="content">{content}</p>}
      {status === 'running' && <p class="muted">Answering…</p>}
      {ending !== undefined && (
        <p class="note warn">
          The answer {ending}
          {error && `: ${error.message}`}
        </p>
      )}
    </li>
  );
}

/** The question and its answer as far as it has arrived. */
const toMessages = ({ question, text, calls }: Draft): readonly Shown[] => [
  { id: 'question', role: 'user', content: question, toolCalls: [], status: 'complete' },
  { id: 'answer', role: 'assistant', content: text, toolCalls: calls as ToolCall[], status: 'running' },
];

/** Asks, and follows the answer. Leaving the screen cancels it. */
function useAsk(conversationId: string) {
  const [draft, setDraft] = useState<Draft>();
  const [error, setError] = useState<ApiError>();
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const ask = async (question: string): Promise<boolean> => {
    const control = new AbortController();
    running.current = control;
    setError(undefined);
    setDraft({ question, text: '', calls: [] });
    let asked = false;
    const onEvent = (event: StreamEvent): void => {
      asked = true;
      setDraft((before) => before && applyEvent(before, event));
    };
    try {
      await postStream(
        `/conversations/${conversationId}/messages`,
        { content: question },
        onEvent,
        control.signal,
      );
    } catch (problem) {
      if (!control.signal.aborted) setError(toApiError(problem));
    }
    // At once: the answer that was read must not be shown next to the draft of it.
    await invalidate('/conversations/{id}/messages');
    setDraft(undefined);
    await invalidate('/conversations/{id} ', '/agents/{id}');
    return asked;
  };
  return { draft, error, ask, stop: () => running.current?.abort() };
}

/** The newest page of messages, until another one is asked for. */
function useMessages(id: string) {
  const [chosen, setChosen] = useState<number>();
  const [last, setLast] = useState(1);
  const read = useGet('/conversations/{id}/messages', {
    path: { id },
    query: { page: chosen ?? last, pageSize: 50 },
  });
  const found = read.data?.pagination.totalPages;
  useEffect(() => setLast((before) => Math.max(found ?? 1, before)), [found]);
  useReadSoon(
    read.data?.data.some(({ status }) => status === 'running'),
    read.reload,
  );
  return { read, choose: (page: number) => setChosen(page < last ? page : undefined) };
}

function Question({
  busy,
  ask,
  stop,
}: {
  busy: boolean;
  ask: (question: string) => Promise<boolean>;
  stop: () => void;
}) {
  const [text, setText] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => input.current?.focus({ preventScroll: true }), []);
  const submit = (): void => {
    const question = text.trim();
    if (busy || question === '') return;
    setText('');
    input.current?.focus();
    void ask(question).then((asked) => !asked && setText((typed) => (typed === '' ? question : typed)));
  };
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={input}
        rows={2}
        aria-label="Your question"
        placeholder="Such as: how many invoices are open?"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {busy ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit" class="primary">
          Ask
        </button>
      )}
    </form>
  );
}

const Rename = ({ conversation: { id, title } }: { conversation: Answer<'/conversations/{id}'> }) => (
  <FormButton
    label="Rename"
    action="Rename"
    initial={{ title }}
    fields={[{ name: 'title', label: 'Title', required: true }]}
    save={async (body) => {
      await api.PATCH('/conversations/{id}', { params: { path: { id } }, body });
      await invalidate('/conversations/{id} ', '/agents/{id}/conversations');
    }}
  />
);

export function Chat({ params: { id: agentId = '', conversationId: id = '' } }: ScreenProps) {
  const conversation = useGet('/conversations/{id}', { path: { id } });
  const agent = useGet('/agents/{id}', { path: { id: agentId } });
  const { read, choose } = useMessages(id);
  const { draft, error, ask, stop } = useAsk(id);
  const end = useRef<HTMLDivElement>(null);
  const messages = read.data?.data ?? [];
  useEffect(
    () => end.current?.scrollIntoView({ block: 'nearest' }),
    [messages.length, draft?.text, draft?.calls.length],
  );
  const name = agent.data?.name ?? 'Agent';
  return (
    <Page
      title={conversation.data?.title || 'New conversation'}
      above={[
        { to: `${base}/agents`, title: 'Agents' },
        { to: `${base}/agents/${agentId}`, title: name },
      ]}
      actions={
        conversation.data !== undefined &&
        may('conversation:update') && <Rename conversation={conversation.data} />
      }
    >
      <Problem error={conversation.error ?? read.error} retry={() => void read.reload()} />
      <div role="log" aria-label={`Conversation with ${name}`} aria-live="polite">
        <ol class="messages">
          {[...messages, ...(draft === undefined ? [] : toMessages(draft))].map((message) => (
            <MessageItem key={message.id} message={message} />
          ))}
        </ol>
      </div>
      {read.data !== undefined && messages.length === 0 && draft === undefined && (
        <Empty title="Ask about the records of the version." />
      )}
      <Pager pagination={read.data?.pagination} onPage={choose} />
      <Problem error={error} />
      {agent.data !== undefined && agent.data.status !== 'running' && (
        <p class="note warn">
          The agent answers only while it is running. <a href={`${base}/agents/${agentId}`}>See its state</a>
        </p>
      )}
      {may('conversation:create') && <Question busy={draft !== undefined} ask={ask} stop={stop} />}
      <div ref={end} />
    </Page>
  );
}
