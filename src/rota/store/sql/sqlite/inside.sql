-- name: record_effect
-- In a caller's transaction: record an effect, and return its key unless it is recorded already.
insert into effect (key, at)
values (:key, :at)
on conflict (key) do nothing
returning key;
