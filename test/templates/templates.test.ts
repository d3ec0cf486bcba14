import { describe, expect, it } from 'vitest';
import {
  checkTemplate,
  previewTemplate,
  renderTemplate,
  TemplateError,
  templateLimits,
} from '../../src/templates/index.ts';
import { createTemplateThread } from '../../src/templates/thread.ts';
import { pluck } from '../setup/api.ts';
import { until } from '../setup/until.ts';

const now = new Date('2026-03-02T10:00:00Z');
type As = 'html' | 'text' | 'line';
const request = (source: string, data: Record<string, unknown> = {}, as: As = 'html') => ({
  organizationId: 'a',
  parts: { body: { source, as } },
  data,
  now,
});
const render = async (source: string, data?: Record<string, unknown>, as?: As): Promise<string> =>
  (await renderTemplate(request(source, data, as))).body;

describe('a template', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['Dear {{ record.name | default: "you" }}', { record: { name: 'Ann' } }, 'Dear Ann'],
    [
      '{% for l in lines %}{{ forloop.index }}:{{ l.q | times: 2 }} {% else %}none{% endfor %}',
      { lines: [{ q: 1 }, { q: 2 }] },
      '1:2 2:4 ',
    ],
    ['{% if gone.deep %}x{% else %}y{% endif %}{{ gone.deep }}', {}, 'y'],
    [
      '{{ lines | map: "q" | sum }} {{ lines | where: "q", 2 | size }}',
      { lines: [{ q: 1 }, { q: 2 }] },
      '3 1',
    ],
    [
      '{{ a | number: 2 }} {{ b | number }} {{ "x" | number }}',
      { a: '-1234567.555', b: '12345678901234567890.10' },
      '-1,234,567.56 12,345,678,901,234,567,890.1 x',
    ],
    // The time is the service's, not the machine's; a calendar date is not an instant.
    [
      '{{ "now" | date: "%Y-%m-%d %H:%M" }} {{ now | date: "%H:%M" }} {{ "2026-03-01" | date: "%d %b" }}',
      {},
      '2026-03-02 10:00 10:00 01 Mar',
    ],
  ])('%s', async (source, data, text) => {
    expect(await render(source, data)).toBe(text);
  });

  it('formats instants in the given time zone, and leaves dates as they are', async () => {
    const source = '{{ at | date: "%Y-%m-%d %H:%M" }} {{ "2026-03-01" | date: "%Y-%m-%d" }}';
    const given = { ...request(source, { at: '2026-03-01T02:00:00Z' }), timeZone: 'America/New_York' };
    expect((await renderTemplate(given)).body).toBe('2026-02-28 21:00 2026-03-01');
  });

  it('escapes data in HTML in every way of output, and only once', async () => {
    const data = { x: `<b a="1" c='2'>&\n` };
    const once = '&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;';
    for (const source of [
      '{{ x }}',
      '{{ x | escape }}',
      '{% echo x %}',
      '{% cycle x %}',
      '{{ x | append: "" }}',
      '{% liquid\n echo x\n%}',
    ])
      expect(await render(source, data), source).toBe(`${once}\n`);
    expect(await render('{{ x | newline_to_br }}', data)).toBe(`${once}<br>\n`);
    expect(await render('{{ "&amp;<" | escape_once }}')).toBe('&amp;&lt;');
    expect((await checkTemplate('a', request('{{ x | raw }}').parts))[0]).toMatchObject({
      code: 'syntax',
      message: 'undefined filter: raw',
    });
  });

  it('leaves text as it is, except control characters, and makes a line one line', async () => {
    const data = { x: 'a<b>\r\nBcc: eve@example.test\u0000\u2028c' };
    expect(await render('{{ x }}', data, 'text')).toBe('a<b>\nBcc: eve@example.test\u2028c');
    expect(await render(' {{ x }}\n', data, 'line')).toBe('a<b> Bcc: eve@example.test c');
  });

  it('reports every syntax error with its line and column', async () => {
    const source = 'one\n{% if x %}\n{{ a | shout }}{% endif %}\n  {% include "x" %}{% for %}';
    const found = await checkTemplate('a', request(source).parts);
    expect(pluck([...found], 'part', 'code', 'line', 'column')).toEqual([
      ['body', 'syntax', 3, 1],
      ['body', 'syntax', 3, 16],
      ['body', 'syntax', 4, 3],
      ['body', 'syntax', 4, 20],
    ]);
    await expect(render('x\n{{ "open }}')).rejects.toThrow(/^body, line 2: /);
    expect(await checkTemplate('a', request('{{ fine }}').parts)).toEqual([]);
  });

  it('reports missing variables in a preview, once per position, and still renders', async () => {
    const previewed = await previewTemplate(
      request('{{ a.b }}{% for i in (1..3) %}\n{{ c.d }}{{ i }}{% endfor %}{% if e %}{% endif %}', { c: {} }),
    );
    expect(previewed.texts).toEqual({ body: '\n1\n2\n3' });
    expect(previewed.problems.map(({ code, message, line }) => [code, message, line])).toEqual([
      ['undefined_variable', 'undefined variable: a', 1],
      ['undefined_variable', 'undefined variable: c.d', 2],
    ]);
  });

  it('sees no state of another rendering', async () => {
    await render(
      '{% assign a = 1 %}{% increment b %}{% capture c %}x{% endcapture %}{% increment constructor %}{% cycle 1, 2 %}',
    );
    expect(await render('{{ a }}{{ b }}{{ c }}{% increment b %}{% cycle 1, 2 %}{{ constructor }}')).toBe(
      '01',
    );
  });
});

