// The public interface of this folder: checks and renders an organization's Liquid templates. A template sees
// the data that is passed to it and nothing else; it runs no code, and its limits are those of template.ts.
import {
  type TaskResult,
  type TemplateParts,
  type TemplateProblem,
  type TemplateTask,
  templateLimits,
} from './template.ts';
import { createTemplateThread } from './thread.ts';

export { type TemplatePart, type TemplateProblem, templateLimits } from './template.ts';

/** Why a template could not be rendered; `message` is the first problem with its line. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly problems: readonly TemplateProblem[];
  constructor(problems: readonly TemplateProblem[]) {
    const [first] = problems;
    super(first === undefined ? 'the template failed' : describeProblem(first));
    this.problems = problems;
  }
}

/** `body, line 3: undefined filter: shout`. */
export const describeProblem = ({ part, line, message }: TemplateProblem): string =>
  `${part}${line === null ? '' : `, line ${line}`}: ${message}`;

export type RenderRequest<Name extends string> = {
  /** The template's owner. The thread alternates between organizations. */
  readonly organizationId: string;
  readonly parts: TemplateParts<Name>;
  /** Plain data, accessed by name in the template: `record.tranid`. `now` is added to it. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly now: Date;
  /** IANA name of the time zone in which instants are formatted; UTC unless given. */
  readonly timeZone?: string;
};

const thread = createTemplateThread();

async function runTask(organizationId: string, task: TemplateTask): Promise<TaskResult> {
  const outcome = await thread.run(organizationId, task);
  if (typeof outcome !== 'string') return outcome;
  const [part = ''] = Object.keys(task.parts);
  const message =
    outcome === 'too_slow' ? `Takes longer than ${templateLimits.deadlineMs} ms` : 'Needs too much memory';
  return { texts: {}, problems: [{ part, code: outcome, message, line: null, column: null }] };
}

/**
 * The syntax errors of the texts, each with its line; a text longer than allowed is not parsed. Rejects with
 * 503 `unavailable` when too many tasks wait for the thread.
 */
export async function checkTemplate(organizationId: string, parts: TemplateParts) {
  const { problems } = await runTask(organizationId, { kind: 'check', parts });
  return problems;
}

async function render<Name extends string>(
  request: RenderRequest<Name>,
  reportMissing: boolean,
): Promise<TaskResult> {
  const { organizationId, parts, now, timeZone = 'UTC' } = request;
  const data = JSON.stringify(request.data);
  const [part = ''] = Object.keys(parts);
  if (Buffer.byteLength(data) > templateLimits.maxDataBytes) {
    const message = `The data is larger than ${templateLimits.maxDataBytes} bytes`;
    return { texts: {}, problems: [{ part, code: 'too_much_data', message, line: null, column: null }] };
  }
  return runTask(organizationId, {
    kind: 'render',
    parts,
    data,
    now: now.toISOString(),
    timeZone,
    reportMissing,
  });
}

/**
 * The rendered texts by the names of their parts. A missing variable renders as empty. Rejects with
 * TemplateError when a part can't be rendered, with 503 `unavailable` when too many tasks wait.
 */
export async function renderTemplate<Name extends string>(request: RenderRequest<Name>) {
  const { texts, problems } = await render(request, false);
  if (problems.length > 0) throw new TemplateError(problems);
  return texts as Readonly<Record<Name, string>>;
}

/**
 * As `renderTemplate`, for the template's author: returns all problems, missing variables included, instead
 * of throwing, without the texts that failed. Rejects with 503 `unavailable` when too many tasks wait.
 */
export async function previewTemplate<Name extends string>(
  request: RenderRequest<Name>,
): Promise<{
  readonly texts: Readonly<Partial<Record<Name, string>>>;
  readonly problems: readonly TemplateProblem[];
}> {
  const { texts, problems } = await render(request, true);
  return { texts: texts as Readonly<Partial<Record<Name, string>>>, problems };
}
