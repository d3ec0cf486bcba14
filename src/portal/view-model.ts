// What the pages of the portal show: plain values, which `src/portal` reads and `web/portal` draws. Neither knows
// more of the other than these types.
import type {
  languages,
  MailKind,
  meanings,
  ReceivableRole,
  recordRoles,
} from '../core/text/portal-terms.ts';
import type { AskPage } from './ask-model.ts';

export type Language = (typeof languages)[number];

/** A text of the organization, or one of the portal's own in the visitor's language. */
export type Label =
  | string
  | { readonly meaning: (typeof meanings)[number] }
  | { readonly role: (typeof recordRoles)[number] }
  | { readonly line: 'item' | 'text' | 'quantity' | 'rate' | 'amount' }
  | { readonly own: 'home' | 'profile' | 'pay' | 'payments' | 'statement' | 'ask' }
  /** One document of the role. */
  | { readonly document: ReceivableRole }
  | { readonly statement: 'type' | 'charge' | 'payment' | 'balance' | 'opening' | 'closing' };

/** Exact digits as text: never a JavaScript number. `currency`: as the ERP names it, by ISO 4217 where it does so; null where it is not known. */
export type Money = { readonly amount: string; readonly currency: string | null };

export type DateStyle = 'iso' | 'short' | 'medium' | 'long';
export type Value =
  | null
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'label'; readonly label: Label }
  /** The name of the record, which the row leads to. */
  | { readonly kind: 'number-of-record'; readonly text: string }
  | { readonly kind: 'status'; readonly text: string }
  | { readonly kind: 'number'; readonly value: string; readonly digits: number | null }
  | ({ readonly kind: 'money'; readonly digits: number | null } & Money)
  | { readonly kind: 'date'; readonly date: string; readonly style: DateStyle }
  /** `days`: until it is due, negative once it is late; null where nothing is open. */
  | { readonly kind: 'due'; readonly date: string; readonly days: number | null }
  | { readonly kind: 'time'; readonly instant: string; readonly style: DateStyle }
  | { readonly kind: 'yes-no'; readonly value: boolean };

export type Column = {
  readonly label: Label;
  /** What its values mean, also under a label of the organization. */
  readonly meaning?: (typeof meanings)[number] | undefined;
  readonly numeric: boolean;
  /** Where a click on the head leads, and how the table is sorted by it now. */
  readonly sort: { readonly href: string; readonly now: 'ascending' | 'descending' | null } | null;
};
export type Table = {
  readonly columns: readonly Column[];
  readonly rows: readonly { readonly href: string | null; readonly cells: readonly Value[] }[];
  /** Below the columns: of a record's lines. */
  readonly totals?: readonly Value[];
};

export type NavigationItem = {
  readonly label: Label;
  /** Null for a group. */
  readonly href: string | null;
  readonly isExternal: boolean;
  readonly isCurrent: boolean;
  readonly children: readonly NavigationItem[];
};

export type Customer = { readonly id: string; readonly name: string };

/** What surrounds every page. */
export type Frame = {
  readonly language: Language;
  readonly languages: readonly Language[];
  /** Prefix of the addresses of pages, without a slash at its end. */
  readonly base: string;
  /** Path and query of this page, for the forms that come back to it. */
  readonly here: string;
  readonly files: {
    readonly stylesheets: readonly string[];
    readonly scripts: readonly string[];
    readonly icon: string;
  };
  readonly brand: {
    readonly name: string;
    readonly logo: string | null;
    readonly supportAddress: string | null;
    readonly legalLinks: readonly { readonly label: string; readonly url: string }[];
  };
  /** Null before sign-in. */
  readonly visitor: {
    readonly email: string;
    readonly customer: Customer | null;
    /** All of the visitor's, to change to another one. */
    readonly customers: readonly Customer[];
    /** A member sees the portal as this visitor would, until then. */
    readonly viewAsUntil: string | null;
  } | null;
  readonly navigation: readonly NavigationItem[];
  /** For formatting instants: IANA. */
  readonly timeZone: string;
};

/** A problem of a form; `minutes`: when to try again, `tries`: how many are left. */
export type FormProblem = {
  readonly code:
    | 'no_address'
    | 'no_code'
    | 'wrong_code'
    | 'too_many'
    | 'code_used_up'
    | 'expired'
    | 'not_signed_in'
    | 'not_verified';
  readonly minutes?: number;
  readonly tries?: number;
};

export type Balance = {
  readonly currency: string | null;
  readonly due: string;
  readonly overdue: string;
  readonly credit: string | null;
  /** By days since they were due: not yet due, 1–30, 31–60, 61–90, over 90. Null where no due dates are known. */
  readonly aging: readonly { readonly amount: string; readonly count: number }[] | null;
  readonly openCount: number;
};

