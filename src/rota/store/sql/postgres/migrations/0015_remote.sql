-- Workers that come through a server. Their sessions belong to the key that opened them, and their
-- claims are numbered: a number takes once, whatever server it is repeated at. Any session may be
-- asked to drain.
--
-- Processes of the version before go on beside this one; their workers do not hear of a drain.

alter table rota.session
    add column owner text not null default '',
    add column claimed bigint not null default 0,
    add column claim_open boolean not null default false,
    add column drain_at bigint;
