// Liquid without everything that reaches beyond the text and its data. Runs only in the worker thread. Its
// own limits stop templates that are too large or slow and report the line; the limits of the thread
// (thread.ts) stop everything that these miss. This folder is the only one that relies on how LiquidJS works
// inside; test/templates/liquid.test.ts fails when a new version changes that.
import { type Context, defaultOperators, Liquid, Tokenizer } from 'liquidjs';
import { templateLimits } from '../template.ts';
import { createOutputFilter, filtersFor } from './filters.ts';
import { inOrder, parseNumber } from './numbers.ts';

const tags = new Set([
  ...[
    'assign',
    'break',
    'capture',
    'case',
    'comment',
    'continue',
    'cycle',
    'decrement',
    'echo',
    'for',
    'if',
    'increment',
    'liquid',
  ],
  ...['raw', 'tablerow', 'unless', '#'],
]);

type EngineOptions = {
  readonly as: 'html' | 'text';
  readonly now: string;
  readonly timeZone: string;
  readonly strict: boolean;
};

/** Counts output towards the memory limit, into a capture or the result: Liquid counts neither. */
function countOutput(liquid: Liquid): void {
  const { renderer } = liquid;
  const render = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, given) => {
    if (given !== undefined) return render(templates, context, given);
    let buffer = '';
    const emitter = {
      get buffer() {
        return buffer;
      },
      write(html: unknown) {
        const text = String(html ?? '');
        context.memoryLimit.use(text.length);
        buffer += text;
      },
    };
    return render(templates, context, emitter);
  };
}

type Operator = (left: unknown, right: unknown, context: Context) => Generator<unknown, boolean>;
const compared = (name: string, holds: (sign: number) => boolean): Operator =>
  function* (left, right, context) {
    return inOrder(left, right, holds) ?? (yield* (defaultOperators[name] as Operator)(left, right, context));
  };
const exactOperators = {
  '<': compared('<', (sign) => sign < 0),
  '<=': compared('<=', (sign) => sign <= 0),
  '>': compared('>', (sign) => sign > 0),
  '>=': compared('>=', (sign) => sign >= 0),
};

/** Liquid turns the digits of a template into a float as it creates their token. */
Object.defineProperty(Object.getPrototypeOf(new Tokenizer('1').readNumber()), 'content', {
  get(this: { getText(): string }) {
    return parseNumber(this.getText());
  },
  set() {},
});

export function createEngine({ as, now, timeZone, strict }: EngineOptions): Liquid {
  const liquid = new Liquid({
    // No partials; without this option Liquid would look them up in the file system.
    templates: {},
    cache: false,
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: strict,
    // `{% if record.memo %}` may test whether a variable exists.
    lenientIf: true,
    catchAllErrors: strict,
    timezoneOffset: timeZone,
    locale: 'en-US',
    dateFormat: '%Y-%m-%d',
    operators: { ...defaultOperators, ...exactOperators },
    outputEscape: createOutputFilter(as),
    parseLimit: templateLimits.maxSourceLength,
    memoryLimit: templateLimits.maxWork,
    renderLimit: templateLimits.maxCpuMs,
  });
  for (const name of Object.keys(liquid.tags)) if (!tags.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const [name, filter] of filtersFor(as, now, strict)) liquid.registerFilter(name, filter);
  countOutput(liquid);
  return liquid;
}
