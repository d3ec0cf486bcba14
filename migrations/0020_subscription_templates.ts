// A template that a subscription uses can't be deleted.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
-- Checked at the end of a statement, so that a whole organization can be deleted at once.
alter table subscriptions add constraint subscription_uses_template
  foreign key (organization_id, template_id) references portal_templates (organization_id, id);
create index on subscriptions (organization_id, template_id) where template_id is not null;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
