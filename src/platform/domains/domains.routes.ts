import { z } from 'zod';
import { IdParams, shortText } from '../../http/fields.ts';
import { pageFields, pageOf } from '../../http/page.ts';
import { defineRoute } from '../../http/route.ts';
import { Domain, DomainChange, DomainParams, DomainStatus, NewDomain } from './domains.schemas.ts';
import { changeDomain, createDomain, getDomain, listOwnDomains, removeDomain, verifyDomain } from './domains.service.ts';

const group = 'Domains';

export const domainRoutes = [
  defineRoute({
    id: 'listDomains',
    group,
    method: 'GET',
    path: '/organizations/{id}/domains',
    permission: 'domain:read',
    summary: 'Domains of the organization, newest first',
    description: '`status` narrows to pending, verified or failed ones, `q` to hostnames that contain a text.',
    params: IdParams,
    query: z.strictObject({
      ...pageFields,
      q: shortText(253).optional().describe('Part of the hostname'),
      status: DomainStatus.optional(),
    }),
    response: pageOf(Domain),
    handler: (ctx, { query: { q, status, ...page } }) => listOwnDomains(ctx, page, { q, status }),
  }),
  defineRoute({
    id: 'createDomain',
    group,
    method: 'POST',
    path: '/organizations/{id}/domains',
    permission: 'domain:create',
    summary: 'Add a domain',
    description:
      'Set the TXT record that `verification` names. The DNS is asked for it every minute in the first hour, then every 15 minutes for a week, and whenever verification is asked for.',
    params: IdParams,
    body: NewDomain,
    example: { hostname: 'portal.acme.example' },
    response: Domain,
    status: 201,
    handler: (ctx, { body }) => createDomain(ctx, body.hostname),
  }),
  defineRoute({
    id: 'getDomain',
    group,
    method: 'GET',
    path: '/organizations/{id}/domains/{domainId}',
    permission: 'domain:read',
    summary: 'One domain',
    description: '`verification` names the TXT record that proves control, `lastError` what was found instead of it.',
    params: DomainParams,
    response: Domain,
    handler: (ctx, { params }) => getDomain(ctx, params.domainId),
  }),
  defineRoute({
    id: 'updateDomain',
    group,
    method: 'PATCH',
    path: '/organizations/{id}/domains/{domainId}',
    permission: 'domain:update',
    summary: 'Make a domain the primary one, or no longer',
    description: 'Only a verified domain can be primary. The hostname never changes: add another domain instead.',
    params: DomainParams,
    body: DomainChange,
    example: { isPrimary: false },
    response: Domain,
    handler: (ctx, { params, body }) => changeDomain(ctx, params.domainId, body),
  }),
  defineRoute({
    id: 'deleteDomain',
    group,
    method: 'DELETE',
    path: '/organizations/{id}/domains/{domainId}',
    permission: 'domain:delete',
    summary: 'Remove a domain',
    description: 'Also a verified or primary one. Another organization may verify the hostname from then on.',
    params: DomainParams,
    handler: (ctx, { params }) => removeDomain(ctx, params.domainId),
  }),
  defineRoute({
    id: 'verifyDomain',
    group,
    method: 'POST',
    path: '/organizations/{id}/domains/{domainId}/verify',
    permission: 'domain:update',
    summary: 'Look for the TXT record now',
    description:
      'Takes up to five seconds. The answer is the domain: `lastError` says what was found instead of the record. A domain stays verified once it was, and a failed one may be tried again.',
    params: DomainParams,
    response: Domain,
    handler: (ctx, { params }) => verifyDomain(ctx, params.domainId),
  }),
];
