// Verified domains are looked up again once a day. missing_since: the first lookup of a verified domain that found its
// record missing, if it still is. Processes of the version before verify domains without a next check;
// claim_due_domains takes those as due. The first checks of the domains that are there are spread over a day.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table domains add column missing_since timestamptz;
alter table domains drop constraint pending_domain_is_checked_again;
update domains set next_check_at = clock_timestamp() + random() * interval '1 day' where status = 'verified';
alter table domains add constraint pending_domain_is_checked_again check (status <> 'pending' or next_check_at is not null);
alter table domains add constraint failed_domain_is_not_checked_again check (status <> 'failed' or next_check_at is null);
alter table domains add constraint only_verified_domain_misses_its_record check (status = 'verified' or missing_since is null);
drop index domains_next_check_at_idx;
create index domains_next_check_at_idx on domains (next_check_at) where status in ('pending', 'verified');
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
