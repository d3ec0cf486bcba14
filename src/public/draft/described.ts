// What a proposal is made from: the ERP's description of a record type, the columns that hold its records,
// and the facts of a sample.
import type { RecordColumn } from '../../warehouse/columns.ts';
import type { Available } from '../version/bind.ts';
import type { FieldDefinition, Mask } from '../version/schema-document.ts';
import type { ColumnFact, ColumnFacts } from './column-facts.ts';

/** A field as the ERP describes it: see `FieldMetadata` of the connectors. */
export type DescribedField = {
  readonly name: string;
  readonly label: string;
  readonly type:
    | 'text'
    | 'number'
    | 'integer'
    | 'boolean'
    | 'date'
    | 'time'
    | 'reference'
    | 'list'
    | 'multiselect'
    | 'lines';
  readonly syncable: boolean;
  readonly volatile: boolean;
  readonly custom: boolean;
  readonly target?: string;
  readonly currency?: string | null;
  readonly fields?: readonly DescribedField[];
};

export type DescribedRecordType = {
  readonly name: string;
  readonly label: string;
  readonly fields: readonly DescribedField[];
  readonly modifiedField: string | null;
  readonly shownAs: {
    readonly number: string | null;
    readonly name: string | null;
    readonly date: string | null;
  };
};

export type Masked = Pick<FieldDefinition, 'mask' | 'tags'>;

/** One record type to propose an endpoint for. */
export type DraftSource = {
  readonly described: DescribedRecordType;
  readonly available: Available[string];
  readonly facts: ColumnFacts;
  /** Sources that a published version masks, those of lines as `lines.<source>`. */
  readonly masks: ReadonlyMap<string, Mask>;
};

/** A field of the proposal, with what decides about its use. */
export type Proposed = {
  readonly definition: FieldDefinition;
  readonly field: DescribedField;
  readonly part: RecordColumn['part'];
  readonly fact: ColumnFact;
  /** Records of the sample without a value. */
  readonly empty: number;
  /** The resource that the reference field refers to, where it is proposed too. */
  readonly refersTo: string | null;
};

/** Whether the values tell records apart, so that a filter by them is of use. */
export const isSelective = ({ fact, empty }: Pick<Proposed, 'fact' | 'empty'>): boolean =>
  fact.distinct > 1 || empty > 0;

/** A category: few values for many records. */
export const isCategory = ({ fact }: Pick<Proposed, 'fact'>): boolean =>
  fact.distinct > 1 && fact.distinct <= 50 && fact.distinct * 2 <= fact.filled;
