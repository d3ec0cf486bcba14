// `portal pull` writes a client, `portal check` compares what was written with what is published.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chooseVersion, type FoundVersion, listVersions } from '../connect.ts';
import { ApiError } from '../errors.ts';
import { readModel } from '../generate/model.ts';
import { writePython } from '../generate/python.ts';
import { type IntegerForm, writeTypescript } from '../generate/typescript.ts';
import type { Transport } from '../transport.ts';
import { hashDescription, type Language, type LockedClient, lockClient, lockName, readLock } from './lock.ts';
import { UsageError } from './settings.ts';

export type PullOptions = {
  /** The folder of `portal.lock.json`. */
  readonly folder: string;
  readonly version: string | undefined;
  readonly lang: Language;
  readonly out: string;
  readonly integers: IntegerForm;
};
type Print = (line: string) => void;

const readDescription = async (transport: Transport, version: string): Promise<string> =>
  (await transport.read(`/api/public/openapi/${version}`)).text;

/** Rejects with ApiError for a refusal, and with a TypeError when the key doesn't read the version. */
export async function pull(transport: Transport, options: PullOptions, print: Print): Promise<void> {
  const { folder, lang, integers } = options;
  const out = path.relative(folder, path.resolve(folder, options.out)).replaceAll(path.sep, '/') || '.';
  const { version } = chooseVersion(await listVersions(transport), options.version);
  const text = await readDescription(transport, version);
  const model = readModel(text, version);
  const files =
    lang === 'ts' ? { [`${version}.ts`]: writeTypescript(model, integers) } : await writePython(model);
  await mkdir(path.resolve(folder, out), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    // A file that only has to exist keeps what is in it.
    await writeFile(path.resolve(folder, out, name), content, { flag: content === '' ? 'a' : 'w' });
    print(`Wrote ${path.posix.join(out, name)}`);
  }
  const description = hashDescription(text);
  await lockClient(folder, { version, lang, out, integers, description });
  print(`Wrote ${lockName}`);
}

/** What is wrong with a client; undefined for one that is up to date. */
async function findProblem(
  transport: Transport,
  { version, description }: LockedClient,
  versions: readonly FoundVersion[],
): Promise<string | undefined> {
  const found = versions.find((each) => each.version === version);
  if (found?.state === 'deprecated')
    return found.sunsetAt === null
      ? `Version ${version} is deprecated.`
      : `Version ${version} is deprecated and may be retired from ${found.sunsetAt} on.`;
  try {
    const text = await readDescription(transport, version);
    if (hashDescription(text) === description) return undefined;
    return `The description of version ${version} is not the one that was pulled: the key reads something else now. Pull again.`;
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404, 410].includes(error.status)) throw error;
    return `Version ${version} can't be read: ${error.message}.`;
  }
}

/** Whether every client is up to date. Rejects with UsageError when none was pulled. */
export async function check(transport: Transport, folder: string, print: Print): Promise<boolean> {
  const clients = await readLock(folder);
  if (clients.length === 0)
    throw new UsageError(`There is no client in ${lockName}: run "portal pull" first.`);
  const versions = await listVersions(transport);
  let isCurrent = true;
  for (const client of clients) {
    const problem = await findProblem(transport, client, versions);
    isCurrent &&= problem === undefined;
    print(`${client.out} (${client.lang}): ${problem ?? `version ${client.version} is up to date.`}`);
  }
  return isCurrent;
}
