// The door of the template room: checks and renders Liquid texts of an organization. A template sees the data that it is handed and
// nothing else; it runs no code, and its limits are those of template.ts.
import { type Done, type Task, type TemplateParts, type TemplateProblem, templateLimits } from './template.ts';
import { openTemplateThread } from './thread.ts';

export { type TemplatePart, type TemplateProblem, templateLimits } from './template.ts';

/** What kept a template from being rendered; `message` tells the first problem with its line. */
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
  /** Whose template it is: organizations take turns. */
  readonly organizationId: string;
  readonly parts: TemplateParts<Name>;
  /** Plain data, read by name: `record.tranid`. `now` is added to it. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly now: Date;
  /** IANA name; UTC unless given. Instants are written in it. */
  readonly timeZone?: string;
};

const thread = openTemplateThread();

async function perform(organizationId: string, task: Task): Promise<Done> {
  const outcome = await thread.perform(organizationId, task);
  if (typeof outcome !== 'string') return outcome;
  const [part = ''] = Object.keys(task.parts);
  const message = outcome === 'too_slow' ? `Takes longer than ${templateLimits.deadlineMs} ms` : 'Needs too much memory';
  return { texts: {}, problems: [{ part, code: outcome, message, line: null, column: null }] };
}

/** Whether the texts can be read at all: every mistake with its line. A text longer than allowed is not looked at. */
export async function checkTemplate(organizationId: string, parts: TemplateParts): Promise<readonly TemplateProblem[]> {
  const { problems } = await perform(organizationId, { kind: 'check', parts });
  return problems;
}

async function render<Name extends string>(request: RenderRequest<Name>, tellMissing: boolean): Promise<Done> {
  const { organizationId, parts, now, timeZone = 'UTC' } = request;
  const data = JSON.stringify(request.data);
  const [part = ''] = Object.keys(parts);
  if (Buffer.byteLength(data) > templateLimits.dataBytes) {
    const message = `Its data has more than ${templateLimits.dataBytes} bytes`;
    return { texts: {}, problems: [{ part, code: 'too_much_data', message, line: null, column: null }] };
  }
  return perform(organizationId, { kind: 'render', parts, data, now: now.toISOString(), timeZone, tellMissing });
}

/** The texts by the names of their parts. A variable that is missing is empty. Throws TemplateError. */
export async function renderTemplate<Name extends string>(request: RenderRequest<Name>): Promise<Readonly<Record<Name, string>>> {
  const { texts, problems } = await render(request, false);
  if (problems.length > 0) throw new TemplateError(problems);
  return texts as Readonly<Record<Name, string>>;
}

/** As `renderTemplate`, for whoever writes the template: tells missing variables too, and leaves out the texts that failed. */
export async function previewTemplate<Name extends string>(
  request: RenderRequest<Name>,
): Promise<{ readonly texts: Readonly<Partial<Record<Name, string>>>; readonly problems: readonly TemplateProblem[] }> {
  const { texts, problems } = await render(request, true);
  return { texts: texts as Readonly<Partial<Record<Name, string>>>, problems };
}
