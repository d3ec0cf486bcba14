// What web/portal is built into, and the texts that it makes besides pages: of mails, and on paper.
import type { MailKind } from '../core/text/portal-terms.ts';
import type {
  Frame,
  Label,
  Language,
  Page,
  PaymentPage,
  RecordPage,
  ShownPayment,
  StatementPage,
  Table,
  Value,
} from './view-model.ts';

/** Of a mail with a code, in the language of the page that asked. */
export type CodeMailTexts = {
  readonly subject: string;
  readonly title: string;
  readonly says: string;
  readonly action: string;
  /** Above the address of the button. */
  readonly openAddress: string;
  readonly notes: readonly string[];
};

export type ReceiptTexts = {
  readonly subject: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly headings: readonly [invoice: string, amount: string];
  readonly rows: readonly (readonly [string, string])[];
  readonly action: string;
  readonly openAddress: string;
  readonly notes: readonly string[];
};

/** Of a mail that a visitor ordered. `end`: of the link that ends mails of its kind. */
export type OrderedMailTexts = {
  readonly subject: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly table: {
    readonly columns: readonly { readonly label: string; readonly numeric: boolean }[];
    readonly rows: readonly (readonly string[])[];
  };
  readonly action: string;
  readonly openAddress: string;
  readonly why: string;
  readonly end: string;
};

/** The texts of a page on paper, in a language. */
export type Paper = {
  readonly title: string;
  /** Below the customer's name. */
  readonly to: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly tables: readonly {
    readonly title: string | null;
    readonly columns: readonly {
      readonly label: string;
      readonly numeric: boolean;
      readonly wide: boolean;
    }[];
    readonly rows: readonly (readonly string[])[];
    readonly totals: readonly {
      readonly label: string;
      readonly value: string;
      readonly strong: boolean;
    }[];
  }[];
  /** `Page {page} of {pages}` */
  readonly pageOf: string;
};

/** What web/portal is built into. */
export type Renderer = {
  /** The whole document. */
  renderPage(page: Page, frame: Frame): string;
  labelText(label: Label, language: Language): string;
  recordPaper(page: RecordPage, language: Language): Paper;
  /** `address`: of the customer. */
  statementPaper(page: StatementPage, address: Value, language: Language): Paper;
  /** `statement`: of the mail of that kind alone. */
  orderedMailTexts(
    language: Language,
    about: {
      readonly kind: MailKind;
      readonly company: string;
      readonly customer: string;
      readonly tables: readonly Pick<Table, 'columns' | 'rows'>[];
      readonly statement?: StatementPage;
    },
  ): OrderedMailTexts;
  receiptTexts(
    language: Language,
    about: {
      readonly company: string;
      readonly payment: Pick<ShownPayment, 'amount' | 'invoices'>;
      readonly paidAt: string;
      readonly method: PaymentPage['method'];
    },
  ): ReceiptTexts;
  codeMailTexts(
    language: Language,
    about: { readonly company: string; readonly browser: string | null; readonly requestedAt: Date },
  ): CodeMailTexts;
};
