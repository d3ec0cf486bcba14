-- The last change of the server's timeline, after recording the current one: until when the service is known to have used the timeline before,
-- by a commit that survived, and when the new one was first seen. No row when there was none.
create or replace function last_failover() returns table (used_until timestamptz, seen_at timestamptz)
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform note_server_timeline();
  return query
    select former.alive_at, t.seen_at from server_timelines t
    cross join lateral (select f.alive_at from server_timelines f where f.id < t.id order by f.id desc limit 1) former
    where t.survived_at is not null order by t.id desc limit 1;
end $$;
