-- Lists by when tasks are due and by when they failed go page by page: ids decide between equals, of
-- which there may be a million. No index more than before, only one column more in two of them.

drop index rota.scheduled_due;
create index scheduled_due on rota.scheduled (run_at, id) where not at_gate;

drop index rota.dead_letter_age;
create index dead_letter_age on rota.dead_letter (failed_at, id) where discarded_at is null;
