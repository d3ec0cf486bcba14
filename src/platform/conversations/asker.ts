// Who asks an agent, as far as its answer needs to know.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';

export type AnswerCtx = ReadingCtx & TenantCtx;

/** A record that the text of an answer names. */
export type Source = { readonly recordType: string; readonly id: string; readonly label: string };

export type Asker = {
  /** What they may read as they ask. */
  readonly reads: RecordAccess;
  /** What they may read now; undefined when that is nothing any more, and the answer ends. */
  readonly findAccess: () => Promise<RecordAccess | undefined>;
  /** One of the company's customers, who reads the customer's own records. */
  readonly isCustomer?: boolean;
  /** Called with the input of each tool call that read something, and with its whole result. */
  readonly onRead?: (input: unknown, output: string) => void;
  /** The sources to store with an answer of this text. */
  readonly findSources?: (content: string) => readonly Source[];
};
