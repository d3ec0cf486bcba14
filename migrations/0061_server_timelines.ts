// The timelines of the database server, one row for each. A new one means that another server was promoted, or that the server was
// restored to a point in time: commits may be lost. Mails and slots know the timeline on which they were queued; those that were queued
// before have none. A mail or a delivery that may have been sent by a lost commit is `unknown`, and keeps its body so that a person can
// send it.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table server_timelines (
  id bigint generated always as identity primary key,
  timeline text not null,
  seen_at timestamptz not null default clock_timestamp(),
  survived_at timestamptz,
  alive_at timestamptz not null default clock_timestamp(),
  restored boolean not null default false
);
comment on table server_timelines is 'Timelines of this database server, in the order in which they were first seen. survived_at: the last commit that this timeline has of the one before; null for the first row. alive_at: a recent time at which the timeline was in use. restored: entered after a restore from a backup, with the timeline found there.';
create function server_timeline() returns text language sql as $$ select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $$;
alter table outgoing_mails add column timeline text;
alter table outgoing_mails alter column timeline set default server_timeline();
alter table outgoing_mails drop constraint mail_keeps_its_body_until_it_is_done;
alter table outgoing_mails add constraint mail_keeps_its_body_until_it_is_done
  check (case when status in ('queued', 'sending') then body is not null when status in ('sent', 'failed') then body is null else true end);
create index outgoing_mails_to_decide on outgoing_mails (created_at) where status = 'unknown' and body is not null;
alter table subscription_slots add column timeline text;
alter table subscription_slots alter column timeline set default server_timeline();
alter table subscription_deliveries drop constraint delivery_status_is_known;
alter table subscription_deliveries add constraint delivery_status_is_known check (status in ('queued', 'failed', 'skipped', 'unknown'));
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
