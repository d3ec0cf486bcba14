// One sentence for each table, stored with it: readers find them in db/schema.sql and in psql's \d+.
import type { Knex } from 'knex';

const comments: Readonly<Record<string, string>> = {
  agent_credit_entries:
    'Credits granted to and spent by agents, by month (UTC). Append-only; the balance is the sum.',
  agents:
    'AI agents. epoch rises with every state change: a check records its result only for the epoch that it started with.',
  api_key_usage:
    'Requests per API key, day, version and resource. An empty version or resource: the request named none that exists.',
  api_keys:
    'API keys. Secrets are stored as SHA-256. previous_*: the secret before the last rotation, valid during its grace period.',
  api_schemas: 'Versions of the public interface. A trigger makes published ones immutable.',
  audit_log: 'Who changed what. Append-only.',
  certificate_alerts: 'Thresholds (days before expiry) already reported for each certificate.',
  conversation_messages: 'Messages of conversations with agents.',
  conversations:
    'Conversations with agents. Each belongs to the member who started it and is deleted with the membership.',
  domains: 'Hostnames of organizations, with the state of their DNS verification.',
  drift_events: 'Fields that were added, removed or changed type in the ERP.',
  erp_certificates:
    'Certificates that sign requests to the ERP; two slots, for rotation. Private keys are encrypted.',
  erp_connections: "Each organization's connection to its ERP. Secrets are encrypted.",
  erp_metadata: 'Read and written by the version before several connections only.',
  function_release: 'The highest release of db/functions that was ever applied. One row.',
  idempotency_keys:
    'Idempotency-Key claims and stored responses. done: the committed outcome; status is null while the request runs.',
  invitations: 'Invitations to join an organization. Tokens are stored as hashes.',
  mail_attachments: 'Files attached to outgoing mails, stored once for all recipients.',
  memberships: 'Which users belong to which organization, and their role.',
  organizations: 'Customers of the service. deleting_since marks one whose deletion has started.',
  outgoing_mails:
    'The mail queue. data_begun_at: when the message text started to be sent; after it a lost outcome is unknown.',
  pay_accounts:
    'Accounts at payment providers. The id is the end of the webhook address. Kept when the configuration moves to another provider.',
  pay_checkouts: 'The input of each checkout, so that its session can be requested again unchanged.',
  pay_configs:
    'How an organization takes payments. Locking its row serializes the checkouts of the organization.',
  pay_erp_documents:
    "Documents to write to the ERP for payments and refunds. Amounts and the lease are on the payment's own document and count for all of its documents. attempts rises before anything is sent; failures counts consecutive ones and sets the wait.",
  pay_events:
    "A provider's events, each stored once. outcome is null until the object it names has been fetched.",
  pay_payment_invoices:
    "A payment's share for each invoice. due_minor: the amount open in the ERP, read at read_at or later.",
  pay_payments: 'Payments. A decision about the money of a payment requires a lock on its row.',
  pay_payout_entries: 'The payments and refunds that a payout contains.',
  pay_payouts: 'Transfers from the provider to the bank.',
  pay_refunds:
    "Refunds, including those made at the provider's dashboard. provider_refund_id is null until the provider has answered.",
  pay_tasks:
    'Requests to make to a provider, one row per subject. payment: one of our payments by id. object: one of the provider, as <kind>:<id>. account: all changes since the last request. wakes counts triggers, so that one that arrives meanwhile is not lost.',
  portal_field_mappings: 'How the fields of a record type are labelled and shown.',
  portal_pages: 'Portal pages: a draft, and the published copy that visitors see.',
  portal_sidebars: "Each organization's sidebar, as one tree.",
  portal_templates: 'Liquid templates for mails and documents.',
  publication_reports:
    'The last proof of each version: every read that was tried, and the differences from the version before.',
  rate_limits: 'Fixed windows of the rate limits, shared by all processes.',
  roles: 'Built-in and custom roles with their permissions.',
  running_answers:
    'Messages that an agent is answering now: the lease of the process and the credits held. Refers to no conversation, so that deleting one releases no credits that are still being spent.',
  sandbox_events:
    'Webhook events of the sandbox provider, with their delivery attempts. body is sent byte for byte.',
  sandbox_payments:
    'Checkout sessions of the sandbox provider with their payment. received: the amount once it SUCCEEDED. due_at: when time alone changes the row next. token is encrypted; lookups use its hash.',
  sandbox_payouts: 'Payouts of the sandbox provider.',
  sandbox_refunds:
    "Refunds of the sandbox provider. refund_id is the caller's; null for those that the provider made itself.",
  sessions: 'Browser sessions. Tokens are stored as hashes.',
  subscription_deliveries: 'One row per subscription, slot and recipient, with its fixed Message-ID.',
  subscription_links: 'Unsubscribe links: the hash of the token, and the title that the mail had.',
  subscription_recipients:
    'Recipients of subscriptions. Removed addresses stay, so that adding one again does not undo its unsubscription.',
  subscription_slots:
    'Due times of subscriptions, processed under a lease and completed in one transaction with their mails.',
  subscriptions: 'Views sent by mail on a schedule.',
  sync_alerts:
    'The state of each sync that its recipients were last notified of. The change and the mail are one transaction.',
  sync_configs: 'Which record types are synced, how, and when.',
  sync_run_events: 'The log of each run.',
  sync_runs: 'Runs of syncs: the queue, the lease and the outcome.',
  team_members: 'Which members belong to which team.',
  teams: 'Teams of an organization.',
  used_sign_ins: 'Hashes of finished sign-in attempts, so that each is used once.',
  user_activity: 'Users who were active in an organization, by month (UTC).',
  user_identities: "Users' identities at identity providers, by issuer and subject.",
  users: 'People. They may belong to several organizations.',
  views: 'Saved views. One whose owner left has no owner; one whose team was deleted becomes private.',
  warehouse_sizes: 'Size and record count of each organization, measured in the background.',
};

export async function up(knex: Knex): Promise<void> {
  await knex.raw('set local role portal_owner');
  for (const [table, comment] of Object.entries(comments)) {
    // COMMENT takes no parameters.
    await knex.raw(`comment on table ${table} is '${comment.replaceAll("'", "''").replaceAll('?', '\\?')}'`);
  }
  await knex.raw('reset role');
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
