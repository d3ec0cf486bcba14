// The public interface of outgoing mail. A feature lays out a mail, queues it in its own transaction, and
// keeps the mail's id, by which it reads the delivery status from `outgoing_mails`.
export type { Attachment } from '../gateways/compose-mail.ts';
export {
  attachmentBinding,
  cancelQueuedMail,
  countMailsInLastDay,
  enqueueMail,
  mailBinding,
  messageIdFor,
  type NewMail,
  storeAttachment,
} from './enqueue.ts';
export { layoutMail, type MailContent, withSmallPrint } from './layout.ts';
export { discardUnknownMail, markUnsentUnknown, sendUnknownMail } from './outgoing-mails.store.ts';
export { countRowsThatFit, type RecordTable } from './record-table.ts';
export { startMailSender } from './sender.ts';
export {
  createCodeMailSender,
  describeBrowser,
  type SendCodeMail,
  sendToMembers,
  shownCode,
} from './sign-in-code.ts';
