-- Statistics by the minute: what each process has counted, added up in one row for each queue and
-- kind; once by the minute and once by the hour, so that both are cheap to read and each is pruned
-- by itself. What tasks ended as is not here: `tally` has that, exactly.
create table statistic (
    span integer not null,
    at integer not null,
    queue text not null,
    kind text not null,
    counts text not null,
    primary key (span, at, queue, kind)
) strict, without rowid;

-- When any node last did a duty.
create table duty (
    name text not null primary key,
    at integer not null
) strict, without rowid;
