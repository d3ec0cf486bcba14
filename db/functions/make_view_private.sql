-- Trigger: a view that loses its team, because the team was deleted, becomes private.
create or replace function make_view_private() returns trigger language plpgsql as $$
begin
  if new.visibility = 'team' and new.team_id is null then
    new.visibility := 'private';
  end if;
  return new;
end $$;
