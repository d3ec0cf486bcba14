import { z } from 'zod';
import { inTransaction } from '../../db/transaction.ts';
import { Id, IdParams, Instant, instant, isSpan, noSpan, spanFields } from '../../http/fields.ts';
import { createPageSchema, pageFields, toPage } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { auditAreas, findAreaOf } from '../../identity/audit-actions.ts';
import { openAuditCsv } from './audit-csv.ts';
import { type AuditFilter, type AuditRow, listAuditRows, readNames } from './audit-log.store.ts';
import { summarize } from './summarize.ts';

const AuditEntry = z
  .object({
    id: Id,
    at: Instant,
    actor: z
      .object({ id: Id.nullable(), email: z.string().nullable(), name: z.string().nullable() })
      .describe(
        'Who did it, with the e-mail address at that time and the present name; null for the service and its operator',
      ),
    credential: z.object({
      kind: z.string().describe('api-key, oauth, session, operator or system'),
      id: z.string().nullable(),
    }),
    summary: z.string().describe('The entry as a sentence, for example: Ada Lovelace published v1'),
    area: z
      .enum(auditAreas)
      .nullable()
      .describe('What the action belongs to; null for one that is not written any more'),
    action: z.string().describe('What was done, as <resource>.<verb>'),
    target: z.object({ type: z.string(), id: z.string().nullable() }),
    changes: z.record(z.string(), z.unknown()).describe('What changed; never a secret'),
    ip: z.string().nullable(),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

const view = (row: AuditRow, names: ReadonlyMap<string, string>): z.input<typeof AuditEntry> => {
  const name = names.get(row.actor_id ?? '') ?? null;
  return {
    id: row.id,
    at: instant(row.at),
    actor: { id: row.actor_id, email: row.actor_email, name },
    summary: summarize(row, names),
    area: findAreaOf(row.action),
    credential: { kind: row.credential_kind, id: row.credential_id },
    action: row.action,
    target: { type: row.target_type, id: row.target_id },
    changes: row.changes,
    ip: row.ip,
    requestId: row.request_id,
  };
};

const searchedMs = 90 * 86_400_000;

/** A search for text reads each entry, so it begins 90 days before its end unless a beginning is given. */
const withPeriod = (filter: AuditFilter, now: Date): AuditFilter =>
  filter.q === undefined || filter.after !== undefined
    ? filter
    : { ...filter, after: new Date((filter.before ?? now).getTime() - searchedMs) };

export const auditLogRoutes = inGroup('Organizations', [
  defineRoute('listAuditLog', 'GET /organizations/{id}/audit-log', {
    permission: 'audit:read',
    summary: 'List audit log entries',
    description: 'Newest first. Every change is recorded. Entries are never changed or deleted.',
    params: IdParams,
    query: z
      .strictObject({
        ...pageFields,
        action: z
          .string()
          .regex(/^[a-z-]{1,60}\.[a-z-]{1,60}$/, 'must be <resource>.<verb>')
          .optional()
          .describe('For example api-key.create'),
        area: z.enum(auditAreas).optional().describe('Only actions of this area'),
        actorId: Id.optional(),
        targetType: z
          .string()
          .regex(/^[a-z-]{1,60}$/, 'must be a resource such as api-key')
          .optional()
          .describe('For example api-key'),
        targetId: z.string().min(1).max(255).optional(),
        q: z
          .string()
          .min(1)
          .max(120)
          .optional()
          .describe(
            "Only entries whose action, actor's address, target or changes contain this text, ignoring case; of the last 90 days, or of the " +
              '90 days until `before`, unless `after` is given',
          ),
        ...spanFields,
      })
      .refine(isSpan, noSpan),
    response: createPageSchema(AuditEntry),
    download: {
      forms: ['csv'],
      description:
        'All matching entries as a CSV file (RFC 4180), newest first, with the limits of exports; `page` and `pageSize` do not apply. ' +
        '`changes` is JSON. Texts that a spreadsheet would read as a formula get a leading apostrophe. `X-Total-Count` is the number of entries.',
      example:
        'at,actorEmail,actorId,credentialKind,credentialId,action,targetType,targetId,changes,ip,requestId,id,summary,area\r\n' +
        '2026-03-02T10:15:00Z,ada@company.example,,session,,team.create,team,,"{""name"":""Sales""}",203.0.113.7,,,Ada Lovelace created the team Sales,people\r\n',
      open: (ctx, { query: { page: _page, pageSize: _pageSize, ...filter } }, _form, signal) =>
        openAuditCsv(ctx, withPeriod(filter, ctx.clock.now()), signal),
    },
    handler: (ctx, { query: { page, pageSize, ...filter } }) =>
      inTransaction(ctx, async (tx) => {
        const query = { page, pageSize };
        const { rows, total } = await listAuditRows(
          tx,
          ctx.organizationId,
          query,
          withPeriod(filter, ctx.clock.now()),
        );
        const names = await readNames(tx, ctx.organizationId, rows);
        return toPage(
          rows.map((row) => view(row, names)),
          total,
          query,
        );
      }),
  }),
]);
