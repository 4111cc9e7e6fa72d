-- Who got how much: what each process has counted of the tasks that completed, added up in one row
-- for each tenant; once by the minute and once by the hour. `ran` is in microseconds.
create table service (
    span integer not null,
    at integer not null,
    tenant text not null,
    completed integer not null,
    ran integer not null,
    primary key (span, at, tenant)
) strict, without rowid;
