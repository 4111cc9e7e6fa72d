-- Who got how much: what each process has counted of the tasks that completed, added up in one row
-- for each tenant; once by the minute and once by the hour. `ran` is in microseconds.
create table rota.service (
    span bigint not null,
    at bigint not null,
    tenant text not null collate "C",
    completed bigint not null,
    ran bigint not null,
    primary key (span, at, tenant)
);
