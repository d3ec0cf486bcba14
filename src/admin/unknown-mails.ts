// Lists mails that may or may not have been sent, and sends them again, as the service never does itself.
import type { Knex } from 'knex';
import { z } from 'zod';
import { isId } from '../core/id.ts';
import { inTransaction } from '../db/transaction.ts';
import { discardUnknownMail, sendUnknownMail } from '../mail/index.ts';
import { argument, commaList, defineCommand, flag, RefusedCommand } from './command.ts';
import { auditOperator } from './operator.ts';
import { textTable } from './text-table.ts';

type Row = {
  id: string;
  organization_id: string;
  slug: string;
  kind: string;
  recipient: string;
  message_id: string;
  created_at: Date;
  kept: boolean;
  last_error: string | null;
};

const readUnknownMails = (owner: Knex): Promise<Row[]> =>
  owner('outgoing_mails as m')
    .join('organizations as o', 'o.id', 'm.organization_id')
    .where('m.status', 'unknown')
    .orderBy(['m.created_at', 'm.id'])
    .select<Row[]>(
      'm.id',
      'm.organization_id',
      'o.slug',
      'm.kind',
      'm.recipient',
      'm.message_id',
      'm.created_at',
      'm.last_error',
    )
    .select(owner.raw('m.body is not null as kept'));

export const listUnknownMailsCommand = defineCommand({
  name: 'list-unknown-mails',
  summary: 'Lists the mails of which no one knows whether they were sent, and why.',
  about: `After a failover of the database server, or a restore, mails that were due may have been sent before. \`send-unknown-mails\` sends those
whose content is kept. A mail whose sender died while the mail server was receiving it has no content any more.`,
  input: z.strictObject({}),
  async run({ owner }) {
    const rows = await readUnknownMails(owner);
    const listed = rows.map((row) => ({
      id: row.id,
      organizationId: row.organization_id,
      kind: row.kind,
      recipient: row.recipient,
      messageId: row.message_id,
      queuedAt: row.created_at,
      canBeSent: row.kept,
      reason: row.last_error,
    }));
    const lines = rows.map(({ id, slug, kind, recipient, created_at: queued, kept, last_error: reason }) => ({
      mail: id,
      organization: slug,
      kind,
      recipient,
      queued: queued.toISOString(),
      'can be sent': kept ? 'yes' : 'no',
      reason,
    }));
    return {
      json: listed,
      text: lines.length === 0 ? 'The delivery of no mail is unknown.' : textTable(lines),
    };
  },
});

export const sendUnknownMailsCommand = defineCommand({
  name: 'send-unknown-mails',
  summary: 'Sends mails of which no one knows whether they were sent before.',
  about: `Each is sent under the Message-ID that it had, by the next free sender. A recipient who has it already gets it twice. Ask them first, or
look for the Message-ID in the log of your mail server. With --discard they are not sent: their content is deleted, and they stay unknown.`,
  input: z.strictObject({
    mails: argument(
      commaList.refine((ids) => ids.length > 0 && ids.every(isId), 'must be mail ids, separated by commas'),
      'mail ids',
      'as `list-unknown-mails` shows them, separated by commas',
    ),
    discard: flag('do not send them, and delete their content'),
  }),
  async run({ owner, ctx }, { mails, discard }) {
    const rows = new Map((await readUnknownMails(owner)).map((row) => [row.id, row]));
    const wanted = mails.map((id) => {
      const row = rows.get(id);
      if (row === undefined)
        throw new RefusedCommand(
          `There is no unknown mail ${id}. The command \`list-unknown-mails\` lists them.`,
        );
      if (!row.kept)
        throw new RefusedCommand(`The content of the mail ${id} is not kept. Repeat what it was sent for.`);
      return row;
    });
    const [decide, action, done] = discard
      ? ([discardUnknownMail, 'mail.discard', 'discarded'] as const)
      : ([sendUnknownMail, 'mail.send', 'queued'] as const);
    const decided: string[] = [];
    for (const { id, organization_id: organizationId, kind, message_id: messageId } of wanted)
      await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
        if (!(await decide(tx, organizationId, id))) return;
        await auditOperator(tx, organizationId, action, ['mail', id], { kind, messageId });
        decided.push(id);
      });
    return {
      json: { [done]: decided },
      text: `${decided.length} ${decided.length === 1 ? 'mail is' : 'mails are'} ${done}.`,
    };
  },
});
