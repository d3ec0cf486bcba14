// The real provider adapters over HTTP, against servers that use the providers' formats.
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { AppError } from '../../../src/core/errors.ts';
import { createModel, modelNames } from '../../../src/gateways/model/create-model.ts';
import {
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelTool,
} from '../../../src/gateways/model/model.ts';
import { testSettings } from '../../setup/database.ts';
import { useStarted } from '../../setup/use-started.ts';
import {
  type Answer,
  anthropicDialect,
  begin,
  type Dialect,
  openAiDialect,
  type ProviderServer,
  startProvider,
  status,
  whole,
} from './provider-server.ts';

const secret = 'sk-very-secret-0123456789';
const server = useStarted(startProvider);

const createSettings = ({ url }: ProviderServer) => ({
  ...testSettings,
  models: {
    names: ['anthropic/some-model', 'openai-compatible/some/model'],
    anthropic: { apiKey: secret, baseUrl: url },
    openAiCompatible: { apiKey: secret, baseUrl: url },
  },
});
const open = (dialect: Dialect) =>
  createModel(
    { clock: systemClock, settings: createSettings(server) },
    dialect.provider === 'anthropic' ? 'anthropic/some-model' : 'openai-compatible/some/model',
  );

const tool = (name: string, run: ModelTool['run']): ModelTool => ({
  name,
  description: `The tool ${name}`,
  inputSchema: { type: 'object', properties: { x: { type: 'number' } }, additionalProperties: false },
  run,
});
type Changes = Partial<Omit<ModelRequest, 'limits'>> & { readonly limits?: Partial<ModelRequest['limits']> };
const createRequest = (changes: Changes = {}): ModelRequest => ({
  instructions: 'Answer briefly.',
  messages: [{ role: 'user', content: 'How many?' }],
  tools: [tool('count', async () => '{"count":7}')],
  signal: new AbortController().signal,
  ...changes,
  limits: { steps: 4, outputTokens: 500, toolOutputBytes: 2_000, timeMs: 20_000, ...changes.limits },
});

async function collect(dialect: Dialect, changes: Changes = {}): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of (await open(dialect)).answer(createRequest(changes))) events.push(event);
  return events;
}
const failure = async (work: Promise<unknown>): Promise<ModelError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw new Error(`no ModelError: ${String(error)}`);
  return error;
};
const longRequest = { messages: [{ role: 'user', content: 'x'.repeat(8_000) }] } as const;
/** The usage of an answer of 400 bytes to it: 8,000 bytes and at most 400 around them, four to a token. */
async function expectCountedBytes(dialect: Dialect): Promise<void> {
  const ended = (await collect(dialect, longRequest)).at(-1);
  if (ended?.type !== 'finished') throw new Error('the answer did not finish');
  expect(ended.usage).toEqual({ inputTokens: expect.any(Number), outputTokens: 100 });
  expect(Number.isInteger(ended.usage.inputTokens)).toBe(true);
  expect(ended.usage.inputTokens).toBeGreaterThanOrEqual(2_000);
  expect(ended.usage.inputTokens).toBeLessThanOrEqual(2_100);
}
/** Resolves when the caller's connection is closed. */
const stalled = (dialect: Dialect): { answer: Answer; left: Promise<void> } => {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  return {
    left,
    answer: (res) => {
      res.once('close', resolve);
      begin(res);
      res.write(dialect.open(100) + dialect.part({ text: 'Half' }, 0));
    },
  };
};

