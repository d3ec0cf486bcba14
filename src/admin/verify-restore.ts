// Checks the integrity of a database: all records are present, all encrypted values can be decrypted, and the
// published versions are unchanged. Never changes anything.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { z } from 'zod';
import { DecryptionError, type Keyring, parseKeyId } from '../core/secrets/keyring.ts';
import { type CountedTable, countWarehouseRows } from '../warehouse/record-state.ts';
import { type Admin, defineCommand, option, RefusedCommand } from './command.ts';
import { type EncryptedRow, encryptedColumns, readEncryptedRows } from './encrypted-columns.ts';
import { listAllOrganizations } from './operator.ts';
import { textTable } from './text-table.ts';

type Version = { readonly version: string; readonly status: string; readonly sha256: string };
type OfOrganization = {
  readonly id: string;
  readonly slug: string;
  readonly tables: readonly CountedTable[];
  readonly versions: readonly Version[];
};
/** `unreadable`: the number of values that can't be decrypted, by column and key id. */
type Decryption = { readonly values: number; readonly unreadable: Readonly<Record<string, number>> };
export type Report = {
  readonly organizations: readonly OfOrganization[];
  readonly sealed: Decryption;
  readonly problems: readonly string[];
};

const canDecrypt = (keyring: Keyring, { ciphertext, bindTo }: EncryptedRow): boolean => {
  try {
    keyring.decrypt(ciphertext, bindTo);
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
};

/** Decrypts every encrypted value, and counts those that can't be decrypted by column and key. */
async function decryptEverything(owner: Knex, keyring: Keyring): Promise<Decryption> {
  let values = 0;
  const unreadable: Record<string, number> = {};
  for (const encrypted of encryptedColumns) {
    for (let rows = await readEncryptedRows(owner, encrypted, { after: undefined }); rows.length > 0; ) {
      values += rows.length;
      for (const row of rows.filter((candidate) => !canDecrypt(keyring, candidate))) {
        const place = `${encrypted.table}.${encrypted.column} under ${parseKeyId(row.ciphertext)}`;
        unreadable[place] = (unreadable[place] ?? 0) + 1;
      }
      rows = await readEncryptedRows(owner, encrypted, { after: rows.at(-1) });
    }
  }
  return { values, unreadable };
}

async function readVersions(owner: Knex, organizationId: string): Promise<Version[]> {
  const rows = await owner('api_schemas')
    .where('organization_id', organizationId)
    .whereLike('version', 'v%')
    .whereNot('status', 'draft')
    .orderByRaw('substr(version, 2)::int')
    .select<{ version: string; status: string; openapi: string }[]>('version', 'status', 'openapi');
  return rows.map(({ version, status, openapi }) => ({
    version,
    status,
    sha256: createHash('sha256').update(openapi).digest('hex'),
  }));
}

const Earlier = z.object({
  organizations: z.array(
    z.object({
      id: z.string(),
      slug: z.string(),
      versions: z.array(z.object({ version: z.string(), sha256: z.string() })),
    }),
  ),
});
type Earlier = z.output<typeof Earlier>;

/** The organizations and versions of an earlier report that this database lacks or that differ. */
function compareWith(earlier: Earlier, now: readonly OfOrganization[]): string[] {
  const problems: string[] = [];
  for (const { id, slug, versions } of earlier.organizations) {
    const found = now.find((organization) => organization.id === id);
    if (found === undefined) problems.push(`${slug}: the organization is missing`);
    for (const { version, sha256 } of found === undefined ? [] : versions) {
      const present = found?.versions.find((candidate) => candidate.version === version);
      if (present === undefined) problems.push(`${slug} ${version}: the version is missing`);
      else if (present.sha256 !== sha256) problems.push(`${slug} ${version}: its description differs`);
    }
  }
  return problems;
}

/** Checks the whole database, and compares it with an earlier report if there is one. */
export async function verify({ owner, ctx, progress }: Admin, earlier?: Earlier): Promise<Report> {
  const organizations: OfOrganization[] = [];
  for (const { id, slug } of await listAllOrganizations({ owner })) {
    progress(`checking ${slug}`);
    organizations.push({
      id,
      slug,
      tables: await countWarehouseRows({ ...ctx, organizationId: id }),
      versions: await readVersions(owner, id),
    });
  }
  const sealed = await decryptEverything(owner, ctx.keyring);
  const counts = organizations.flatMap(({ slug, tables }) =>
    tables
      .filter(({ rows, counted }) => rows !== counted)
      .map(({ recordType, rows, counted }) =>
        counted === null
          ? `${slug} ${recordType}: its table is missing`
          : `${slug} ${recordType}: ${rows} records expected, ${counted} found`,
      ),
  );
  const unreadable = Object.entries(sealed.unreadable).map(
    ([place, values]) => `${place}: ${values} ${values === 1 ? 'value' : 'values'} can't be decrypted`,
  );
  const differences = earlier === undefined ? [] : compareWith(earlier, organizations);
  return { organizations, sealed, problems: [...counts, ...unreadable, ...differences] };
}

/** The report as text for the operator. */
export function showReport({ organizations, sealed, problems }: Report): string {
  const rows = organizations.map(({ slug, tables, versions }) => ({
    organization: slug,
    tables: tables.length,
    records: tables.reduce((sum, { counted }) => sum + (counted ?? 0), 0),
    versions: versions
      .map(({ version, status, sha256 }) => `${version} ${status} ${sha256.slice(0, 12)}`)
      .join(', '),
  }));
  const found =
    problems.length === 0
      ? 'No problems found.'
      : `Problems:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
  return [textTable(rows), `${sealed.values} encrypted values checked.`, found]
    .filter((part) => part !== '')
    .join('\n');
}

/** Rejects with RefusedCommand when the file can't be read or is no report of this command. */
async function readEarlier(file: string): Promise<Earlier> {
  try {
    return Earlier.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new RefusedCommand(
      `${file} is not a report of this command. Create one with: npm run --silent admin -- verify-restore --json > ${file}`,
      { cause: error },
    );
  }
}

export const verifyRestoreCommand = defineCommand({
  name: 'verify-restore',
  summary: 'Checks the integrity of a database; changes nothing.',
  about: `Compares the number of records in every table with the expected number, decrypts every encrypted value, and prints the SHA-256 of
each published version's description. Keep the output of --json together with each backup, and pass it to --against after a restore:
missing and differing versions are reported. Exit code 3: problems were found.`,
  input: z.strictObject({
    against: option(z.string().min(1).optional(), 'file', 'an earlier output of --json to compare with'),
  }),
  async run(admin, { against }) {
    const report = await verify(admin, against === undefined ? undefined : await readEarlier(against));
    return { json: report, text: showReport(report), incomplete: report.problems.length > 0 };
  },
});
