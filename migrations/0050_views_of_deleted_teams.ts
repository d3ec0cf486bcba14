// A view whose team was deleted becomes private: it was already visible to its owner only, and still said `team`.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create function make_view_private() returns trigger language plpgsql as $$
begin
  if new.visibility = 'team' and new.team_id is null then
    new.visibility := 'private';
  end if;
  return new;
end $$;
create trigger team_is_gone before update of team_id on views for each row execute function make_view_private();
update views set visibility = 'private' where visibility = 'team' and team_id is null;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
