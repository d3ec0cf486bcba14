// Between the request and the form of a kind: each field of the form is one value of the settings, or a secret.
import type { KindField } from '../../../connection-kinds.ts';
import { ApiError } from '../../api-error.ts';
import { parseJson } from '../../parts/parse-json.ts';

export type KindValues = Readonly<Record<string, string>>;
type Fields = readonly KindField[];

const createTest =
  ({ when = {} }: KindField) =>
  (values: KindValues): boolean =>
    Object.entries(when).every(([name, value]) => values[name] === value);

const valueAt = (from: object, path: string): unknown =>
  path.split('.').reduce<unknown>((within, name) => Object(within)[name], from);

const toText = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value, null, 2).replace(/^{}$/, '') : String(value);

/** Settings that are stored, as the form shows them; without, what a new connection begins with. */
export const toKindValues = (fields: Fields, stored?: object): KindValues =>
  Object.fromEntries(
    fields.map(({ name, initial = '', options }) => [
      name,
      stored === undefined ? initial || (options?.[0]?.[0] ?? '') : toText(valueAt(stored, name) ?? ''),
    ]),
  );

/** Throws an ApiError for JSON that is none, and for a number that is none. */
function parse({ kind, rows, label }: KindField, text: string): unknown {
  if (rows !== undefined) return parseJson<unknown>(label, text);
  if (kind === 'check') return text === 'true';
  if (kind !== 'number') return text;
  if (Number.isNaN(Number(text))) throw new ApiError(0, { message: `${label} is not a number: ${text}` });
  return Number(text);
}

type Json = Record<string, unknown>;
/** The object of this name, which is made if it isn't there. */
function enter(outer: Json, name: string): Json {
  outer[name] ??= {};
  return outer[name] as Json;
}

/** `settings` and `secrets` of the request. Throws as `parse` does. */
export function toKindInput(fields: Fields, values: KindValues): { settings: object; secrets?: object } {
  const settings: Json = {};
  for (const field of fields.filter((one) => createTest(one)(values))) {
    const entered = values[field.name] ?? '';
    const text = field.kind === 'password' ? entered : entered.trim();
    const isEmpty = text === '' && field.kind !== 'check';
    const path = (isEmpty ? (field.nullable ?? '') : field.name).split('.');
    const last = path.pop() ?? '';
    if (last === '') continue;
    const within = path.reduce<Json>(enter, settings);
    within[last] = isEmpty ? null : parse(field, text);
  }
  const { secrets, ...others } = settings;
  return { settings: others, ...(secrets !== undefined && { secrets: secrets as object }) };
}

/**
 * The service names problems with secrets by all of them. `stored`: what a connection that exists has; `hint` tells its
 * secret from others.
 */
export function toSpecs(fields: Fields, stored: KindValues | null, hint: string) {
  const secrets = fields.filter((one) => one.kind === 'password' && stored && createTest(one)(stored));
  const toReplace =
    secrets.length > 1 ? 'Enter all of them to replace them' : 'Enter another one to replace it';
  return fields.map((field) => {
    const { name, label, nullable } = field;
    const when = createTest(field);
    const isStored = secrets.includes(field);
    return {
      ...{ ...field, when, path: name.replace(/(?<=^secrets)\..*/, '') },
      ...(nullable === name && { label: `${label} (optional)` }),
      ...(isStored && { required: false, hint: `Stored${hint}. ${toReplace}.` }),
    };
  });
}

/** What is stored, in words. */
export const listKindFacts = (fields: Fields, stored: KindValues) =>
  fields.flatMap((field) => {
    const value = stored[field.name] ?? '';
    const title = field.options?.find(([known]) => known === value)?.[1] ?? value;
    return value !== '' && createTest(field)(stored) ? [[field.label, title] as const] : [];
  });
