// Operators' commands as values, from which help, argument parser and execution are derived. The options of a
// command are one zod schema; the metadata of an option define how it is written on the command line.
import { parseArgs } from 'node:util';
import type { Knex } from 'knex';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { errorMessage } from '../core/errors.ts';
import { validationMessage } from '../http/route/validation-messages.ts';

/** The command can't be executed as requested; the message, for the operator, says why. */
export class RefusedCommand extends Error {
  override readonly name = 'RefusedCommand';
}

/** The arguments are invalid; the message, for the operator, names each one. */
export class BadArguments extends Error {
  override readonly name = 'BadArguments';
}

export type Admin = {
  readonly ctx: Ctx;
  /** As portal_owner: sees all organizations' rows in schema public, but none of their synced records. */
  readonly owner: Knex;
  /** Reports progress to people on standard error; never part of the outcome. */
  readonly progress: (line: string) => void;
};

/** `json` is printed with --json, else `text`. `incomplete`: done, but something remains for the operator. */
export type Outcome = { readonly json: unknown; readonly text: string; readonly incomplete?: boolean };

/** The addresses for a command that works on database servers which the service can't use yet. */
export type ServerAddresses = {
  /** MIGRATION_DATABASE_URL, or DATABASE_URL without it. */
  readonly owner: string;
  /** DATABASE_URL, if that is another address. */
  readonly service: string | undefined;
  /** WAREHOUSE_FROM_URL. */
  readonly former: string | undefined;
  readonly progress: Admin['progress'];
};

type Shape = z.ZodObject<Readonly<Record<string, z.ZodType>>>;
type Described = {
  readonly name: string;
  readonly summary: string;
  /** What it does and doesn't do, for `--help`. */
  readonly about: string;
  readonly input: Shape;
};

/** A command that works on the database of the service. */
type DatabaseCommand = Described & {
  /** `migrate` migrates first, as the service does at start; `check` rejects one of another version. */
  readonly database: 'migrate' | 'check';
  /** Only one command with this flag may run at a time. */
  readonly exclusive: boolean;
  /** Rejects with RefusedCommand or BadArguments when the command can't be executed as requested. */
  run(admin: Admin, input: unknown): Promise<Outcome>;
};

/** A command for which no database needs to exist. */
type ServerCommand = Described & {
  readonly database: 'none';
  /** Rejects with RefusedCommand or UnusableDatabase when the command can't be executed as requested. */
  run(servers: ServerAddresses, input: unknown): Promise<Outcome>;
};

export type Command = DatabaseCommand | ServerCommand;

type Definition<C extends Command, S extends Shape> = Omit<C, 'input' | 'run'> & {
  readonly input: S;
  run(opened: Parameters<C['run']>[0], input: z.output<S>): Promise<Outcome>;
};

type Needs = 'database' | 'exclusive';
export const defineCommand = <S extends Shape>({
  run,
  ...command
}: Omit<Definition<DatabaseCommand, S>, Needs> & Partial<Pick<DatabaseCommand, Needs>>): DatabaseCommand => ({
  database: 'check',
  exclusive: false,
  ...command,
  run: (admin, input) => run(admin, input as z.output<S>),
});

export const defineServerCommand = <S extends Shape>({
  run,
  ...command
}: Omit<Definition<ServerCommand, S>, 'database'>): ServerCommand => ({
  ...command,
  database: 'none',
  run: (servers, input) => run(servers, input as z.output<S>),
});

/** An option with a value, shown as `--name <value>`. */
export const option = <T extends z.ZodType>(schema: T, value: string, about: string): T =>
  schema.meta({ value, description: about });
export const flag = (about: string) => z.boolean().default(false).meta({ description: about });
/** A positional argument. */
export const argument = <T extends z.ZodType>(schema: T, value: string, about: string): T =>
  schema.meta({ value, description: about, positional: true });
/** A list of texts separated by commas. */
export const commaList = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

const toDashes = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

type Entry = {
  readonly name: string;
  readonly shown: string;
  readonly about: string;
  readonly value: boolean;
  readonly positional: boolean;
};

function describeInputs({ input }: Command): Entry[] {
  return Object.entries(input.shape).map(([name, schema]) => {
    const {
      value,
      positional,
      description = '',
    } = (schema.meta() ?? {}) as { value?: string; positional?: boolean; description?: string };
    const shown =
      positional === true ? `<${value}>` : `--${toDashes(name)}${value === undefined ? '' : ` <${value}>`}`;
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

const invocation = 'npm run admin --';

/** The text for `--help`. */
export function formatHelp(command: Command): string {
  const entries = describeInputs(command);
  const width = Math.max(8, ...entries.map(({ shown }) => shown.length));
  const lines = [
    ...entries.map(({ shown, about }) => `  ${shown.padEnd(width)}  ${about}`),
    `  ${'[--json]'.padEnd(width)}  prints the result as JSON on standard output`,
  ];
  const usage = [invocation, command.name, ...entries.map(({ shown }) => shown)].join(' ');
  return `${command.summary}\n\n${usage}\n\n${lines.join('\n')}\n\n${command.about}`;
}

/** Throws BadArguments with one line per problem. */
export function parseCommandArguments(
  command: Command,
  args: readonly string[],
): { input: unknown; json: boolean } {
  const entries = describeInputs(command);
  const named = entries.filter(({ positional }) => !positional);
  const options = Object.fromEntries(
    named.map(({ name, value }) => [
      toDashes(name),
      { type: value ? ('string' as const) : ('boolean' as const) },
    ]),
  );
  let parsed: { values: Readonly<Record<string, unknown>>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: [...args],
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
    });
  } catch (error) {
    throw new BadArguments(errorMessage(error));
  }
  const { json, ...values } = parsed.values;
  const positionals = entries.filter(({ positional }) => positional);
  if (parsed.positionals.length > positionals.length)
    throw new BadArguments(`Unexpected argument: "${parsed.positionals[positionals.length]}"`);
  const given = Object.fromEntries([
    ...named.map(({ name }) => [name, values[toDashes(name)]] as const),
    ...positionals.map(({ name }, index) => [name, parsed.positionals[index]] as const),
  ]);
  const read = command.input.safeParse(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    { error: validationMessage },
  );
  if (read.success) return { input: read.data, json: json === true };
  const displayName = (name: string): string => entries.find((entry) => entry.name === name)?.shown ?? name;
  throw new BadArguments(
    read.error.issues
      .map(({ path, message }) => {
        const name = String(path[0]);
        return given[name] === undefined
          ? `${displayName(name)} is missing`
          : `${displayName(name)}: ${message}`;
      })
      .join('\n'),
  );
}
