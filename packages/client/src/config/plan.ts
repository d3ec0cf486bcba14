// Compares the file with the organization, and decides what is to be written. Reads only.
import { UsageError } from '../cli/settings.ts';
import { findBreaks } from './breaks.ts';
import { isSame } from './differences.ts';
import { toFailure } from './failures.ts';
import type { Wanted, WantedObjects } from './file.ts';
import type { Kind } from './kinds.ts';
import { findHiddenTeam, findMissing } from './missing.ts';
import { type Found, identityOf, labelOf, type Organization } from './organization.ts';
import type { Values } from './schema.ts';

export type Change = Wanted & {
  readonly action: 'create' | 'update' | 'unchanged';
  readonly found: Found | undefined;
  /** The part of the file's values that is to be written. */
  readonly changed: Values;
  /** What callers lose, as sentences. */
  readonly breaks: readonly string[];
  /** What the plan can't know. */
  readonly notes: readonly string[];
  /** The newest version is a draft, which no one reads until it is published. */
  readonly isDraft: boolean;
  /** What has to be published before the object is written, such as `until …`. */
  readonly waitsFor: string | undefined;
};
export type Plan = {
  readonly changes: readonly Change[];
  /** Labels of objects that the file doesn't have, of the kinds that it has. */
  readonly notInFile: readonly string[];
};

/** By identity and details; by identity alone where one object on each side has it. */
function matchFound(all: readonly Wanted[], found: readonly Found[]): ReadonlyMap<Wanted, Found> {
  const matches = new Map<Wanted, Found>();
  for (const wanted of all) {
    const { kind, values } = wanted;
    const isSameIn = (compared: Kind) => {
      const identity = identityOf(compared, values);
      return (each: { readonly values: Values }) => identityOf(compared, each.values) === identity;
    };
    const isSimilar = isSameIn({ ...kind, details: [] });
    const similar = found.filter(isSimilar);
    const isAlone = similar.length === 1 && all.filter(isSimilar).length === 1;
    const match = found.find(isSameIn(kind)) ?? (isAlone ? similar[0] : undefined);
    if (match !== undefined) matches.set(wanted, match);
  }
  return matches;
}

const listChanged = ({ values }: Wanted, found: Found | undefined): Values =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => !isSame(value, found?.values[name])));

/** What can't be written as the file has it. */
async function findProblems(
  organization: Organization,
  { kind, label, values }: Wanted,
  found: Found | undefined,
  changed: Values,
): Promise<string[]> {
  const names = Object.keys(changed);
  if (names.length === 0) return [];
  const obstacle = kind.findObstacle?.(values, await organization.readSingle(kind));
  const isReplaced = kind.isSingle || found === undefined || found.answer['status'] === 'published';
  const { update } = organization.description.shapeOf(kind);
  return [
    ...(obstacle === undefined ? [] : [`${label}: ${obstacle}.`]),
    ...names
      .filter((name) => !isReplaced && !update.names.has(name))
      .map((name) => `${label}: ${name} can't be changed: delete the object first, or use another name.`),
  ];
}

/** Rejects with UsageError, which has every problem, and as requests do. */
export async function makePlan(organization: Organization, wanted: WantedObjects): Promise<Plan> {
  const changes: Change[] = [];
  const notInFile: string[] = [];
  const problems: string[] = [];
  for (const [kind, all] of wanted) {
    const objects = await organization.find(kind);
    const matches = matchFound(all, objects);
    const matched = new Set(matches.values());
    for (const each of objects) if (!matched.has(each)) notInFile.push(labelOf(kind, each.values));
    for (const one of all) {
      const found = matches.get(one);
      const changed = listChanged(one, found);
      const missing = await findMissing(organization, wanted, one, changed);
      const notes = found === undefined ? await findHiddenTeam(organization, one) : [];
      problems.push(...(await findProblems(organization, one, found, changed)), ...missing.problems);
      const breaks = await findBreaks(organization, { ...one, found, changed }).catch((error) => {
        const failure = toFailure(one.label, error);
        if (!(failure instanceof UsageError)) throw failure;
        problems.push(failure.message);
        return [];
      });
      const isUnchanged = found !== undefined && Object.keys(changed).length === 0;
      const action = found === undefined ? 'create' : isUnchanged ? 'unchanged' : 'update';
      const isDraft = kind.isPublished === true && (action !== 'unchanged' || !isPublic(found));
      changes.push({
        ...{ ...one, found, changed, action, isDraft, breaks, notes },
        waitsFor: isUnchanged ? undefined : (missing.waitsFor ?? findOpening(one)),
      });
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return { changes, notInFile };
}

/** What customers see isn't opened without being asked to publish. */
const findOpening = ({ kind, values }: Wanted): string | undefined =>
  kind.opensAtOnce?.(values) ? 'until "portal config apply --publish", because customers see it' : undefined;

/** Of pages, the newest revision. */
function isPublic(found: Found | undefined): boolean {
  const { status, revision, publishedRevision = revision } = found?.answer ?? {};
  return status === 'published' && publishedRevision === revision;
}
