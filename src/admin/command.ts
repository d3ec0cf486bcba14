// What an operator's command is: a value, of which its help, the parsing of its arguments and the run are made. Its options are one
// zod schema; an option's metadata say how it is written on the command line.
import { parseArgs } from 'node:util';
import type { Knex } from 'knex';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { plainWords } from '../http/plain-words.ts';

/** The command can't be carried out as it was given; the message says why. */
export class RefusedCommand extends Error {
  override readonly name = 'RefusedCommand';
}

/** Its arguments are not those of the command; the message says which. */
export class BadArguments extends Error {
  override readonly name = 'BadArguments';
}

export type Admin = {
  readonly ctx: Ctx;
  /** Works as portal_owner, who sees the rows of every organization in schema public, and none of their synced records. */
  readonly owner: Knex;
  /** Tells people what is being done; never part of the outcome. */
  readonly say: (line: string) => void;
};

/** `left`: the command did its work, and something remains that needs a person. */
export type Outcome = { readonly json: unknown; readonly text: string; readonly left?: boolean };

type Shape = z.ZodObject<Readonly<Record<string, z.ZodType>>>;
export type Command = {
  readonly name: string;
  readonly summary: string;
  /** What it does and doesn't, for `--help`. */
  readonly about: string;
  readonly given: Shape;
  /** `migrate` brings the database to this version's state first, as a start does; `check` refuses one of another version. */
  readonly database: 'migrate' | 'check';
  /** No second one of these runs at the same time. */
  readonly alone: boolean;
  run(admin: Admin, given: unknown): Promise<Outcome>;
};

type Definition<S extends Shape> = Omit<Command, 'given' | 'run'> & {
  readonly given: S;
  run(admin: Admin, given: z.output<S>): Promise<Outcome>;
};

export const defineCommand = <S extends Shape>({ run, ...command }: Definition<S>): Command => ({
  ...command,
  run: (admin, given) => run(admin, given as z.output<S>),
});

/** An option with a value, shown as `--name <value>`. */
export const option = <T extends z.ZodType>(schema: T, value: string, about: string): T => schema.meta({ value, description: about });
export const flag = (about: string) => z.boolean().default(false).meta({ description: about });
/** What stands without a name behind the command. */
export const argument = <T extends z.ZodType>(schema: T, value: string, about: string): T =>
  schema.meta({ value, description: about, positional: true });
/** Several texts separated by commas. */
export const listed = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

const dashed = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

type Entry = {
  readonly name: string;
  readonly shown: string;
  readonly about: string;
  readonly value: boolean;
  readonly positional: boolean;
};

function entriesOf({ given }: Command): Entry[] {
  return Object.entries(given.shape).map(([name, schema]) => {
    const {
      value,
      positional,
      description = '',
    } = (schema.meta() ?? {}) as {
      value?: string;
      positional?: boolean;
      description?: string;
    };
    const shown = positional === true ? `<${value}>` : `--${dashed(name)}${value === undefined ? '' : ` <${value}>`}`;
    const optional = schema.safeParse(undefined).success;
    return {
      name,
      shown: optional ? `[${shown}]` : shown,
      about: description,
      value: value !== undefined,
      positional: positional === true,
    };
  });
}

const started = 'npm run admin --';

export function helpOf(command: Command): string {
  const entries = entriesOf(command);
  const width = Math.max(8, ...entries.map(({ shown }) => shown.length));
  const lines = [
    ...entries.map(({ shown, about }) => `  ${shown.padEnd(width)}  ${about}`),
    `  ${'[--json]'.padEnd(width)}  the outcome as JSON on standard output`,
  ];
  const usage = [started, command.name, ...entries.map(({ shown }) => shown)].join(' ');
  return `${command.summary}\n\n${usage}\n\n${lines.join('\n')}\n\n${command.about}`;
}

/** Throws BadArguments that names every problem. */
export function readGiven(command: Command, args: readonly string[]): { given: unknown; json: boolean } {
  const entries = entriesOf(command);
  const named = entries.filter(({ positional }) => !positional);
  const options = Object.fromEntries(
    named.map(({ name, value }) => [dashed(name), { type: value ? ('string' as const) : ('boolean' as const) }]),
  );
  let parsed: { values: Readonly<Record<string, unknown>>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options: { ...options, json: { type: 'boolean' } }, allowPositionals: true });
  } catch (error) {
    throw new BadArguments(error instanceof Error ? error.message : String(error));
  }
  const { json, ...values } = parsed.values;
  const places = entries.filter(({ positional }) => positional);
  if (parsed.positionals.length > places.length) throw new BadArguments(`"${parsed.positionals[places.length]}" has no meaning here`);
  const given = Object.fromEntries([
    ...named.map(({ name }) => [name, values[dashed(name)]] as const),
    ...places.map(({ name }, index) => [name, parsed.positionals[index]] as const),
  ]);
  const read = command.given.safeParse(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)), {
    error: plainWords,
  });
  if (read.success) return { given: read.data, json: json === true };
  const shownAs = (name: string): string => entries.find((entry) => entry.name === name)?.shown ?? name;
  throw new BadArguments(
    read.error.issues
      .map(({ path, message }) => {
        const name = String(path[0]);
        return given[name] === undefined ? `${shownAs(name)} is missing` : `${shownAs(name)}: ${message}`;
      })
      .join('\n'),
  );
}
