// How a setting is declared: one value holds the environment variable it comes from, that variable's type and
// default, its description in .env.example, and the unit in which features read it. The types of the
// environment and of the settings are derived from the declarations.
import type { z } from 'zod';
import { megabyte } from './values.ts';

type FromEnvironment<E> = {
  readonly type: z.ZodType<E>;
  /** The default as it would be given. When it is empty, `type` decides what an absent variable means. */
  readonly fallback: string;
  /** The lines above the variable in .env.example. A variable without any shares the description above. */
  readonly description: readonly string[];
};
/** A variable that the service reads at its start, under its own name. */
export type Variable<E> = FromEnvironment<E> & { readonly kind: 'variable' };
/** A setting with the value of the variable `name`. */
export type Setting<N extends string, E, V> = FromEnvironment<E> & {
  readonly kind: 'setting';
  readonly name: N;
  readonly convert: (given: E) => V;
};
/** A setting that no variable changes, only tests do. */
export type Fixed<V> = { readonly kind: 'fixed'; readonly value: V };
/** A setting that config.ts computes from several variables. */
export type Derived<V> = { readonly kind: 'derived'; readonly value?: V };

/** The declarations of the settings and of their groups, which hold no further groups. */
type DeclaredIn<T> = T[keyof T] extends infer L
  ? L extends { readonly kind: string }
    ? L
    : L[keyof L]
  : never;
type Named<T> = {
  [K in keyof T as T[K] extends { kind: 'variable' } ? K : never]: T[K] extends Variable<infer E> ? E : never;
} & {
  [L in DeclaredIn<T> as L extends { kind: 'setting'; name: infer N extends string } ? N : never]: L extends {
    convert: (given: infer E) => unknown;
  }
    ? E
    : never;
};
type OptionalNames<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];
/** The variables by name, as parsed. */
export type EnvironmentOf<T> = Omit<Named<T>, OptionalNames<Named<T>>> &
  Partial<Pick<Named<T>, OptionalNames<Named<T>>>>;

type ReadonlyValue<V> = V extends readonly (infer Item)[] ? readonly Item[] : V;
type ValueOf<L> = L extends { kind: 'setting'; convert: (given: never) => infer V }
  ? ReadonlyValue<V>
  : L extends Fixed<infer V> | Derived<infer V>
    ? V
    : SettingsOf<L>;
export type SettingsOf<T> = {
  readonly [K in keyof T as T[K] extends { kind: 'variable' } ? never : K]: ValueOf<T[K]>;
};

type HasDerived<L> = L extends { readonly kind: infer K }
  ? K extends 'derived'
    ? true
    : false
  : true extends HasDerived<L[keyof L]>
    ? true
    : false;
/** The part of the settings that config.ts computes. */
export type DerivedOf<T> = {
  readonly [K in keyof T as HasDerived<T[K]> extends true ? K : never]: T[K] extends Derived<infer V>
    ? V
    : DerivedOf<T[K]>;
};

export const variable = <E>(type: z.ZodType<E>, fallback = '', ...description: string[]): Variable<E> => ({
  kind: 'variable',
  type,
  fallback,
  description,
});
export const setting = <N extends string, E>(
  name: N,
  type: z.ZodType<E>,
  fallback = '',
  ...description: string[]
): Setting<N, E, E> => ({ kind: 'setting', name, type, fallback, description, convert: (given) => given });
/** The setting in another unit or form than its variable. */
export const converted = <N extends string, E, V>(
  from: Setting<N, E, unknown>,
  convert: (given: E) => V,
): Setting<N, E, V> => ({ ...from, convert });
export const inMs = <N extends string>(seconds: Setting<N, number, number>) =>
  converted(seconds, (given) => given * 1_000);
export const inBytes = <N extends string>(megabytes: Setting<N, number, number>) =>
  converted(megabytes, (given) => given * megabyte);
export const fixed = <V>(value: V): Fixed<V> => ({ kind: 'fixed', value });
export const derived = <V>(): Derived<V> => ({ kind: 'derived' });

type Declared = Variable<unknown> | Setting<string, unknown, unknown> | Fixed<unknown> | Derived<unknown>;
type Group = { readonly [key: string]: unknown; readonly kind?: undefined };
const declaredIn = (group: Group) => Object.entries(group) as [string, Declared | Group][];

/** The variables in the order of their declaration. */
export const listVariables = (group: Group): (FromEnvironment<unknown> & { readonly name: string })[] =>
  declaredIn(group).flatMap(([key, declared]) => {
    if (declared.kind === undefined) return listVariables(declared);
    if (declared.kind === 'variable') return [{ ...declared, name: key }];
    return declared.kind === 'setting' ? [declared] : [];
  });

/** The settings for these values of the variables, with the computed ones. */
export const settingsFrom = (group: Group, environment: Group, computed: Group): Record<string, unknown> =>
  Object.fromEntries(
    declaredIn(group).flatMap(([key, declared]): [string, unknown][] => {
      if (declared.kind === undefined)
        return [[key, settingsFrom(declared, environment, (computed[key] ?? {}) as Group)]];
      if (declared.kind === 'setting') return [[key, declared.convert(environment[declared.name])]];
      if (declared.kind === 'fixed') return [[key, declared.value]];
      return declared.kind === 'derived' ? [[key, computed[key]]] : [];
    }),
  );
