-- The number of a run's next lease. Greater than the last one, by a random step: a failover may lose a claim, and the worker that made it
-- must not have the number of the next claim.
create or replace function next_lease_epoch(last integer) returns integer
language sql as $$ select last + 1 + floor(random() * 4096)::integer $$;