export type HomePage = {
  readonly kind: 'home';
  /** Where open invoices can be paid. */
  readonly pay: string | null;
  /** Of the oldest sync that was used; RFC 3339. */
  readonly asOf: string | null;
  readonly balances: readonly Balance[];
  readonly open: { readonly table: Table; readonly all: string; readonly total: number } | null;
  readonly payments: { readonly table: Table; readonly all: string } | null;
  /** Of each record type, how many records are new since the last visit. */
  readonly news: {
    readonly since: string;
    readonly counts: readonly { readonly label: Label; readonly count: number; readonly href: string }[];
  } | null;
};

export type ListFilters = {
  readonly q: string | null;
  /** Null where the record type has no such fields. */
  readonly state: {
    readonly now: 'all' | 'open' | 'overdue';
    readonly offered: readonly ('all' | 'open' | 'overdue')[];
  } | null;
  readonly period: { readonly from: string | null; readonly to: string | null } | null;
  readonly canSearch: boolean;
  /** Parameters that the form keeps. */
  readonly kept: Readonly<Record<string, string>>;
  /** Whether any of them narrows the list, and where none does. */
  readonly cleared: string | null;
};

export type Pages = {
  readonly page: number;
  readonly totalPages: number;
  readonly total: number;
  readonly previous: string | null;
  readonly next: string | null;
};

export type ListPage = {
  readonly kind: 'list';
  readonly title: Label;
  readonly asOf: string | null;
  readonly address: string;
  readonly filters: ListFilters;
  /** Sums of everything that the filters select, by currency. */
  readonly sums: readonly { readonly label: Label; readonly values: readonly Money[] }[];
  readonly table: Table;
  readonly pages: Pages;
  readonly downloads: { readonly csv: string; readonly xlsx: string };
};

/** `isAddress`: where letters to the customer go. */
type Shown = { readonly label: Label; readonly value: Value; readonly isAddress?: boolean };

export type RecordPage = {
  readonly kind: 'record';
  readonly type: Label;
  /** What one record of the type is called. */
  readonly document: Label;
  readonly title: string;
  readonly list: string;
  readonly asOf: string | null;
  readonly status: string | null;
  /** The largest thing on the page: amount, and what is open of it. */
  readonly amounts: readonly { readonly label: Label; readonly value: Value }[];
  readonly fields: readonly Shown[];
  readonly lines: Table | null;
  readonly related: readonly { readonly title: Label; readonly table: Table }[];
  /** Where it can be paid. */
  readonly pay: string | null;
  readonly pdf: string;
  /** It was asked for as PDF, whose fonts lack letters of its texts. */
  readonly hasNoPdf: boolean;
};

/** Days: `YYYY-MM-DD`, both included. */
export type StatementPeriod = { readonly from: string; readonly to: string };
export type StatementPage = {
  readonly kind: 'statement';
  readonly asOf: string | null;
  readonly address: string;
  readonly period: StatementPeriod;
  readonly offered: readonly {
    readonly period: 'thisMonth' | 'lastMonth' | 'thisYear' | 'lastYear';
    readonly href: string;
    readonly isCurrent: boolean;
  }[];
  /** By currency; null where the period has too many documents. */
  readonly accounts:
    | readonly {
        readonly currency: string | null;
        readonly opening: string;
        readonly charges: string;
        readonly payments: string;
        readonly closing: string;
        readonly table: Table;
        /** Of a statement that ends today or later: by age, as on the first page. */
        readonly aging: Balance['aging'];
      }[]
    | null;
  readonly downloads: { readonly csv: string; readonly pdf: string };
  readonly hasNoPdf: boolean;
};

/** Of the pay form; `says`: in the provider's words. */
export type PayProblem = {
  readonly code:
    | 'nothing_chosen'
    | 'several_customers'
    | 'changed'
    | 'amount'
    | 'more_than_due'
    | 'in_flight'
    | 'paid'
    | 'not_payable'
    | 'too_many'
    | 'rejected'
    | 'unavailable';
  readonly says?: string;
};

export type PayPage = {
  readonly kind: 'pay';
  readonly asOf: string | null;
  /** ISO 4217; of everything that can be paid. */
  readonly currency: string;
  readonly digits: number;
  readonly address: string;
  readonly rows: readonly {
    readonly id: string;
    readonly href: string;
    readonly number: string;
    readonly date: Value;
    readonly dueDate: Value;
    readonly due: Money;
    /** Decimal text: less than `due` while other payments are in progress. */
    readonly left: string;
    readonly isChosen: boolean;
    readonly typed: string | null;
    readonly problem: PayProblem | null;
  }[];
  readonly total: Money;
  /** Open invoices that can't be paid here, in other currencies; and those beyond the first. */
  readonly others: number;
  readonly notShown: number;
  readonly credits: readonly Money[];
  /** Payments that were started and not paid yet. */
  readonly pending: readonly { readonly href: string; readonly amount: Money; readonly createdAt: string }[];
  readonly payments: string;
  readonly problem: PayProblem | null;
  readonly canPay: boolean;
  /** No money moves. */
  readonly isTest: boolean;
};

