-- Whose the open dead letters of a group are, and how many each queue has, is read of their index: it
-- gets tenant and queue. No index more than before; only those to be dealt with are in it.

drop index rota.dead_letter_open;
create index dead_letter_open on rota.dead_letter (error_group, failed_at, id) include (tenant, queue)
where replayed_as is null and discarded_at is null;
