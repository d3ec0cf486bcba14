// The words in which a portal is described: what records are in a customer's account, what their fields mean, and the
// languages of its pages.
export const recordRoles = ['invoice', 'credit', 'payment', 'refund', 'journal', 'other'] as const;
export const meanings = ['number', 'date', 'dueDate', 'amount', 'amountDue', 'currency', 'status'] as const;
export type Meaning = (typeof meanings)[number];
export const languages = ['en', 'de', 'fr', 'es', 'nl'] as const;
