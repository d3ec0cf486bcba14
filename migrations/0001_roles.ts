// The three database roles: portal_owner owns what migrations create, portal_service is what the service connects as, and
// portal_simulator reads the demo's ERP. Runs as the login of DATABASE_URL, which must be allowed to create roles unless they exist.
// Every statement can be repeated: roles belong to the whole cluster, which several databases may share.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
do $$
declare wanted text;
begin
  foreach wanted in array array['portal_owner', 'portal_service', 'portal_simulator'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin noinherit', wanted);
      exception when duplicate_object or unique_violation then null; -- another database's migration created it first
      end;
    end if;
    if not pg_has_role(session_user, wanted, 'SET') then
      execute format('grant %I to %I', wanted, session_user);
    end if;
  end loop;
end $$;
create extension if not exists pg_trgm;
grant usage, create on schema public to portal_owner;
grant usage on schema public to portal_service;
revoke create on schema public from public`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