describe.each([anthropicDialect, openAiDialect])('a model of $provider', (dialect) => {
  it('streams its text, receives instructions, messages and tools, and reports its usage', async () => {
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    server.script(async (res) => {
      begin(res);
      res.write(dialect.open(120) + dialect.part({ text: 'Seven' }, 0));
      await heard;
      res.end(dialect.part({ text: ' of them.' }, 1) + dialect.close('stop', 9, 120));
    });
    const events: ModelEvent[] = [];
    for await (const event of (await open(dialect)).answer(createRequest())) {
      events.push(event);
      hear();
    }
    expect(events).toEqual([
      { type: 'text', text: 'Seven' },
      { type: 'text', text: ' of them.' },
      {
        type: 'finished',
        reason: 'complete',
        text: 'Seven of them.',
        usage: { inputTokens: 120, outputTokens: 9 },
      },
    ]);
    const [asked] = server.asked;
    expect([asked?.url, asked && dialect.key(asked.headers)]).toEqual([dialect.path, secret]);
    expect(asked?.body).toMatchObject({ stream: true, max_tokens: 500 });
    for (const words of ['Answer briefly.', 'How many?', 'The tool count', 'some'])
      expect(JSON.stringify(asked?.body)).toContain(words);
  });

  it('has its tools run concurrently, receives their results, and continues', async () => {
    const { promise: secondBegan, resolve: beginSecond } = Promise.withResolvers<void>();
    const tools = [
      tool('first', async (input) => {
        await secondBegan;
        return `first ${JSON.stringify(input)}`;
      }),
      tool('second', async () => {
        beginSecond();
        return 'second';
      }),
    ];
    const calls = [
      { text: 'Let me look. ' },
      { call: { id: 'a1', name: 'first', input: { x: 1 } } },
      { call: { id: 'a2', name: 'second', input: {} } },
    ];
    server.script(whole(dialect, calls, 'calls'), whole(dialect, [{ text: 'Done.' }]));
    const events = await collect(dialect, { tools });
    expect(events.filter(({ type }) => type !== 'text')).toEqual([
      { type: 'tool-started', id: 'a1', name: 'first', input: { x: 1 } },
      { type: 'tool-started', id: 'a2', name: 'second', input: {} },
      { type: 'tool-ended', id: 'a1', name: 'first', ok: true, output: 'first {"x":1}' },
      { type: 'tool-ended', id: 'a2', name: 'second', ok: true, output: 'second' },
      {
        type: 'finished',
        reason: 'complete',
        text: 'Let me look. Done.',
        usage: { inputTokens: 200, outputTokens: 20 },
      },
    ]);
    const sentToModel = JSON.stringify(server.asked[1]?.body['messages']);
    for (const words of ['Let me look.', 'a1', 'a2', String.raw`first {\"x\":1}`, 'second'])
      expect(sentToModel).toContain(words);
  });

  it('receives truncated tool results, tools’ own errors, and only the fact of any other failure', async () => {
    const tools = [
      tool('huge', async () => 'é'.repeat(5_000)),
      tool('refusing', async () =>
        Promise.reject(new AppError('BAD_REQUEST', 'There is no filter "x" here')),
      ),
      tool('broken', async () => Promise.reject(new Error('password=hunter2'))),
    ];
    const names = ['huge', 'refusing', 'broken', 'unknown'];
    const calls = names.map((name, index) => ({ call: { id: `a${index}`, name, input: {} } }));
    const garbled = { call: { id: 'a9', name: 'huge', input: {} }, json: '{"x":' };
    server.script(whole(dialect, [...calls, garbled], 'calls'), whole(dialect, [{ text: 'Sorry.' }]));
    const ended = (await collect(dialect, { tools })).filter((event) => event.type === 'tool-ended');
    expect(ended.map(({ ok }) => ok)).toEqual([true, false, false, false, false]);
    const [huge = '', refusing, broken, unknown, unreadable] = ended.map(({ output }) => output);
    expect(huge.startsWith(`${'é'.repeat(1_000)}\n[truncated: the tool returned 10000 bytes`)).toBe(true);
    expect(refusing).toBe('There is no filter "x" here');
    expect(broken).toBe('The tool failed. Do not rely on it.');
    expect(unknown).toContain('tool');
    expect(unreadable).toContain('Invalid tool call');
    const sentToModel = JSON.stringify(server.asked[1]?.body);
    expect(sentToModel).not.toContain('hunter2');
    expect(sentToModel.length).toBeLessThan(8_000);
  });

  it('gets at most 16 tool calls of a step run; each further one gets an error that it can read', async () => {
    let runs = 0;
    const count = tool('count', async () => `run ${(runs += 1)}`);
    const calls = Array.from({ length: 300 }, (_, index) => ({
      call: { id: `a${index}`, name: 'count', input: {} },
    }));
    server.script(whole(dialect, calls, 'calls'), whole(dialect, [{ text: 'Done.' }]));
    const events = await collect(dialect, { tools: [count], limits: { outputTokens: 5_000 } });
    const ended = events.filter((event) => event.type === 'tool-ended');
    expect([runs, ended.filter(({ ok }) => ok).length, ended.length]).toEqual([16, 16, 300]);
    expect(new Set(ended.slice(16).map(({ output }) => output))).toEqual(
      new Set([expect.stringMatching(/^Not run: .* at most 16 tools/)]),
    );
    const sentToModel = JSON.stringify(server.asked[1]?.body['messages']);
    expect([sentToModel.split('Not run: ').length - 1, sentToModel.includes('a299')]).toEqual([284, true]);
    expect(events.at(-1)).toMatchObject({ type: 'finished', text: 'Done.' });
  });

  it('ends when a step calls more tools than can be reported, before any of them runs', async () => {
    let runs = 0;
    const count = tool('count', async () => `run ${(runs += 1)}`);
    const calls = Array.from({ length: 2_000 }, () => ({ call: { id: 'a', name: 'count', input: {} } }));
    server.script(whole(dialect, calls, 'calls'), whole(dialect, [{ text: 'Done.' }]));
    const error = await failure(collect(dialect, { tools: [count], limits: { outputTokens: 5_000 } }));
    expect([error.kind, error.message]).toEqual([
      'limit-reached',
      'The model called more than 400 tools in one step',
    ]);
    expect([runs, server.asked.length]).toEqual([0, 1]);
  });

  it.each([
    ['one endless line', 200, 'data: {"x":"', 'x'.repeat(65_536)],
    ['endless comments', 200, '', ': still working\n\n'.repeat(4_096)],
    ['an endless error', 400, '', 'x'.repeat(65_536)],
  ])('may send a limited number of bytes, even as %s', async (_what, code, first, piece) => {
    let sent = 0;
    server.script(async (res) => {
      res.writeHead(code, { 'content-type': 'text/event-stream' });
      res.write(first);
      for (const closed = once(res, 'close'); !res.destroyed && sent < 60_000_000; sent += piece.length)
        if (!res.write(piece)) await Promise.race([once(res, 'drain'), closed]);
      res.end();
    });
    await failure(collect(dialect));
    expect(sent).toBeLessThan(20_000_000);
  });

  it.each([
    ['negative', -1_000_000, -1_000_000],
    ['zero', 0, 0],
    ['fractions', 2_000.5, 99.5],
    ['more than was sent and allowed', 1_000_000_000_000, 1_000_000_000_000],
    ['no safe integers', 1e300, 1e300],
  ])('is not believed when its counts are %s: the bytes count', async (_what, input, output) => {
    server.script((res) => {
      begin(res);
      res.end(
        dialect.open(input) +
          dialect.part({ text: 'y'.repeat(400) }, 0) +
          dialect.close('stop', output, input),
      );
    });
    await expectCountedBytes(dialect);
  });

  it('costs what it received and wrote when it breaks off, tool calls included, and nothing when it refuses', async () => {
    const long = { text: 'y'.repeat(400) };
    const call = { call: { id: 'a1', name: 'count', input: { words: 'z'.repeat(400) } } };
    for (const [parts, outputTokens] of [
      [[], 0],
      [[long], 100],
      [[call], 104],
    ] as const) {
      server.script((res) => {
        begin(res);
        res.end(dialect.open(100) + parts.map((part, index) => dialect.part(part, index)).join(''));
      });
      const { usage } = await failure(collect(dialect, longRequest));
      expect([usage.outputTokens >= outputTokens, usage.outputTokens <= outputTokens + 5]).toEqual([
        true,
        true,
      ]);
      expect(usage.inputTokens).toBeGreaterThanOrEqual(2_000);
    }
    for (const code of [401, 404, 422]) {
      server.script(status(code));
      expect((await failure(collect(dialect, longRequest))).usage).toEqual({
        inputTokens: 0,
        outputTokens: 0,
      });
    }
  });

  it('is called again when it is busy or fails, after the requested wait', async () => {
    server.script(
      status(429, { 'retry-after': '0' }),
      status(500, { 'retry-after': '0' }),
      whole(dialect, [{ text: 'Now.' }]),
    );
    expect((await collect(dialect)).at(-1)).toMatchObject({ type: 'finished', text: 'Now.' });
    expect(server.asked).toHaveLength(3);
  });

  it.each([
    ['a wait beyond the time limit', [status(429, { 'retry-after': '3600' })], 'rate-limited', 1],
    [
      'one failure after the other',
      Array.from({ length: 4 }, () => status(503, { 'retry-after': '0' })),
      'unavailable',
      3,
    ],
    [
      'a key that is refused',
      [status(401, {}, { error: { message: `bad key ${secret}` } })],
      'refused-credentials',
      1,
    ],
    ['a model that is not known', [status(404)], 'rejected', 1],
    [
      'too long a conversation',
      [status(400, {}, { error: { message: 'prompt is too long: 210000 tokens' } })],
      'too-long',
      1,
    ],
    ['any other refusal', [status(422)], 'rejected', 1],
    ['another address', [status(307, { location: 'http://127.0.0.1:9/elsewhere' })], 'unavailable', 1],
  ])('fails plainly for %s', async (_what, answers, kind, requests) => {
    server.script(...answers);
    const error = await failure(collect(dialect));
    expect(error.kind).toBe(kind);
    expect(server.asked).toHaveLength(requests);
    expect(`${error.message} ${String(error.cause)}`).not.toContain(secret);
    expect(error.message).toMatch(/^[A-Z][^{}]+$/);
  });

  it.each([
    ['cut off with the connection', 'cut-off', (res) => void setImmediate(() => res.destroy())],
    ['ended without its end', 'cut-off', (res) => void res.end()],
    ['not the format', 'malformed-answer', (res) => void res.end('data: {"choices": [{"delta\n\n')],
    [
      'of another shape',
      'malformed-answer',
      (res) => void res.end('event: x\ndata: {"type":7,"choices":"none"}\n\n'),
    ],
    ['the provider broke off', 'unavailable', (res) => void res.end(dialect.error('overloaded_error'))],
  ] satisfies readonly [string, string, (res: Parameters<Answer>[0]) => void][])(
    'never passes for whole: %s',
    async (_what, kind, end) => {
      server.script((res) => {
        begin(res);
        res.write(dialect.open(100) + dialect.part({ text: 'There are' }, 0), () => end(res));
      });
      const error = await failure(collect(dialect));
      expect(error.kind).toBe(kind);
    },
  );

  it('is stopped at its limits of output, steps and time', async () => {
    const call = whole(dialect, [{ call: { id: 'a1', name: 'count', input: {} } }], 'calls');
    server.script(whole(dialect, [{ text: 'A long' }], 'length'));
    expect(await failure(collect(dialect))).toMatchObject({
      kind: 'limit-reached',
      usage: { inputTokens: 100, outputTokens: 10 },
    });
    server.script(call, call, call);
    expect((await failure(collect(dialect, { limits: { steps: 2 } }))).message).toContain('2 steps');
    expect(server.asked).toHaveLength(2);
    server.script(call, call);
    expect((await failure(collect(dialect, { limits: { inputTokens: 100 } }))).message).toContain(
      '100 input tokens',
    );
    expect(server.asked).toHaveLength(1);
    server.script(call, whole(dialect, [{ text: 'x' }]));
    await collect(dialect, { limits: { outputTokens: 30 } });
    expect(server.asked.map(({ body }) => body['max_tokens'])).toEqual([30, 20]);
    const slow = stalled(dialect);
    server.script(slow.answer, slow.answer, slow.answer);
    // The time limit may pass before the request reaches the provider: then try again with a longer one.
    for (const timeMs of [300, 3_000, 30_000]) {
      expect((await failure(collect(dialect, { limits: { timeMs } }))).message).toContain(
        'longer than its limit',
      );
      if (server.asked.length > 0) break;
    }
    await slow.left;
  });

  it('stops immediately when the client disconnects', async () => {
    const leaving = new AbortController();
    const first = stalled(dialect);
    server.script(first.answer);
    const reading = failure(
      (async () => {
        for await (const _event of (await open(dialect)).answer(createRequest({ signal: leaving.signal })))
          leaving.abort();
      })(),
    );
    expect((await reading).kind).toBe('aborted');
    await first.left;
    const second = stalled(dialect);
    server.script(second.answer);
    for await (const _event of (await open(dialect)).answer(createRequest())) break;
    await second.left;
  });

  it('is checked by a real request with a tool', async () => {
    server.script(whole(dialect, [{ text: 'ok' }]));
    await (await open(dialect)).check(new AbortController().signal);
    expect(JSON.stringify(server.asked[0]?.body['tools'])).toContain('describe');
    server.script(status(401));
    const refused = (await open(dialect)).check(new AbortController().signal);
    expect((await failure(refused)).kind).toBe('refused-credentials');
    server.script(whole(dialect, []));
    expect((await failure(collect(dialect))).kind).toBe('malformed-answer');
  });
});

