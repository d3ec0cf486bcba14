// Liquid without everything that reaches beyond the text and its data. Runs only in the worker thread. Its own limits stop templates that
// are too large or slow and report the line; the limits of the thread (thread.ts) stop everything that these miss.
import { Liquid, type LiquidError } from 'liquidjs';
import { createOutputFilter, filtersFor } from './filters.ts';
import {
  type RenderTask,
  type TaskResult,
  type TemplateParts,
  type TemplateProblem,
  type TemplateTask,
  templateLimits,
} from './template.ts';

const tags = new Set([
  ...['assign', 'break', 'capture', 'case', 'comment', 'continue', 'cycle', 'decrement', 'echo', 'for', 'if', 'increment', 'liquid'],
  ...['raw', 'tablerow', 'unless', '#'],
]);

type EngineOptions = { readonly as: 'html' | 'text'; readonly now: string; readonly timeZone: string; readonly strict: boolean };

/** Counts the output towards the memory limit, whether it goes into a capture or the result: Liquid counts neither. */
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

function createEngine({ as, now, timeZone, strict }: EngineOptions): Liquid {
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
    outputEscape: createOutputFilter(as),
    parseLimit: templateLimits.maxSourceLength,
    memoryLimit: templateLimits.maxWork,
    renderLimit: templateLimits.maxCpuMs,
  });
  for (const name of Object.keys(liquid.tags)) if (!tags.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const [name, filter] of filtersFor(as, now)) liquid.registerFilter(name, filter);
  countOutput(liquid);
  return liquid;
}

const limitCodes: readonly (readonly [RegExp, TemplateProblem['code'], string])[] = [
  [/^memory alloc limit/, 'too_much_work', `Produces more than ${templateLimits.maxWork} characters and list items`],
  [/^template render limit/, 'too_slow', `Takes more than ${templateLimits.maxCpuMs} ms of CPU time`],
  [/^parse length limit/, 'too_long', `Is longer than ${templateLimits.maxSourceLength} characters`],
  [/^Maximum call stack/, 'too_much_work', 'Is nested too deeply'],
];

const isErrorList = (error: unknown): error is Error & { errors: readonly unknown[] } =>
  error instanceof Error && error.name === 'LiquidErrors' && Array.isArray((error as { errors?: unknown }).errors);

/** `phase` is the code for a problem without a code of its own: `syntax` while parsing, `failed` while rendering. */
function problemsOf(part: string, error: unknown, phase: 'syntax' | 'failed'): TemplateProblem[] {
  if (isErrorList(error)) return error.errors.flatMap((one) => problemsOf(part, one, phase));
  const { token, originalError, message, name } = error as Partial<LiquidError>;
  const text = originalError?.message ?? message ?? '';
  const limit = limitCodes.find(([pattern]) => pattern.test(text));
  const [line = null, column = null] = token?.getPosition() ?? [];
  return [
    {
      part,
      code: limit?.[1] ?? (name === 'UndefinedVariableError' ? 'undefined_variable' : phase),
      message: limit?.[2] ?? text.replace(/, line:\d+, col:\d+$/, ''),
      line,
      column,
    },
  ];
}

function distinct(problems: readonly TemplateProblem[]): TemplateProblem[] {
  const byPosition = new Map(problems.map((problem) => [[problem.part, problem.code, problem.line, problem.column].join(), problem]));
  return [...byPosition.values()].slice(0, templateLimits.maxProblems);
}

const checkOptions = { now: '1970-01-01T00:00:00Z', timeZone: 'UTC', strict: true };

function check(parts: TemplateParts): TaskResult {
  const problems = Object.entries(parts).flatMap(([part, { source, as }]) => {
    try {
      createEngine({ as: as === 'html' ? 'html' : 'text', ...checkOptions }).parse(source);
      return [];
    } catch (error) {
      return problemsOf(part, error, 'syntax');
    }
  });
  return { texts: {}, problems: distinct(problems) };
}

const toLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
/** Removes control characters except line breaks and tabs. */
const toText = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replaceAll(/(?![\n\t])\p{Cc}/gu, '');

/** A number that a float can't hold exactly becomes the text of its digits, so that the output has the exact digits. */
const parseData = (json: string): object =>
  JSON.parse(json, (_key, value: unknown, context?: { readonly source?: string }) => {
    const { source } = context ?? {};
    if (typeof value !== 'number' || source === undefined) return value;
    const digits = source.includes('.') ? source.replace(/\.?0+$/, '') : source;
    return /e/i.test(source) || String(value) === digits ? value : source;
  }) as object;

function renderPart(part: string, task: RenderTask, strict: boolean): { text: string; problems: TemplateProblem[] } {
  const { source, as } = task.parts[part] ?? { source: '', as: 'text' };
  const engine = createEngine({ as: as === 'html' ? 'html' : 'text', now: task.now, timeZone: task.timeZone, strict });
  let phase: 'syntax' | 'failed' = 'syntax';
  try {
    const parsed = engine.parse(source);
    phase = 'failed';
    // Parsed again for each part, so that one part can't change the data of the next.
    const data = Object.assign(Object.create(null), parseData(task.data), { now: task.now }) as object;
    const text = String(engine.renderSync(parsed, data));
    return { text: as === 'line' ? toLine(text) : toText(text), problems: [] };
  } catch (error) {
    return { text: '', problems: problemsOf(part, error, phase) };
  }
}

function render(task: RenderTask): TaskResult {
  const problems: TemplateProblem[] = [];
  const texts: Record<string, string> = {};
  let length = 0;
  for (const part of Object.keys(task.parts)) {
    const strictProblems = task.reportMissing ? renderPart(part, task, true).problems : [];
    problems.push(...strictProblems);
    if (strictProblems.some(({ code }) => code !== 'undefined_variable')) continue;
    const rendered = renderPart(part, task, false);
    problems.push(...rendered.problems);
    if (rendered.problems.length > 0) continue;
    texts[part] = rendered.text;
    length += rendered.text.length;
    if (length > templateLimits.maxOutputLength) {
      const message = `Outputs more than ${templateLimits.maxOutputLength} characters`;
      return { texts: {}, problems: [{ part, code: 'too_much_output', message, line: null, column: null }] };
    }
  }
  return { texts, problems: distinct(problems) };
}

export const runTask = (task: TemplateTask): TaskResult => (task.kind === 'check' ? check(task.parts) : render(task));
