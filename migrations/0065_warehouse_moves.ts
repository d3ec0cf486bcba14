// A warehouse that moves to another server: first the tables of schema public in one pause, then one organization after the other.
// organizations.warehouse says where an organization's records are. `moving` and `former` ones are read from the former server, and nothing
// writes them meanwhile. warehouse_attempt: the attempt that copies it; a later attempt ends an earlier one.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table organizations add column warehouse text not null default 'current'
  constraint warehouse_is_known check (warehouse in ('current', 'former', 'moving')), add column warehouse_attempt uuid;
create index organizations_elsewhere on organizations (id) where warehouse <> 'current';
create table control_moves (
  id uuid primary key,
  side text not null constraint side_is_known check (side in ('from', 'to')),
  other text not null,
  paused_at timestamptz not null default clock_timestamp(),
  moved_at timestamptz
);
create unique index one_control_move on control_moves (side);
comment on table control_moves is 'The move of schema public from or to this database. other: the other database, without credentials. Side from: until moved_at every process of the service pauses its writes; then this database takes none any more. Side to: until moved_at the copy may be incomplete and no process may use it.';
grant select on control_moves to portal_service;
create table paused_processes (
  move_id uuid not null references control_moves on delete cascade,
  process text not null,
  paused_at timestamptz not null default clock_timestamp(),
  primary key (move_id, process)
);
comment on table paused_processes is 'The processes that have stopped to write for a control move.';
grant select, insert on paused_processes to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