describe('a model that counts no tokens', () => {
  const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
  it.each([
    ['reports no usage', ''],
    ['reports an empty usage', 'data: {"choices":[],"usage":{}}\n\n'],
    ['reports a usage of null', 'data: {"choices":[],"usage":null}\n\n'],
    ['reports only a total', 'data: {"choices":[],"usage":{"total_tokens":7}}\n\n'],
  ])('%s: the bytes count', async (_what, usage) => {
    server.script((res) => {
      begin(res);
      res.end(`${openAiDialect.part({ text: 'y'.repeat(400) }, 0)}${finish}${usage}data: [DONE]\n\n`);
    });
    await expectCountedBytes(openAiDialect);
  });
});

describe('model names', () => {
  const ctx = () => ({ clock: systemClock, settings: createSettings(server) });

  it('are the configured ones and the built-in one', async () => {
    expect(modelNames(ctx().settings)).toEqual([
      'anthropic/some-model',
      'openai-compatible/some/model',
      'offline',
    ]);
    expect((await createModel(ctx(), 'offline')).name).toBe('offline');
    for (const name of ['anthropic/other-model', 'some-model', ''])
      expect((await failure(createModel(ctx(), name))).kind).toBe('rejected');
  });

  it('of an unreachable provider fail', async () => {
    // The system never assigns this port, unlike one that was free a moment ago.
    const gone = { ...server, url: 'http://127.0.0.1:2/v1' };
    const model = await createModel(
      { clock: systemClock, settings: createSettings(gone) },
      'anthropic/some-model',
    );
    expect((await failure(model.check(new AbortController().signal))).kind).toBe('unavailable');
  });
});
