// Checks or renders the parts of a template, one after the other. Runs only in the worker thread.
import { createEngine } from './liquid/engine.ts';
import { parseNumber } from './liquid/numbers.ts';
import { toProblems } from './liquid/problems.ts';
import {
  type RenderTask,
  type TaskResult,
  type TemplateParts,
  type TemplateProblem,
  type TemplateTask,
  templateLimits,
} from './template.ts';

function distinct(problems: readonly TemplateProblem[]): TemplateProblem[] {
  const byPosition = new Map(
    problems.map((problem) => [[problem.part, problem.code, problem.line, problem.column].join(), problem]),
  );
  return [...byPosition.values()].slice(0, templateLimits.maxProblems);
}

const checkOptions = { now: '1970-01-01T00:00:00Z', timeZone: 'UTC', strict: true };

function check(parts: TemplateParts): TaskResult {
  const problems = Object.entries(parts).flatMap(([part, { source, as }]) => {
    try {
      createEngine({ as: as === 'html' ? 'html' : 'text', ...checkOptions }).parse(source);
      return [];
    } catch (error) {
      return toProblems(part, error, 'syntax');
    }
  });
  return { texts: {}, problems: distinct(problems) };
}

const toLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
/** Removes control characters except line breaks and tabs. */
const toText = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replaceAll(/(?![\n\t])\p{Cc}/gu, '');

const parseData = (json: string): object =>
  JSON.parse(json, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? parseNumber(context.source) : value,
  ) as object;

function renderPart(part: string, task: RenderTask, strict: boolean) {
  const { source, as } = task.parts[part] ?? { source: '', as: 'text' };
  const engine = createEngine({
    as: as === 'html' ? 'html' : 'text',
    now: task.now,
    timeZone: task.timeZone,
    strict,
  });
  let phase: 'syntax' | 'failed' = 'syntax';
  try {
    const parsed = engine.parse(source);
    phase = 'failed';
    // Parsed again for each part, so that one part can't change the data of the next.
    const data = Object.assign(Object.create(null), parseData(task.data), { now: task.now }) as object;
    const text = String(engine.renderSync(parsed, data));
    return { text: as === 'line' ? toLine(text) : toText(text), problems: [] };
  } catch (error) {
    return { text: '', problems: toProblems(part, error, phase) };
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

export const runTask = (task: TemplateTask) => (task.kind === 'check' ? check(task.parts) : render(task));
