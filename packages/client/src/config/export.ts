// `portal config export`: writes the set-up of an organization to a file.
import type { Print } from './connection.ts';
import { formatFile, writeConfig } from './file.ts';
import { type Kind, kinds } from './kinds.ts';
import { labelOf, type Organization } from './organization.ts';
import type { Values } from './schema.ts';

/** Whether the file has everything. Rejects with ApiError, ConnectionError or UsageError; the file is then as it was. */
export async function exportConfig(organization: Organization, file: string, print: Print): Promise<boolean> {
  let isWhole = true;
  const objects = new Map<Kind, readonly Values[]>();
  for (const kind of kinds) {
    const found = await organization.find(kind);
    objects.set(
      kind,
      found.filter((each) => each.isWhole).map(({ values }) => values),
    );
    for (const { answer } of found.filter((each) => !each.isWhole)) {
      isWhole = false;
      print(`Left out: ${labelOf(kind, answer)} refers to something that the file doesn't cover.`);
    }
  }
  await writeConfig(file, formatFile(objects));
  const counts = [...objects].filter(([, all]) => all.length > 0);
  const summary = counts.map(([{ name }, all]) => `${name} ${all.length}`).join(', ');
  print(`Wrote ${file}: ${summary || 'there are no objects'}.`);
  return isWhole;
}
