-- What has been done once, by the key that the one who did it gave it.
create table effect (
    key text not null primary key,
    at integer not null
) strict, without rowid;

create index effect_age on effect (at);
