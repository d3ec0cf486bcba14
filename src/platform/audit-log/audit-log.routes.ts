import { z } from 'zod';
import { inTransaction } from '../../db/transaction.ts';
import { Id, IdParams, Instant, instant, isSpan, noSpan, spanFields } from '../../http/fields.ts';
import { pageFields, pageOf, toPage } from '../../http/page.ts';
import { defineRoute } from '../../http/route/define.ts';
import { type AuditRow, listAuditRows } from './audit-log.store.ts';

const AuditEntry = z
  .object({
    id: Id,
    at: Instant,
    actor: z
      .object({ id: Id.nullable(), email: z.string().nullable() })
      .describe('Who did it, with the e-mail address at that time; null for the operator of the service'),
    credential: z.object({ kind: z.string().describe('api-key, oauth, session, operator or system'), id: z.string().nullable() }),
    action: z.string().describe('What was done, as <resource>.<verb>'),
    target: z.object({ type: z.string(), id: z.string().nullable() }),
    changes: z.record(z.string(), z.unknown()).describe('What changed; never a secret'),
    ip: z.string().nullable(),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

const view = (row: AuditRow): z.input<typeof AuditEntry> => ({
  id: row.id,
  at: instant(row.at),
  actor: { id: row.actor_id, email: row.actor_email },
  credential: { kind: row.credential_kind, id: row.credential_id },
  action: row.action,
  target: { type: row.target_type, id: row.target_id },
  changes: row.changes,
  ip: row.ip,
  requestId: row.request_id,
});

export const auditLogRoutes = [
  defineRoute({
    id: 'listAuditLog',
    group: 'Organizations',
    method: 'GET',
    path: '/organizations/{id}/audit-log',
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
        actorId: Id.optional(),
        targetId: z.string().min(1).max(255).optional(),
        ...spanFields,
      })
      .refine(isSpan, noSpan),
    response: pageOf(AuditEntry),
    handler: (ctx, { query: { page, pageSize, ...filter } }) =>
      inTransaction(ctx, async (tx) => {
        const query = { page, pageSize };
        const { rows, total } = await listAuditRows(tx, ctx.organizationId, query, filter);
        return toPage(rows.map(view), total, query);
      }),
  }),
];
