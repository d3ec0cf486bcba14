// What a plan contains, in words that mutants name: faults, edits, and what surrounds them. Pure.
import type { Action, EditKind, Plan, RecordTypeName, RequestFault, StateFault } from '../plan.ts';

type Surroundings =
  | 'step-clock'
  | 'clock-back'
  | 'new-day'
  | 'clock-change'
  | 'full'
  | 'during'
  | 'processes:2'
  | 'reader'
  | 'large'
  | `deletions:${Plan['deletions']}`
  | `type:${RecordTypeName}`;
export type Content =
  | EditKind
  | RequestFault
  | StateFault
  | Exclude<Action['do'], 'edit' | 'fault' | 'hold'>
  | Surroundings;

const dayMinutes = 600;

function contentsOfAction(action: Action): Content[] {
  switch (action.do) {
    case 'edit':
      return [action.kind];
    case 'fault':
    case 'hold':
      return [action.fault];
    case 'step-clock':
      return [
        'step-clock',
        ...(action.minutes < 0 ? ['clock-back' as const] : []),
        ...(action.minutes > dayMinutes ? ['new-day' as const] : []),
      ];
    default:
      return [action.do];
  }
}

/** By content, how often the plan has it. */
export function countContents(plan: Plan): ReadonlyMap<Content, number> {
  const { rounds, recordTypes, deletions, processes, reader, data, startsAt } = plan;
  const actions = rounds.flatMap(({ before, during }) => [...before, ...during.map(({ action }) => action)]);
  const contents: Content[] = [
    ...actions.flatMap(contentsOfAction),
    ...recordTypes.map((name) => `type:${name}` as const),
    `deletions:${deletions}`,
    ...(processes > 1 ? ['processes:2' as const] : []),
    ...(reader ? ['reader' as const] : []),
    ...(data === 'large' ? ['large' as const] : []),
    ...(startsAt.includes('T09:00:00') ? [] : ['clock-change' as const]),
    ...rounds
      .slice(1)
      .flatMap(({ full, during }): Content[] => [
        ...(full ? ['full' as const] : []),
        ...(during.length > 0 ? ['during' as const] : []),
      ]),
  ];
  return new Map(
    [...Map.groupBy(contents, (content) => content)].map(([content, all]) => [content, all.length]),
  );
}
