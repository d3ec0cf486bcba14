// The words that describe a portal: records of a customer's account, what fields mean, languages of pages.
export const recordRoles = ['invoice', 'credit', 'payment', 'refund', 'journal', 'other'] as const;
export const meanings = ['number', 'date', 'dueDate', 'amount', 'amountDue', 'currency', 'status'] as const;
export type Meaning = (typeof meanings)[number];
export const languages = ['en', 'de', 'fr', 'es', 'nl'] as const;
