// Which records the text of an answer names, of those that its tools have read.
import { z } from 'zod';
import type { Source, VisitorAgent } from '../../platform/index.ts';

const maxRead = 5_000;
const maxSources = 20;

/** A masked number may have none. */
const hasLetters = /[\p{L}\p{N}]/u;

const Row = z.looseObject({ id: z.string() });
const Output = z.object({ data: z.union([z.array(Row), Row.transform((row) => [row])]) });
const Input = z.object({ resource: z.string() });

/** JSON text of a tool; no rows where it has none. */
function readRows(output: string): z.output<typeof Row>[] {
  try {
    return Output.safeParse(JSON.parse(output)).data?.data ?? [];
  } catch {
    return [];
  }
}

/** Where the text names the label as a whole word; -1 where it doesn't. */
function findName(content: string, label: string): number {
  const isPart = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = content.indexOf(label); at !== -1; at = content.indexOf(label, at + 1))
    if (!isPart(content[at - 1]) && !isPart(content[at + label.length])) return at;
  return -1;
}

export type ReadSources = {
  readonly onRead: (input: unknown, output: string) => void;
  readonly findSources: (content: string) => readonly Source[];
  /** The record types of which something was read. */
  readonly readTypes: ReadonlySet<string>;
};

/** Records are called by their number; those without one by their id. */
export function createReadSources({ resources }: VisitorAgent): ReadSources {
  const read = new Map<string, Source>();
  const readTypes = new Set<string>();
  return {
    readTypes,
    onRead: (input, output) => {
      const name = Input.safeParse(input).data?.resource;
      const resource = resources.find((one) => one.name === name);
      if (resource === undefined) return;
      const { recordType } = resource.entry;
      readTypes.add(recordType);
      for (const { id, ...fields } of readRows(output)) {
        const number = resource.number === undefined ? undefined : fields[resource.number];
        const label = typeof number === 'string' && hasLetters.test(number) ? number.trim() : id;
        if (read.size < maxRead) read.set(`${recordType} ${id}`, { recordType, id, label });
      }
    },
    findSources: (content) =>
      [...read.values()]
        .map((source) => ({ source, at: findName(content, source.label) }))
        .filter(({ at }) => at !== -1)
        .sort((one, other) => one.at - other.at)
        .slice(0, maxSources)
        .map(({ source }) => source),
  };
}
