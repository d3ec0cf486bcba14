// References of the file to what neither it nor the organization has.
import type { Wanted, WantedObjects } from './file.ts';
import { assertOneTarget, listTargets, type Organization } from './organization.ts';
import { type Reference, toIds } from './references.ts';
import type { Values } from './schema.ts';

export type Missing = {
  readonly problems: readonly string[];
  /** An API schema of the file has no published version yet: `until …`. */
  readonly waitsFor: string | undefined;
};

const isInFile = (wanted: WantedObjects, { path, by }: Reference, name: string): boolean =>
  [...wanted].some(([kind, all]) => kind.path === path && all.some(({ values }) => values[by] === name));

/** Addresses of the file that no member of the organization has. */
async function listStrangers({ list }: Organization, members: unknown): Promise<string[]> {
  if (!Array.isArray(members) || members.length === 0) return [];
  const known = new Set(await listMembers({ list }).then((all) => all.keys()));
  return members.filter((address) => !known.has(address));
}

/** Ids of the members by e-mail address. Rejects as requests do. */
export async function listMembers({
  list,
}: Pick<Organization, 'list'>): Promise<ReadonlyMap<string, string>> {
  const all = await list('/organizations/{id}/members');
  return new Map(
    all.map(({ user }) => {
      const { email, id } = user as { readonly email: string; readonly id: string };
      return [email.toLowerCase(), id];
    }),
  );
}

/** Of a view that wasn't found: someone outside of its team doesn't see whether it exists. Rejects as requests do. */
export async function findHiddenTeam(
  { caller, connection, list }: Organization,
  { kind, values }: Wanted,
): Promise<string[]> {
  const { team } = values;
  if (kind.name !== 'views' || typeof team !== 'string') return [];
  const found = (await list('/teams')).find(({ name }) => name === team);
  if (found === undefined) return [];
  const members = await connection.list(`/teams/${String(found['id'])}/members`);
  if (members.some(({ user }) => String((user as Values)['email']).toLowerCase() === caller)) return [];
  return [`${caller}, whose key this is, is no member of the team, and so would not see a view of this name`];
}

/** Of the part of an object that would be written. Rejects as requests do. */
export async function findMissing(
  organization: Organization,
  wanted: WantedObjects,
  { label }: Wanted,
  changed: Values,
): Promise<Missing> {
  const problems = (await listStrangers(organization, changed['members'])).map(
    (address) => `${label}: members: no member has the address ${address}: invite this person first.`,
  );
  let waitsFor: string | undefined;
  await toIds(changed, async (reference, name, path) => {
    const all = await organization.list(reference.path);
    const targets = listTargets(all, reference, name);
    assertOneTarget(reference, name, targets);
    if (targets.length > 0) return name;
    const isPlanned = isInFile(wanted, reference, name);
    if (isPlanned && reference.isSeries)
      waitsFor = `until the API schema ${JSON.stringify(name)} is published`;
    if (!isPlanned)
      problems.push(
        `${label}: ${path}: there is no ${reference.noun} ${JSON.stringify(name)}: create it first.`,
      );
    return name;
  });
  return { problems, waitsFor };
}
