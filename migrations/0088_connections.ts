// Several ERP connections in an organization, each under a name. The record types of the first one keep their bare names; those of others
// begin with the name of their connection and a colon. When the account was listed, and what it has, are facts of its connection; erp_metadata
// stays for processes of the previous version, which can't save a connection until they are replaced.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table erp_connections
  add column name text not null default 'netsuite' check (name ~ '^[a-z][a-z0-9-]{0,19}$'),
  add column is_first boolean not null default true,
  add column listed_at timestamptz,
  add column list_error text,
  add column account jsonb,
  drop constraint erp_connections_pkey,
  add primary key (organization_id, name);
create unique index one_first_connection on erp_connections (organization_id) where is_first;
comment on column erp_connections.is_first is 'Its record types have bare names.';
comment on column erp_connections.listed_at is 'When its record types were last listed; null before the first time. list_error: why the last attempt failed. account: what the account has.';
update erp_connections c set listed_at = m.refreshed_at, list_error = m.last_error, account = m.account
from erp_metadata m where m.organization_id = c.organization_id;
comment on table erp_metadata is 'Read and written by the version before several connections only.';

alter table erp_certificates
  add column connection text not null default 'netsuite',
  drop constraint erp_certificates_pkey,
  add primary key (organization_id, connection, slot);
drop index one_active_certificate;
create unique index one_active_certificate on erp_certificates (organization_id, connection) where active;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
