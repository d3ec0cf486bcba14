// The secret of a transferred key ends: when, from whom the key came, and whether the end was reported. Existing keys have no end.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table api_keys
  add column transferred_from text,
  add column secret_ends_at timestamptz,
  add column secret_end_reported boolean not null default false;
create index secret_end_to_report on api_keys (secret_ends_at) where secret_ends_at is not null and not secret_end_reported;
create function clear_secret_end() returns trigger language plpgsql as $$
begin
  if new.previous_secret_hash is not null then
    new.previous_expires_at := least(new.previous_expires_at, old.secret_ends_at);
  end if;
  new.secret_ends_at := null;
  new.secret_end_reported := false;
  new.transferred_from := null;
  return new;
end $$;
create trigger new_secret_has_no_end before update on api_keys for each row
  when (new.secret_hash is distinct from old.secret_hash) execute function clear_secret_end();
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
