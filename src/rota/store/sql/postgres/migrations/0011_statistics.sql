-- Statistics by the minute: what each process has counted, added up in one row for each queue and
-- kind; once by the minute and once by the hour, so that both are cheap to read and each is pruned
-- by itself. What tasks ended as is not here: `tally` has that, exactly.
create table rota.statistic (
    span bigint not null,
    at bigint not null,
    queue text not null collate "C",
    kind text not null collate "C",
    counts jsonb not null,
    primary key (span, at, queue, kind)
);

-- When any node last did a duty.
create table rota.duty (
    name text not null collate "C" primary key,
    at bigint not null
) with (fillfactor = 50);