export type ShownPayment = {
  readonly id: string;
  readonly href: string;
  readonly status:
    | 'PENDING'
    | 'PROCESSING'
    | 'FAILED'
    | 'CANCELED'
    | 'SUCCEEDED'
    | 'PARTIALLY_REFUNDED'
    | 'REFUNDED';
  readonly amount: Money;
  readonly refunded: Money | null;
  readonly invoices: readonly {
    readonly number: string;
    readonly href: string | null;
    readonly amount: Money;
  }[];
  readonly createdAt: string;
  readonly succeededAt: string | null;
  /** Whether the company's books have it; null where no one says so. */
  readonly books: 'waiting' | 'entered' | null;
};

export type PaymentPage = {
  readonly kind: 'payment';
  readonly payment: ShownPayment;
  readonly method: { readonly type: string; readonly last4: string | null } | null;
  readonly failure: string | null;
  /** The provider's page, while it can be paid. */
  readonly url: string | null;
  /** The browser goes to the provider's page at once. */
  readonly isBegun: boolean;
  /** The provider has sent the visitor back, and hasn't said yet that it was paid. */
  readonly isBack: boolean;
  /** Where a form ends it, while it can be paid. */
  readonly end: string | null;
  /** Server-sent events; null once nothing more is waited for. */
  readonly events: string | null;
  readonly list: string;
};

export type PaymentsPage = {
  readonly kind: 'payments';
  readonly payments: readonly ShownPayment[];
  readonly pay: string | null;
  readonly pages: Pages;
};

export type Block =
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  /** Made from Markdown, and safe. */
  | { readonly type: 'html'; readonly html: string }
  | { readonly type: 'link'; readonly label: string; readonly url: string }
  | { readonly type: 'image'; readonly url: string; readonly alt: string }
  | {
      readonly type: 'table';
      readonly title: Label | null;
      readonly table: Table;
      readonly total: number;
      readonly all: string | null;
    }
  /** The records can't be read at the moment. */
  | { readonly type: 'unavailable'; readonly title: Label | null };

export type ConfiguredPage = {
  readonly kind: 'page';
  readonly title: string;
  readonly blocks: readonly Block[];
};

export type ProfilePage = {
  readonly kind: 'profile';
  readonly asOf: string | null;
  readonly fields: readonly Shown[];
  /** Null for who can order none. */
  readonly mails: {
    readonly offered: readonly MailKind[];
    readonly kinds: readonly MailKind[];
    readonly dueDays: number;
    readonly withPdf: boolean;
  } | null;
  readonly isSaved: boolean;
  readonly sessions: readonly {
    readonly id: string;
    readonly isCurrent: boolean;
    /** Browser and system, such as Firefox on Linux; null where they are unknown. */
    readonly browser: string | null;
    readonly startedAt: string;
    readonly lastSeenAt: string;
  }[];
};

export type ProblemPage = {
  readonly kind: 'problem';
  readonly code:
    | 'not_found'
    | 'no_customer'
    | 'too_many_customers'
    | 'view_ended'
    | 'incomplete'
    | 'unavailable'
    | 'too_many_requests'
    | 'bad_request'
    | 'too_long'
    | 'failed';
  /** When the data were last complete. */
  readonly completeAt: string | null;
  readonly requestId: string;
};

export type SignInPage = {
  readonly kind: 'sign-in';
  readonly email: string;
  readonly returnTo: string;
  readonly problem: FormProblem | null;
  /** The demo signs in with one click. */
  readonly demo: { readonly email: string } | null;
  /** What the company calls the identity provider at which visitors may sign in; null without one. */
  readonly provider: string | null;
};
/** `email` is null when this browser has asked for no code. */
export type CodePage = {
  readonly kind: 'code';
  readonly email: string | null;
  readonly problem: FormProblem | null;
};
/** Of the link in a mail: whose mails it can end; null once they have ended. */
export type MailLinkPage = {
  readonly kind: 'mail-link';
  readonly mail: MailKind;
  readonly email: string | null;
  readonly action: string;
};
export type OtherBrowserPage = { readonly kind: 'other-browser' };
export type ChooseCustomerPage = {
  readonly kind: 'choose-customer';
  readonly customers: readonly Customer[];
  readonly returnTo: string;
};

export type Page =
  | HomePage
  | ListPage
  | RecordPage
  | ConfiguredPage
  | PayPage
  | PaymentPage
  | PaymentsPage
  | StatementPage
  | AskPage
  | ProfilePage
  | ProblemPage
  | SignInPage
  | CodePage
  | MailLinkPage
  | OtherBrowserPage
  | ChooseCustomerPage;
