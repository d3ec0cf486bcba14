// The words that describe a portal: records of a customer's account, what fields mean, languages of pages.
/** Roles of the records that make up what a customer owes. */
export const receivableRoles = ['invoice', 'credit', 'payment', 'refund', 'journal'] as const;
export type ReceivableRole = (typeof receivableRoles)[number];
export const recordRoles = [...receivableRoles, 'other'] as const;
export const meanings = ['number', 'date', 'dueDate', 'amount', 'amountDue', 'currency', 'status'] as const;
export type Meaning = (typeof meanings)[number];
/** Of mails that visitors order. */
export const mailKinds = ['invoice', 'due', 'overdue', 'payment', 'statement'] as const;
export type MailKind = (typeof mailKinds)[number];
export const languages = ['en', 'de', 'fr', 'es', 'nl'] as const;
