import { defineRoute, inGroup } from '../../http/route/define.ts';
import { InvitationCounts, InvitationInput } from './invitations.schemas.ts';
import { inviteVisitors } from './invitations.service.ts';

export const portalInvitationRoutes = inGroup('Portal Config', [
  defineRoute('invitePortalVisitors', 'POST /portal/invitations', {
    permission: 'portal:create',
    readsRecords: true,
    summary: 'Invite visitors',
    description:
      'Sends a mail with the address of the portal to one address, or to those of all customers of a view; anyone whose address the ERP ' +
      'has signs in without an invitation too. By default it only counts: `dryRun: false` sends. A call invites at most 5,000 addresses, ' +
      'and together with subscription mails an organization sends no more than an operator allows in 24 hours (SUBSCRIPTION_MAILS_PER_DAY). ' +
      'The mail is in the default language of the portal, and carries no code. Returns 422 while the portal is off.',
    body: InvitationInput,
    example: { viewId: '01a22565-fd4e-767e-996b-a0154d903461', dryRun: false },
    response: InvitationCounts,
    handler: (ctx, { body }) => inviteVisitors(ctx, body),
  }),
]);
