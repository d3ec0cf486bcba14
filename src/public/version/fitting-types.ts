// What fits the values of each type, for authors of definitions: operators, functions of summaries, masks.
import { allColumnTypes, type ColumnType } from '../../warehouse/columns.ts';
import { lineOperators, listOperators, maskFits, operatorFits } from './operators.ts';
import { type AggregateFunction, type Mask, masks, type Operator } from './schema-document.ts';
import { listFunctions } from './validate-summary.ts';

type FittingType = {
  readonly type: ColumnType;
  readonly operators: readonly Operator[];
  /** Of a field of lines with this type. */
  readonly lineOperators: readonly Operator[];
  readonly functions: readonly AggregateFunction[];
  readonly masks: readonly Mask[];
};

export const fittingTypes: readonly FittingType[] = allColumnTypes.map((type) => ({
  type,
  operators: listOperators(type),
  lineOperators: lineOperators.filter((operator) => operatorFits(operator, type)),
  functions: type === 'lines' ? [] : listFunctions(type),
  masks: masks.filter((mask) => maskFits(mask, type)),
}));