const many = (unit: string, length = templateLimits.maxSourceLength): string =>
  unit.repeat(Math.floor(length / unit.length));
const grow = (step: string): string =>
  `{% assign a = "0123456789" %}{% assign l = "a,b,c" | split: "," %}{% for i in (1..99) %}${step}{% endfor %}`;

// On a very busy machine the time limit may come before the work limit.
const limits = /too_much_work|too_slow/;

describe('a hostile template', () => {
  const secret = { record: { id: 1 }, list: [1, 2] };
  it.each<[string, string, RegExp]>([
    // Files, other templates, code, and filters that read more than their input.
    ['a file', '{% include "/etc/passwd" %}', /tag "include" not found/],
    ['a partial', '{% render "../../.env" %}', /tag "render" not found/],
    ['a layout', '{% layout "x" %}{% block b %}{% endblock %}', /tag "layout" not found/],
    ['an expression from data', '{{ list | where_exp: "x", "x > 1" }}', /undefined filter: where_exp/],
    ['chance', '{{ list | sample }}', /undefined filter: sample/],
    ['lists within lists', '{{ list | push: list }}', /undefined filter: push/],
    // Endless and merely very long loops.
    ['a long range', '{% for i in (1..1000000000) %}{% endfor %}', /too_much_work/],
    [
      'nested loops',
      '{% for i in (1..1900) %}{% for j in (1..1900) %}{% if i %}{% endif %}{% endfor %}{% endfor %}',
      limits,
    ],
    [
      'a table in a loop',
      '{% for i in (1..9) %}{% tablerow j in (1..3999999) %}{% endtablerow %}{% endfor %}',
      limits,
    ],
    // Growth.
    ['append', grow('{% assign a = a | append: a %}'), limits],
    ['replace', grow('{% assign a = a | replace: "0", a %}'), limits],
    ['capture', grow('{% capture a %}{{ a }}{{ a }}{% endcapture %}'), limits],
    ['concat', grow('{% assign l = l | concat: l %}'), limits],
    ['join', grow('{% assign a = l | join: a %}'), limits],
    [
      'split',
      `{% assign a = "${'x'.repeat(9_999)}" %}{% for i in (1..999) %}{% assign l = a | split: "" %}{% endfor %}`,
      limits,
    ],
    [
      'url_encode',
      grow('{% assign a = a | append: "é%" | url_encode %}{% assign a = a | append: a %}'),
      limits,
    ],
    ['literal text', `{% for i in (1..9999) %}${'x'.repeat(999)}{% endfor %}`, limits],
    ['padding', '{{ "now" | date: "%999999999Y" }}', limits],
    ['much output', `{% for i in (1..1999) %}${'x'.repeat(999)}{% endfor %}`, /too_much_output|too_slow/],
    // Texts that are hard to parse.
    ['deep nesting', many('{% if a %}'), /nested too deeply|Takes longer/],
    ['deep brackets', `{{ ${'a['.repeat(20_000)}`, /not closed/],
    ['open outputs', many('{{'), /not closed/],
    ['open tags', many('{%'), /not closed/],
    ['too long', 'x'.repeat(templateLimits.maxSourceLength + 1), /too_long/],
  ])('%s ends with a clear problem', async (_, source, problem) => {
    const error = await render(source, secret).catch((refused: unknown) => refused);
    if (!(error instanceof TemplateError)) throw new Error('it was rendered');
    const [first] = error.problems;
    expect(`${first?.code} ${first?.message}`).toMatch(problem);
    if (!['too_much_output', 'too_long', 'too_slow'].includes(first?.code ?? ''))
      expect(first?.line).toBeGreaterThanOrEqual(1);
  });

  it.each([
    '{{ record.constructor }}{{ record.__proto__ }}{{ constructor }}{{ __proto__ }}{{ "x".constructor }}',
    '{{ record["constructor"]["constructor"] }}{{ list.constructor }}{{ list["map"] }}{{ toString }}',
    '{{ process }}{{ global }}{{ globalThis }}{{ require }}{{ this }}{{ self }}{{ env }}{{ settings }}{{ ctx }}',
    '{{ list | map: "constructor" }}{{ list | where: "constructor" | size | minus: 2 | plus: 2 | replace: "0", "" }}',
    '{% assign __proto__ = record %}{% assign x = list %}{{ x.record }}{{ x.id }}',
  ])('cannot reach beyond its data: %s', async (source) => {
    expect((await render(source, secret)).trim()).toBe('');
  });
});

