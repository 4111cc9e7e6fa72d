-- Workers that come through a server. Their sessions belong to the key that opened them, and their
-- claims are numbered: a number takes once, whatever server it is repeated at. Any session may be
-- asked to drain.
--
-- Processes of the version before go on beside this one; their workers do not hear of a drain.

alter table session add column owner text not null default '';
alter table session add column claimed integer not null default 0;
alter table session add column claim_open integer not null default 0;
alter table session add column drain_at integer;
