-- Adds the reads by links that one process counted for any organization. Counts of deleted links are dropped.
-- Rows are locked in the order of their ids, so that two processes can't deadlock.
create or replace function add_view_link_uses(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  with read as (
    select l.id, c.reads from view_links l
    join (select r.link_id, sum(r.succeeded) as reads from jsonb_to_recordset(counted) as r(link_id uuid, succeeded bigint) group by r.link_id) c
      on c.link_id = l.id and c.reads > 0
    order by l.id for no key update of l)
  update view_links l set uses = l.uses + read.reads, last_used_at = clock_timestamp() from read where read.id = l.id $$;
