-- When a session was heard of last. With a lease of its own length its end alone does not say so.
--
-- Processes of the version before go on beside this one; what they renew stays at what was heard last.

alter table rota.session add column heard_at bigint not null default 0;
