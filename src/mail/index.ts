// The door of outgoing mail: what other parts may use of it. A feature lays a mail out, queues it in its own transaction, and
// reads what became of it in the row of `outgoing_mails` that it remembers by id.
export type { Attachment } from '../gateways/compose-mail.ts';
export {
  attachmentBinding,
  countMailsOfDay,
  enqueueMail,
  mailBinding,
  messageIdFor,
  type NewMail,
  recallMail,
  storeAttachment,
} from './enqueue.ts';
export { layoutMail, type MailContent, withSmallPrint } from './layout.ts';
export { giveUpUnsent } from './outgoing-mails.store.ts';
export { type RecordTable, rowsThatFit } from './record-table.ts';
export { startMailSender } from './sender.ts';
