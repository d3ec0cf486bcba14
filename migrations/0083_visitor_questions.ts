// Visitors of the portal ask an agent: their conversations have no member as their owner.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table conversations alter column owner_id drop not null,
  add column visitor text,
  add column customer text,
  add constraint conversation_has_one_owner check (
    (owner_id is null) = (visitor is not null) and (visitor is null) = (customer is null));
create unique index conversation_of_visitor on conversations (organization_id, visitor, customer, agent_id) where visitor is not null;
comment on column conversations.visitor is 'The address of a visitor of the portal, who asks about the records of the customer. Null for a conversation of a member.';
alter table conversation_messages add column sources jsonb not null default '[]';
comment on column conversation_messages.sources is 'Of an answer to a visitor: the records that it names.';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
