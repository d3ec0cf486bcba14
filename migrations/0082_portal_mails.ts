// Mails that visitors of a portal order, and what they were told of already.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table portal_mail_orders (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  email text not null,
  customer text not null,
  kinds text[] not null,
  due_days smallint not null,
  with_pdf boolean not null,
  language text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (organization_id, email, customer)
);
comment on table portal_mail_orders is 'Which mails a visitor wants about a customer. None: they were ended, and what was mailed is remembered. The others have a job of the kind portal_mails that looks once an hour whether there is something to say.';
create table portal_mailed (
  organization_id uuid not null references organizations on delete cascade,
  order_id uuid not null references portal_mail_orders on delete cascade,
  kind text not null,
  record text not null,
  is_mailed boolean not null,
  noted_at timestamptz not null default now(),
  primary key (order_id, kind, record)
);
comment on table portal_mailed is 'What no further mail is sent about. is_mailed: false for what was there when the mails were ordered.';
create index on portal_mailed (organization_id, noted_at);
alter table portal_mail_orders enable row level security;
alter table portal_mail_orders force row level security;
create policy own_organization on portal_mail_orders using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_mail_orders to portal_owner using (true);
alter table portal_mailed enable row level security;
alter table portal_mailed force row level security;
create policy own_organization on portal_mailed using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_mailed to portal_owner using (true);
grant select, insert, update, delete on portal_mail_orders, portal_mailed to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