describe('the thread', () => {
  const program = (code: string): URL =>
    new URL(
      `data:text/javascript,import { parentPort } from 'node:worker_threads'; ${encodeURIComponent(`parentPort.on('message', (task) => { ${code} }); parentPort.postMessage('ready')`)}`,
    );
  const task = (source: string) => ({
    kind: 'check' as const,
    parts: { body: { source, as: 'text' as const } },
  });
  // What no known template can do: code that never ends or takes all memory.
  const code = `
    if (task.parts.body.source === 'loop') for (;;);
    if (task.parts.body.source === 'fill') { const kept = []; for (;;) kept.push(new Array(10000).fill({})); }
    if (task.parts.body.source === 'die') setImmediate(() => { throw new Error('on purpose'); });
    parentPort.postMessage({ texts: { body: task.parts.body.source + Object.keys(process.env).length }, problems: [] });`;

  it('is terminated at the deadline and when its memory is full; the next task gets a new thread', async () => {
    const thread = createTemplateThread({ deadlineMs: 30_000, heapMb: 24, program: program(code) });
    const strict = createTemplateThread({ deadlineMs: 1_000, program: program(code) });
    await strict.run('a', task('x'));
    // The whole process is blocked for longer than the deadline: the result that has arrived by then is used,
    // although timers run first.
    await new Promise((resolve) => setImmediate(resolve));
    const late = strict.run('a', task('y'));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    expect(await late).toMatchObject({ texts: { body: 'y0' } });
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 1);
    expect(await strict.run('a', task('loop'))).toBe('too_slow');
    clearInterval(ticking);
    // The service's own event loop kept running.
    expect(ticks).toBeGreaterThan(5);
    expect(await thread.run('a', task('fill'))).toBe('too_much_work');
    expect(await thread.run('a', task('x'))).toMatchObject({ texts: { body: 'x0' } });
    // A thread that dies between two tasks is replaced, and doesn't end the process.
    expect(await thread.run('a', task('die'))).toMatchObject({ texts: { body: 'die0' } });
    const result = await until(() => thread.run('a', task('y')).catch(() => undefined));
    expect(result).toMatchObject({ texts: { body: 'y0' } });
  });

  it('alternates between organizations, and refuses tasks when too many wait', async () => {
    const thread = createTemplateThread({ program: program(code) });
    const order: string[] = [];
    const run = async (organizationId: string, name: string) => {
      await thread.run(organizationId, task(name));
      order.push(name);
    };
    await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')]);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
    const all = await Promise.allSettled(
      Array.from({ length: templateLimits.maxWaiting + 2 }, () => thread.run('a', task('x'))),
    );
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });
});
