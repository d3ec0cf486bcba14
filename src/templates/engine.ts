// Liquid with everything taken away that reaches beyond the text and its data. Runs in the thread of worker.ts and knows no other.
// Its own limits end what is merely too large, with the line; the thread's end whatever these don't see.
import { Liquid, type LiquidError } from 'liquidjs';
import { filtersFor, putOut } from './filters.ts';
import { type Done, type RenderTask, type Task, type TemplateParts, type TemplateProblem, templateLimits } from './template.ts';

const tags = new Set([
  ...['assign', 'break', 'capture', 'case', 'comment', 'continue', 'cycle', 'decrement', 'echo', 'for', 'if', 'increment', 'liquid'],
  ...['raw', 'tablerow', 'unless', '#'],
]);

type EngineOptions = { readonly as: 'html' | 'text'; readonly now: string; readonly timeZone: string; readonly strict: boolean };

/** Counts what is put out, into a capture as well as into the answer, where Liquid counts nothing. */
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

function openEngine({ as, now, timeZone, strict }: EngineOptions): Liquid {
  const liquid = new Liquid({
    // Nothing is ever looked up; without this the file system would be.
    templates: {},
    cache: false,
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: strict,
    // `{% if record.memo %}` asks whether there is one.
    lenientIf: true,
    catchAllErrors: strict,
    timezoneOffset: timeZone,
    locale: 'en-US',
    dateFormat: '%Y-%m-%d',
    outputEscape: putOut(as),
    parseLimit: templateLimits.sourceLength,
    memoryLimit: templateLimits.work,
    renderLimit: templateLimits.renderMs,
  });
  for (const name of Object.keys(liquid.tags)) if (!tags.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const [name, filter] of filtersFor(as, now)) liquid.registerFilter(name, filter);
  countOutput(liquid);
  return liquid;
}

const limitCodes: readonly (readonly [RegExp, TemplateProblem['code'], string])[] = [
  [/^memory alloc limit/, 'too_much_work', `Makes more than ${templateLimits.work} characters and items`],
  [/^template render limit/, 'too_slow', `Takes more than ${templateLimits.renderMs} ms`],
  [/^parse length limit/, 'too_long', `Is longer than ${templateLimits.sourceLength} characters`],
  [/^Maximum call stack/, 'too_much_work', 'Is nested too deeply'],
];

const isMany = (error: unknown): error is Error & { errors: readonly unknown[] } =>
  error instanceof Error && error.name === 'LiquidErrors' && Array.isArray((error as { errors?: unknown }).errors);

/** `syntax`: while it was read. */
function problemsOf(part: string, error: unknown, phase: 'syntax' | 'failed'): TemplateProblem[] {
  if (isMany(error)) return error.errors.flatMap((one) => problemsOf(part, one, phase));
  const { token, originalError, message, name } = error as Partial<LiquidError>;
  const words = originalError?.message ?? message ?? '';
  const limit = limitCodes.find(([pattern]) => pattern.test(words));
  const [line = null, column = null] = token?.getPosition() ?? [];
  return [
    {
      part,
      code: limit?.[1] ?? (name === 'UndefinedVariableError' ? 'undefined_variable' : phase),
      message: limit?.[2] ?? words.replace(/, line:\d+, col:\d+$/, ''),
      line,
      column,
    },
  ];
}

function distinct(problems: readonly TemplateProblem[]): TemplateProblem[] {
  const byPlace = new Map(problems.map((problem) => [[problem.part, problem.code, problem.line, problem.column].join(), problem]));
  return [...byPlace.values()].slice(0, templateLimits.problems);
}

const nothingSet = { now: '1970-01-01T00:00:00Z', timeZone: 'UTC', strict: true };

function check(parts: TemplateParts): Done {
  const problems = Object.entries(parts).flatMap(([part, { source, as }]) => {
    try {
      openEngine({ as: as === 'html' ? 'html' : 'text', ...nothingSet }).parse(source);
      return [];
    } catch (error) {
      return problemsOf(part, error, 'syntax');
    }
  });
  return { texts: {}, problems: distinct(problems) };
}

const asLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
/** Lines and tabs stay. */
const asText = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replaceAll(/(?![\n\t])\p{Cc}/gu, '');

/** A number that a float can't hold is the text of its digits, as whoever reads it wants them and not near ones. */
const parseData = (json: string): object =>
  JSON.parse(json, (_key, value: unknown, context?: { readonly source?: string }) => {
    const { source } = context ?? {};
    if (typeof value !== 'number' || source === undefined) return value;
    const digits = source.includes('.') ? source.replace(/\.?0+$/, '') : source;
    return /e/i.test(source) || String(value) === digits ? value : source;
  }) as object;

function renderPart(part: string, task: RenderTask, strict: boolean): { text: string; problems: TemplateProblem[] } {
  const { source, as } = task.parts[part] ?? { source: '', as: 'text' };
  const engine = openEngine({ as: as === 'html' ? 'html' : 'text', now: task.now, timeZone: task.timeZone, strict });
  let phase: 'syntax' | 'failed' = 'syntax';
  try {
    const parsed = engine.parse(source);
    phase = 'failed';
    // Parsed for each part anew: what one part changes in it the next one doesn't see.
    const data = Object.assign(Object.create(null), parseData(task.data), { now: task.now }) as object;
    const text = String(engine.renderSync(parsed, data));
    return { text: as === 'line' ? asLine(text) : asText(text), problems: [] };
  } catch (error) {
    return { text: '', problems: problemsOf(part, error, phase) };
  }
}

function render(task: RenderTask): Done {
  const problems: TemplateProblem[] = [];
  const texts: Record<string, string> = {};
  let length = 0;
  for (const part of Object.keys(task.parts)) {
    const told = task.tellMissing ? renderPart(part, task, true).problems : [];
    problems.push(...told);
    if (told.some(({ code }) => code !== 'undefined_variable')) continue;
    const rendered = renderPart(part, task, false);
    problems.push(...rendered.problems);
    if (rendered.problems.length > 0) continue;
    texts[part] = rendered.text;
    length += rendered.text.length;
    if (length > templateLimits.outputLength) {
      const message = `Puts out more than ${templateLimits.outputLength} characters`;
      return { texts: {}, problems: [{ part, code: 'too_much_output', message, line: null, column: null }] };
    }
  }
  return { texts, problems: distinct(problems) };
}

export const perform = (task: Task): Done => (task.kind === 'check' ? check(task.parts) : render(task));
