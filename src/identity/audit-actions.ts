// Every audited action: what it is called in a sentence that its author begins, and the area that it belongs
// to. The braces hold the name of the target with the words before it; without a name they are left out.

const sentences = {
  people: {
    'organization.create': 'created the organization{ }',
    'organization.update': 'changed the organization{ }',
    'organization.delete': 'deleted the organization{ }',
    'member.update': 'changed the role of{ }',
    'member.remove': 'removed{ } from the organization',
    'member.leave': 'left the organization',
    'invitation.create': 'invited{ }',
    'invitation.resend': 'sent the invitation{ of } again',
    'invitation.revoke': 'withdrew the invitation{ of }',
    'invitation.accept': 'accepted the invitation{ of }',
    'role.create': 'created the role{ }',
    'role.update': 'changed the role{ }',
    'role.delete': 'deleted the role{ }',
    'team.create': 'created the team{ }',
    'team.update': 'changed the team{ }',
    'team.delete': 'deleted the team{ }',
    'team.add-member': 'added a member to the team{ }',
    'team.remove-member': 'removed a member from the team{ }',
    'domain.create': 'added the domain{ }',
    'domain.update': 'changed the domain{ }',
    'domain.delete': 'deleted the domain{ }',
    'domain.verify': 'checked the domain{ }',
  },
  'sign-in': {
    'session.start': 'signed in',
    'session.end': 'signed out',
    'session.choose-organization': 'switched the organization',
    'visitor.sign-in': 'signed in to the portal',
    'sign-in-link.create': 'created a sign-in link{ for }',
  },
  connection: {
    'erp-connection.put': 'saved the ERP connection',
    'erp-connection.delete': 'deleted the ERP connection',
    'erp-connection.certificate': 'created a certificate for the ERP connection',
    'erp-connection.test': 'tested the ERP connection',
    'erp-metadata.refresh': 'read the record types of the ERP again',
    'erp-query.create': 'created the ERP query{ }',
    'erp-query.put': 'saved the ERP query{ }',
    'erp-query.delete': 'deleted the ERP query{ }',
  },
  syncs: {
    'sync-config.create': 'created the sync{ }',
    'sync-config.update': 'changed the sync{ }',
    'sync-config.delete': 'deleted the sync{ }',
    'sync-config.approve-deletions': 'approved held deletions{ of }',
    'sync-config.reject-deletions': 'rejected held deletions{ of }',
    'sync-config.accept-missing-fields': 'accepted that fields are missing{ in }',
    'sync-config.reread': 'requested that records are read again{ in }',
    'sync-config.retry-rejections': 'retried rejected records{ of }',
    'sync-run.trigger': 'started a run{ of }',
    'sync-run.trigger-all': 'started a run of every sync',
    'sync-run.cancel': 'cancelled a run{ of }',
    'sync-run.retry': 'retried a run{ of }',
    'sync-run.fail': 'ended a run{ of } as failed',
    'sync-run.release': 'released a run{ of }',
  },
  'api-versions': {
    'api-schema.create': 'created the draft{ }',
    'api-schema.update': 'edited{ }',
    'api-schema.delete': 'deleted the draft{ }',
    'api-schema.publish': 'published{ }',
    'api-schema.cancel-publication': 'cancelled the publication{ of }',
    'api-schema.prove': 'measured the reads{ of } again',
    'api-schema.deprecate': 'deprecated{ }',
    'api-schema.retire': 'retired{ }',
    'api-schema.unretire': 'restored{ }',
  },
  'api-keys': {
    'api-key.create': 'created the API key{ }',
    'api-key.update': 'changed the API key{ }',
    'api-key.revoke': 'revoked the API key{ }',
    'api-key.rotate': 'rotated the API key{ }',
    'api-key.keep-secret': 'kept the secret of the API key{ }',
    'api-key.secret-end': 'ended the secret of the API key{ }',
    'api-key.mint-tokens': 'issued tokens{ of the API key }',
    'api-key.revoke-tokens': 'revoked tokens{ of the API key }',
  },
  webhooks: {
    'webhook.create': 'created the webhook{ }',
    'webhook.update': 'changed the webhook{ }',
    'webhook.delete': 'deleted the webhook{ }',
    'webhook.rotate': 'rotated the secret of the webhook{ }',
    'webhook.test': 'sent a test to the webhook{ }',
    'webhook.replay': 'sent deliveries of the webhook{ } again',
    'webhook.disable': 'switched off the webhook{ }',
  },
  views: {
    'view.create': 'created the view{ }',
    'view.update': 'changed the view{ }',
    'view.delete': 'deleted the view{ }',
    'view-link.create': 'created a link to a view',
    'view-link.revoke': 'revoked a link to a view',
    'subscription.create': 'created a subscription',
    'subscription.update': 'changed a subscription',
    'subscription.delete': 'deleted a subscription',
    'subscription.send': 'sent a subscription now',
    'subscription.disable': 'switched off a subscription',
    'subscription.unsubscribe': 'unsubscribed{ } from a subscription',
    'subscription.resubscribe': 'subscribed{ } again',
  },
  agents: {
    'agent.create': 'created the agent{ }',
    'agent.update': 'changed the agent{ }',
    'agent.delete': 'deleted the agent{ }',
    'agent.start': 'started the agent{ }',
    'agent.stop': 'stopped the agent{ }',
    'agent.restart': 'restarted the agent{ }',
    'conversation.create': 'started a conversation',
    'conversation.update': 'renamed a conversation',
    'conversation.delete': 'deleted a conversation',
    'conversation.ask': 'asked an agent',
  },
  payments: {
    'pay-config.put': 'saved the payment settings',
    'checkout.create': 'started a checkout',
    'checkout.end': 'ended a checkout',
    'payment.refund': 'refunded a payment',
    'payment.restore': 'restored a payment',
    'payment.retry-write-back': 'retried entering a payment in the ERP',
    'payment.end-write-back': 'ended entering a payment in the ERP',
  },
  portal: {
    'portal.update-access': 'changed whom the portal knows and what it shows',
    'portal.cancel-preparation': 'cancelled the preparation of the portal',
    'portal.update-branding': 'changed how the portal looks',
    'portal.update-sign-in': 'changed how visitors sign in to the portal',
    'portal.view-as': 'saw the portal as a visitor',
    'portal.invite-visitors': 'invited visitors to the portal',
    'portal.create-visitor': 'made an entry of a visitor of the portal{ of }',
    'portal.update-visitor': 'changed the entry of a visitor of the portal{ of }',
    'portal.delete-visitor': 'deleted the entry of a visitor of the portal{ of }',
    'portal.create-mapping': 'created the field mapping{ of }',
    'portal.update-mapping': 'changed the field mapping{ of }',
    'portal.delete-mapping': 'deleted the field mapping{ of }',
    'portal.create-page': 'created the page{ }',
    'portal.update-page': 'changed the page{ }',
    'portal.publish-page': 'published the page{ }',
    'portal.delete-page': 'deleted the page{ }',
    'portal.update-sidebar': 'changed the navigation of the portal',
    'portal.create-template': 'created the template{ }',
    'portal.update-template': 'changed the template{ }',
    'portal.delete-template': 'deleted the template{ }',
  },
  operation: {
    'warehouse.move': 'moved the warehouse',
    'restore.finish': 'finished the restore of a backup',
    'encryption-key.rotate': 'rotated the encryption key',
    'mail.send': 'sent an undecided mail',
    'mail.discard': 'discarded an undecided mail',
  },
} as const satisfies Record<string, Record<`${string}.${string}`, string>>;

export type AuditArea = keyof typeof sentences;
export type AuditAction = { [A in AuditArea]: keyof (typeof sentences)[A] }[AuditArea];

const entries: readonly (readonly [AuditArea, Readonly<Record<string, string>>])[] = Object.entries(
  sentences,
) as [AuditArea, Record<string, string>][];
const known = new Map(
  entries.flatMap(([area, actions]) =>
    Object.entries(actions).map(([action, sentence]) => [action, { area, sentence }] as const),
  ),
);

export const auditAreas = entries.map(([area]) => area);
export const listActionsOf = (area: AuditArea): readonly string[] => Object.keys(sentences[area]);

/** Null for an action that is not written any more. */
export const findAreaOf = (action: string): AuditArea | null => known.get(action)?.area ?? null;

/** What was done, such as "published v1"; the words of the action when it is not written any more. */
export const describeDone = (action: string, targetName: string | undefined): string =>
  known
    .get(action)
    ?.sentence.replace(/\{([^}]*)\}/, (_braces, before: string) =>
      targetName === undefined ? '' : before + targetName,
    ) ?? action.replaceAll(/[.-]/g, ' ');
