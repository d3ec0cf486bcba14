import { z } from 'zod';
import { IdParams, shortText } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { Domain, DomainParams, DomainPatch, DomainStatus, NewDomain } from './domains.schemas.ts';
import {
  createDomain,
  deleteDomain,
  getDomain,
  listDomains,
  updateDomain,
  verifyDomain,
} from './domains.service.ts';

export const domainRoutes = inGroup('Domains', [
  defineRoute('listDomains', 'GET /organizations/{id}/domains', {
    permission: 'domain:read',
    summary: 'List domains',
    description: 'Newest first. `status` filters by status, `q` by part of the hostname.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: shortText(253).optional().describe('Part of the hostname'),
      status: DomainStatus.optional(),
    }),
    response: createPageSchema(Domain),
    handler: (ctx, { query: { q, status, ...page } }) => listDomains(ctx, page, { q, status }),
  }),
  defineRoute('createDomain', 'POST /organizations/{id}/domains', {
    permission: 'domain:create',
    summary: 'Add a domain',
    description:
      'Then set the TXT record that `verification` names. The service looks it up every minute during the first hour, every 15 minutes ' +
      'for a week, on each verification request, and once a day after the domain was verified: the record must stay in the DNS.',
    params: IdParams,
    body: NewDomain,
    example: { hostname: 'portal.acme.example' },
    response: Domain,
    status: 201,
    handler: (ctx, { body }) => createDomain(ctx, body.hostname),
  }),
  defineRoute('getDomain', 'GET /organizations/{id}/domains/{domainId}', {
    permission: 'domain:read',
    summary: 'Retrieve a domain',
    description:
      '`verification` is the TXT record that proves control of the hostname, `lastError` what was found instead.',
    params: DomainParams,
    response: Domain,
    handler: (ctx, { params }) => getDomain(ctx, params.domainId),
  }),
  defineRoute('updateDomain', 'PATCH /organizations/{id}/domains/{domainId}', {
    permission: 'domain:update',
    summary: 'Update a domain',
    description:
      'Makes it the primary domain, or no longer so. Only a verified domain can be primary. The hostname cannot change; add another domain instead.',
    params: DomainParams,
    body: DomainPatch,
    example: { isPrimary: false },
    response: Domain,
    handler: (ctx, { params, body }) => updateDomain(ctx, params.domainId, body),
  }),
  defineRoute('deleteDomain', 'DELETE /organizations/{id}/domains/{domainId}', {
    permission: 'domain:delete',
    summary: 'Delete a domain',
    description:
      'Also works for a verified or primary domain. Other organizations can then verify the hostname.',
    params: DomainParams,
    handler: (ctx, { params }) => deleteDomain(ctx, params.domainId),
  }),
  defineRoute('verifyDomain', 'POST /organizations/{id}/domains/{domainId}/verify', {
    permission: 'domain:update',
    summary: 'Verify a domain now',
    description:
      'Looks up the TXT record, which takes up to five seconds, and returns the domain; `lastError` names what was found instead of the ' +
      'record. A verified domain stays verified while its record is missing (`missingSince`), and fails after seven days; a failed one can be verified again.',
    params: DomainParams,
    response: Domain,
    handler: (ctx, { params }) => verifyDomain(ctx, params.domainId),
  }),
]);
