// A plan as lines for people.
import { describeDifference, describeNew } from './differences.ts';
import type { Change, Plan } from './plan.ts';

function describeChange({
  action,
  label,
  changed,
  found,
  breaks,
  notes,
  isDraft,
  waitsFor,
}: Change): string[] {
  const differences = Object.entries(changed).flatMap(([name, value]) =>
    action === 'create' ? describeNew(name, value) : describeDifference(name, found?.values[name], value),
  );
  return [
    `${action.padEnd(9)} ${label}`,
    ...differences,
    ...breaks.map((text) => `breaks callers: ${text}`),
    ...notes.map((text) => `note: ${text}`),
    ...(isDraft ? ['stays a draft until "portal config apply --publish"'] : []),
    ...(waitsFor === undefined ? [] : [`waits ${waitsFor}`]),
  ].map((line, index) => (index === 0 ? line : `            ${line}`));
}

/** One line for each object with its differences, and a summary. */
export function describePlan(organization: string, { changes, notInFile }: Plan): string[] {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length;
  const breaking = changes.filter(({ breaks }) => breaks.length > 0).length;
  return [
    ...changes.flatMap(describeChange),
    ...notInFile.map((label) => `not in the file: ${label}`),
    `Plan for ${JSON.stringify(organization)}: ${count('create')} to create, ${count('update')} to update, ${count('unchanged')} unchanged, ${notInFile.length} not in the file${
      breaking === 0 ? '' : `; ${breaking} ${breaking === 1 ? 'change breaks' : 'changes break'} callers`
    }.`,
  ];
}
