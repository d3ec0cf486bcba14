// Whether a database holds together: what readers see is all there, what is sealed opens, and what was published says the same as ever.
// Changes nothing.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { z } from 'zod';
import { type Keyring, keyIdOf, UnreadableBox } from '../core/keyring.ts';
import { type CountedTable, countWarehouse } from '../sync/index.ts';
import { type Admin, defineCommand, option, RefusedCommand } from './command.ts';
import { allOrganizations } from './operator.ts';
import { readSealed, type SealedRow, sealedColumns } from './sealed-columns.ts';
import { textTable } from './text-table.ts';

type Version = { readonly version: string; readonly status: string; readonly sha256: string };
type OfOrganization = {
  readonly id: string;
  readonly slug: string;
  readonly tables: readonly CountedTable[];
  readonly versions: readonly Version[];
};
type Sealed = { readonly values: number; readonly unreadable: Readonly<Record<string, number>> };
export type Report = { readonly organizations: readonly OfOrganization[]; readonly sealed: Sealed; readonly problems: readonly string[] };

const opens = (keyring: Keyring, { box, bindTo }: SealedRow): boolean => {
  try {
    keyring.open(box, bindTo);
    return true;
  } catch (error) {
    if (error instanceof UnreadableBox) return false;
    throw error;
  }
};

/** Opens every sealed value; those that don't open are counted by column and key. */
async function openEverySealed(owner: Knex, keyring: Keyring): Promise<Sealed> {
  let values = 0;
  const unreadable: Record<string, number> = {};
  for (const sealed of sealedColumns) {
    for (let rows = await readSealed(owner, sealed, { after: undefined }); rows.length > 0; ) {
      values += rows.length;
      for (const row of rows.filter((candidate) => !opens(keyring, candidate))) {
        const place = `${sealed.table}.${sealed.column} under ${keyIdOf(row.box)}`;
        unreadable[place] = (unreadable[place] ?? 0) + 1;
      }
      rows = await readSealed(owner, sealed, { after: rows.at(-1) });
    }
  }
  return { values, unreadable };
}

async function readVersions(owner: Knex, organizationId: string): Promise<Version[]> {
  const rows = await owner('api_schemas')
    .where('organization_id', organizationId)
    .whereNot('status', 'draft')
    .orderByRaw('substr(version, 2)::int')
    .select<{ version: string; status: string; openapi: string }[]>('version', 'status', 'openapi');
  return rows.map(({ version, status, openapi }) => ({ version, status, sha256: createHash('sha256').update(openapi).digest('hex') }));
}

const Earlier = z.object({
  organizations: z.array(
    z.object({ id: z.string(), slug: z.string(), versions: z.array(z.object({ version: z.string(), sha256: z.string() })) }),
  ),
});
type Earlier = z.output<typeof Earlier>;

/** What a report of the time of the backup names, and this database has not, or has in other words. */
function compareWith(earlier: Earlier, now: readonly OfOrganization[]): string[] {
  const problems: string[] = [];
  for (const { id, slug, versions } of earlier.organizations) {
    const found = now.find((organization) => organization.id === id);
    if (found === undefined) problems.push(`${slug}: the organization is gone`);
    for (const { version, sha256 } of found === undefined ? [] : versions) {
      const held = found?.versions.find((candidate) => candidate.version === version);
      if (held === undefined) problems.push(`${slug} ${version}: the version is gone`);
      else if (held.sha256 !== sha256) problems.push(`${slug} ${version}: its description is not the same`);
    }
  }
  return problems;
}

export async function verify({ owner, ctx, say }: Admin, earlier?: Earlier): Promise<Report> {
  const organizations: OfOrganization[] = [];
  for (const { id, slug } of await allOrganizations({ owner })) {
    say(`looking at ${slug}`);
    organizations.push({ id, slug, tables: await countWarehouse({ ...ctx, organizationId: id }), versions: await readVersions(owner, id) });
  }
  const sealed = await openEverySealed(owner, ctx.keyring);
  const counts = organizations.flatMap(({ slug, tables }) =>
    tables
      .filter(({ rows, counted }) => rows !== counted)
      .map(({ recordType, rows, counted }) =>
        counted === null
          ? `${slug} ${recordType}: its table is gone`
          : `${slug} ${recordType}: ${rows} records are noted and ${counted} are there`,
      ),
  );
  const closed = Object.entries(sealed.unreadable).map(([place, values]) => `${place}: ${values} sealed values don't open`);
  const differences = earlier === undefined ? [] : compareWith(earlier, organizations);
  return { organizations, sealed, problems: [...counts, ...closed, ...differences] };
}

export function showReport({ organizations, sealed, problems }: Report): string {
  const rows = organizations.map(({ slug, tables, versions }) => ({
    organization: slug,
    tables: tables.length,
    records: tables.reduce((sum, { counted }) => sum + (counted ?? 0), 0),
    versions: versions.map(({ version, status, sha256 }) => `${version} ${status} ${sha256.slice(0, 12)}`).join(', '),
  }));
  const found = problems.length === 0 ? 'Everything fits.' : `What doesn't fit:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
  return [textTable(rows), `${sealed.values} sealed values were opened.`, found].filter((part) => part !== '').join('\n');
}

async function readEarlier(file: string): Promise<Earlier> {
  try {
    return Earlier.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new RefusedCommand(`${file} is no report of this command (npm run --silent admin -- verify-restore --json > ${file})`, {
      cause: error,
    });
  }
}

export const verifyRestore = defineCommand({
  name: 'verify-restore',
  summary: 'Looks whether a database holds together; changes nothing.',
  about: `Counts the records of every table against what is noted of it, opens every sealed value, and shows the SHA-256 of each published version's
description. Keep the output with --json beside each backup, and give it as --against after a restore: versions that are gone or say
something else are named. Exit code 3: something doesn't fit.`,
  database: 'check',
  alone: false,
  given: z.strictObject({ against: option(z.string().min(1).optional(), 'file', 'an earlier output with --json, to compare with') }),
  async run(admin, { against }) {
    const report = await verify(admin, against === undefined ? undefined : await readEarlier(against));
    return { json: report, text: showReport(report), left: report.problems.length > 0 };
  },
});
