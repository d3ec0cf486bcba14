// The types behind generated clients. A resource is described by what its records, parameters and summaries are.
import type { Freshness } from './transport.ts';

/** A number as the service takes it; text and bigint for more digits than a double has. */
export type Numeric = number | bigint | string;
/** RFC 3339, a day as `YYYY-MM-DD`, or a date object. */
export type Time = string | Date;

/** Of a parameter that is called like something that every object has: what it is where it isn't given. */
export type Inherited<Name extends keyof typeof Object.prototype> = (typeof Object.prototype)[Name];
/** Of resources without related records. */
export type None = Record<never, never>;
export type OneOrMore<Value> = Value | readonly Value[];

export type ResourceTypes = {
  readonly record: { readonly id: string };
  /** Related records by the name of their relation. */
  readonly related: object;
  /** The parameters that select and sort records. */
  readonly selection: object;
  /** `never` without a summary. */
  readonly summary: { readonly parameters: object; readonly row: object };
};

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;
/** A name that is known only when the program runs gives properties that may be there. */
type One<Whole, Name> =
  IsUnion<Name> extends true ? Partial<Pick<Whole, Name & keyof Whole>> : Pick<Whole, Name & keyof Whole>;
type Named<Whole, Names, Found = unknown> = Names extends readonly [infer First, ...infer Rest]
  ? Named<Whole, Rest, Found & One<Whole, First>>
  : Names extends readonly []
    ? Found
    : Names extends readonly (infer Name)[]
      ? Partial<Pick<Whole, Name & keyof Whole>>
      : One<Whole, Names>;
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

declare const unknown: unique symbol;
/** What no value is: it names the parameter in the compiler's message. */
export type UnknownParameter<Name> = { readonly [unknown]: Name };

/** Every parameter that isn't one of `Allowed` is an error, also beside others and in variables. */
export type Exact<Given, Allowed> = Given & {
  readonly [Name in Exclude<keyof Given, keyof Allowed>]: UnknownParameter<Name>;
};

export type Paging = { readonly page?: number; readonly pageSize?: number };

export type Shape<T extends ResourceTypes> = {
  /** Only these fields; `id` is always included. */
  readonly fields?: readonly (keyof T['record'])[];
} & Expanding<T['related']>;

/** Without related records, `expand` may be a filter. */
type Expanding<Related> = [keyof Related] extends [never]
  ? unknown
  : {
      /** Embeds related records. */
      readonly expand?: readonly (keyof Related)[];
    };

type Fields<T extends ResourceTypes, P> = 'fields' extends keyof P
  ? P extends { readonly fields: infer Names }
    ? Pick<T['record'], 'id'> & Named<T['record'], Names>
    : Pick<T['record'], 'id'> & Partial<T['record']>
  : T['record'];
type Related<T extends ResourceTypes, P> = [keyof T['related']] extends [never]
  ? unknown
  : 'expand' extends keyof P
    ? P extends { readonly expand: infer Names }
      ? Named<T['related'], Names>
      : Partial<T['related']>
    : unknown;

/** A record with the fields and related records that the parameters ask for. */
export type Shown<T extends ResourceTypes, P> = Flat<Fields<T, P> & Related<T, P>>;

type Functions = 'sum' | 'avg' | 'min' | 'max' | 'count_distinct';
type Groups<Row, P> = P extends { readonly by: infer Names } ? Named<Row, Names> : unknown;
type Computed<Row, P> = {
  [Name in keyof P & Functions & keyof Row]: Named<Row[Name], P[Name]>;
};
type Count<P> = P extends { readonly count: false }
  ? unknown
  : P extends { readonly count: true }
    ? { readonly count: number }
    : keyof P & (Functions | 'count') extends never
      ? { readonly count: number }
      : { readonly count?: number };

/** A row of a summary with the groups and results that the parameters ask for. */
export type SummaryRow<Row, P> = Flat<Groups<Row, P> & Computed<Row, P> & Count<P>>;
export type Summary<Row> = Freshness & {
  readonly data: Row[];
  /** The number of groups, before `limit`. */
  readonly total: number;
};
