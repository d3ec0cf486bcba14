// The form in which the parts of a statement are written.

/** Returns the placeholder of one of a part's values, such as `$3::text`. */
export type Bind = (value: unknown, type: string) => string;

/** A fragment of a statement. Equal keys mean equal texts. `text` binds each of its values once, in order. */
export type SqlPart = { readonly key: string; readonly values: readonly unknown[]; text(bind: Bind): string };

/** One condition on a column. Equal variants of one column and operator mean equal texts. */
export type WrittenCondition = {
  readonly variant: string;
  readonly values: readonly unknown[];
  text(bind: Bind): string;
};
export const createCondition = (
  variant: string,
  values: readonly unknown[],
  text: (bind: Bind) => string,
): WrittenCondition => ({ variant, values, text });

/** The operators that compare with one value. */
export const comparisons = { after: '>', gt: '>', before: '<', lt: '<', gte: '>=', lte: '<=' } as const;
