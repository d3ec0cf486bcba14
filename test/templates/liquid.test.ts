// What src/templates/liquid relies on inside LiquidJS. When this fails after an upgrade, change
// src/templates/liquid first.
import { type Context, filters, Liquid, type Template, Tokenizer } from 'liquidjs';
import { describe, expect, it, vi } from 'vitest';
import { createEngine } from '../../src/templates/liquid/engine.ts';
import { toProblems } from '../../src/templates/liquid/problems.ts';
import { templateLimits } from '../../src/templates/template.ts';

const options = { as: 'text', now: '2026-03-02T10:00:00Z', timeZone: 'UTC', strict: true } as const;

/** The problems of a template that fails. */
function problems(source: string, data: object = {}) {
  try {
    const engine = createEngine(options);
    engine.renderSync(engine.parse(source), data);
    return 'no error';
  } catch (error) {
    return toProblems('body', error, 'failed').map(({ code, line, column }) => ({ code, line, column }));
  }
}

describe('LiquidJS', () => {
  it('registers its tags and filters in `tags` and `filters`, from which they can be removed', () => {
    const changed = 'LiquidJS keeps its tags or filters elsewhere: see createEngine';
    const liquid = new Liquid();
    expect(Object.keys(liquid.tags), changed).toEqual(
      expect.arrayContaining(['include', 'render', 'layout', 'block']),
    );
    expect(Object.keys(liquid.filters), changed).toEqual(expect.arrayContaining(['raw', 'date', 'join']));
    for (const source of ['{% include "x" %}', '{% render "x" %}', '{% layout "x" %}'])
      expect(problems(source), changed).toMatchObject([{ code: 'failed' }]);
    expect(problems('{{ 1 | raw }}'), changed).toMatchObject([{ code: 'failed' }]);
    expect(typeof filters.join, 'LiquidJS no longer exports its filters: see filtersFor').toBe('function');
  });

  it('renders through `renderer.renderTemplates`, with the limits in its context', () => {
    const changed = 'LiquidJS renders differently: see countOutput';
    const liquid = new Liquid();
    const { renderer } = liquid;
    const render = renderer.renderTemplates.bind(renderer);
    const rendered = vi.fn(
      (templates: Template[], context: Context, emitter?: Parameters<typeof render>[2]) => {
        expect(typeof context.memoryLimit.use, changed).toBe('function');
        return render(templates, context, emitter);
      },
    );
    renderer.renderTemplates = rendered;
    expect(
      liquid.renderSync(liquid.parse('{% capture a %}x{% endcapture %}{% if true %}{{ a }}{% endif %}')),
    ).toBe('x');
    expect(
      rendered.mock.calls.filter(([, , emitter]) => emitter === undefined).length,
      changed,
    ).toBeGreaterThan(1);
  });

  it('sets `content` of a number of the template as it creates its token', () => {
    const content = new Tokenizer('9007199254740993').readNumber()?.content;
    expect(String(content), 'LiquidJS reads numbers elsewhere: see createEngine').toBe('9007199254740993');
    expect(problems('{% if 9007199254740993 == 9007199254740992 %}{{ missing }}{% endif %}')).toBe(
      'no error',
    );
  });

  it('measures its render limit with the global `performance.now`', () => {
    const measured = vi.spyOn(performance, 'now');
    new Liquid({ renderLimit: 1_000 }).parseAndRenderSync('{{ 1 }}');
    expect(
      measured,
      'LiquidJS measures the time differently: see src/templates/liquid/cpu-time.ts',
    ).toHaveBeenCalled();
    measured.mockRestore();
  });

  it.each([
    ['a text that is too long', ' '.repeat(templateLimits.maxSourceLength + 1), 'too_long'],
    ['too much output', '{% for i in (1..3) %}{{ large }}{% endfor %}', 'too_much_work'],
    ['an undefined variable', 'a\n {{ missing }}', 'undefined_variable'],
    ['a syntax error', 'a\n {% if %}', 'failed'],
  ])('reports %s by a message or name that is recognized', (_what, source, code) => {
    const large = 'x'.repeat(templateLimits.maxWork / 2);
    expect(
      problems(source, { large }),
      'LiquidJS words its errors differently: see problemsOf',
    ).toMatchObject([{ code }]);
  });

  it('reports the position of an error by its token', () => {
    expect(problems('a\n {{ missing }}'), 'LiquidJS reports positions differently: see problemsOf').toEqual([
      { code: 'undefined_variable', line: 2, column: 5 },
    ]);
  });
});
