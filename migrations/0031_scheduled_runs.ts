// Queues the runs of a minute in batches: thousands of schedules are due at the same quarter of an hour, and one transaction
// per run took longer than all the rest of the tick.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create function enqueue_scheduled_runs(due jsonb) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare made integer;
begin
  insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, scheduled_for)
  select d.run_id, c.organization_id, c.id, c.record_type, c.mode, 'schedule', d.slot
  from jsonb_to_recordset(due) as d(run_id uuid, config_id uuid, slot timestamptz)
  join sync_configs c on c.id = d.config_id
  order by c.id
  on conflict do nothing;
  get diagnostics made = row_count;
  if made > 0 then perform pg_notify('sync_runs', ''); end if;
  return made;
end $$;
revoke all on function enqueue_scheduled_runs from public;
grant execute on function enqueue_scheduled_runs to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
