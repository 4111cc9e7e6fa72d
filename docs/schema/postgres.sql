CREATE SCHEMA rota;

CREATE FUNCTION rota.add_error(errors jsonb, error jsonb, kept integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (error IS NULL) THEN errors WHEN (errors IS NULL) THEN jsonb_build_array(error) WHEN (jsonb_array_length(errors) < kept) THEN (errors || jsonb_build_array(error)) ELSE ((errors - 1) || jsonb_build_array(error)) END;

CREATE TABLE rota.dead_letter (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    started_at bigint,
    failed_at bigint NOT NULL,
    session uuid,
    reason text
);

CREATE TABLE rota.finished (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    state text NOT NULL,
    started_at bigint,
    finished_at bigint NOT NULL,
    session uuid,
    result jsonb,
    reason text,
    CONSTRAINT finished_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])))
)
PARTITION BY RANGE (finished_at);

CREATE TABLE rota.finished_default (
    id uuid CONSTRAINT finished_id_not_null NOT NULL,
    kind text CONSTRAINT finished_kind_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT finished_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT finished_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    priority smallint CONSTRAINT finished_priority_not_null NOT NULL,
    class smallint CONSTRAINT finished_class_not_null NOT NULL,
    run_at bigint CONSTRAINT finished_run_at_not_null NOT NULL,
    rank bigint CONSTRAINT finished_rank_not_null NOT NULL,
    created_at bigint CONSTRAINT finished_created_at_not_null NOT NULL,
    fence bigint DEFAULT 0 CONSTRAINT finished_fence_not_null NOT NULL,
    attempt integer DEFAULT 0 CONSTRAINT finished_attempt_not_null NOT NULL,
    lost integer DEFAULT 0 CONSTRAINT finished_lost_not_null NOT NULL,
    snoozes integer DEFAULT 0 CONSTRAINT finished_snoozes_not_null NOT NULL,
    payload jsonb CONSTRAINT finished_payload_not_null NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    state text CONSTRAINT finished_state_not_null NOT NULL,
    started_at bigint,
    finished_at bigint CONSTRAINT finished_finished_at_not_null NOT NULL,
    session uuid,
    result jsonb,
    reason text,
    CONSTRAINT finished_state_check CHECK ((state = ANY (ARRAY['completed'::text, 'cancelled'::text])))
);

CREATE TABLE rota.migration (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at bigint NOT NULL
);

CREATE TABLE rota.ready (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb,
    session uuid,
    started_at bigint
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE rota.scheduled (
    id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    class smallint NOT NULL,
    run_at bigint NOT NULL,
    rank bigint NOT NULL,
    created_at bigint NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    snoozes integer DEFAULT 0 NOT NULL,
    payload jsonb NOT NULL,
    timeout bigint,
    retry jsonb,
    expires_at bigint,
    key text COLLATE pg_catalog."C",
    tags text[],
    headers jsonb,
    errors jsonb
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');

CREATE TABLE rota.session (
    id uuid NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues text[] NOT NULL,
    kinds text[] NOT NULL,
    slots integer NOT NULL,
    started_at bigint NOT NULL,
    lease_until bigint NOT NULL,
    closed_at bigint
);

CREATE VIEW rota.task AS
 SELECT scheduled.id,
    'scheduled'::text AS state,
    scheduled.kind,
    scheduled.queue,
    scheduled.tenant,
    scheduled.priority,
    to_timestamp((((scheduled.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((scheduled.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    NULL::timestamp with time zone AS started_at,
    NULL::timestamp with time zone AS finished_at,
    to_timestamp((((scheduled.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((scheduled.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    scheduled.attempt,
    scheduled.fence,
    scheduled.lost,
    scheduled.snoozes,
    NULL::uuid AS session,
    scheduled.payload,
    NULL::jsonb AS result,
    scheduled.errors,
    NULL::text AS reason,
    scheduled.key,
    scheduled.tags,
    scheduled.headers,
    scheduled.retry
   FROM rota.scheduled
UNION ALL
 SELECT ready.id,
        CASE
            WHEN (ready.session IS NULL) THEN 'ready'::text
            ELSE 'running'::text
        END AS state,
    ready.kind,
    ready.queue,
    ready.tenant,
    ready.priority,
    to_timestamp((((ready.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((ready.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((ready.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    NULL::timestamp with time zone AS finished_at,
    to_timestamp((((ready.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((ready.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    ready.attempt,
    ready.fence,
    ready.lost,
    ready.snoozes,
    ready.session,
    ready.payload,
    NULL::jsonb AS result,
    ready.errors,
    NULL::text AS reason,
    ready.key,
    ready.tags,
    ready.headers,
    ready.retry
   FROM rota.ready
UNION ALL
 SELECT dead_letter.id,
    'failed'::text AS state,
    dead_letter.kind,
    dead_letter.queue,
    dead_letter.tenant,
    dead_letter.priority,
    to_timestamp((((dead_letter.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((dead_letter.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((dead_letter.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    to_timestamp((((dead_letter.failed_at)::numeric / '1000000'::numeric))::double precision) AS finished_at,
    to_timestamp((((dead_letter.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((dead_letter.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    dead_letter.attempt,
    dead_letter.fence,
    dead_letter.lost,
    dead_letter.snoozes,
    dead_letter.session,
    dead_letter.payload,
    NULL::jsonb AS result,
    dead_letter.errors,
    dead_letter.reason,
    dead_letter.key,
    dead_letter.tags,
    dead_letter.headers,
    dead_letter.retry
   FROM rota.dead_letter
UNION ALL
 SELECT finished.id,
    finished.state,
    finished.kind,
    finished.queue,
    finished.tenant,
    finished.priority,
    to_timestamp((((finished.created_at)::numeric / '1000000'::numeric))::double precision) AS created_at,
    to_timestamp((((finished.run_at)::numeric / '1000000'::numeric))::double precision) AS run_at,
    to_timestamp((((finished.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    to_timestamp((((finished.finished_at)::numeric / '1000000'::numeric))::double precision) AS finished_at,
    to_timestamp((((finished.expires_at)::numeric / '1000000'::numeric))::double precision) AS expires_at,
    make_interval(secs => (((finished.timeout)::numeric / '1000000'::numeric))::double precision) AS timeout,
    finished.attempt,
    finished.fence,
    finished.lost,
    finished.snoozes,
    finished.session,
    finished.payload,
    finished.result,
    finished.errors,
    finished.reason,
    finished.key,
    finished.tags,
    finished.headers,
    finished.retry
   FROM rota.finished;

CREATE TABLE rota.task_key (
    kind text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id uuid NOT NULL,
    expires_at bigint NOT NULL
);

ALTER TABLE ONLY rota.finished ATTACH PARTITION rota.finished_default DEFAULT;

ALTER TABLE ONLY rota.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.finished
    ADD CONSTRAINT finished_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.finished_default
    ADD CONSTRAINT finished_default_pkey PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY rota.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY rota.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rota.task_key
    ADD CONSTRAINT task_key_pkey PRIMARY KEY (kind, tenant, key);

CREATE INDEX finished_at ON ONLY rota.finished USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_cancelled ON ONLY rota.finished USING btree (id) WHERE (state = 'cancelled'::text);

CREATE INDEX finished_default_finished_at_idx ON rota.finished_default USING brin (finished_at) WITH (autosummarize='on');

CREATE INDEX finished_default_id_idx ON rota.finished_default USING btree (id) WHERE (state = 'cancelled'::text);

CREATE INDEX ready_held ON rota.ready USING btree (session) WHERE (session IS NOT NULL);

CREATE INDEX ready_lane ON rota.ready USING btree (queue, class, tenant, rank, id) WHERE (session IS NULL);

CREATE INDEX scheduled_due ON rota.scheduled USING btree (run_at);

CREATE INDEX task_key_expires ON rota.task_key USING btree (expires_at);

ALTER INDEX rota.finished_at ATTACH PARTITION rota.finished_default_finished_at_idx;

ALTER INDEX rota.finished_cancelled ATTACH PARTITION rota.finished_default_id_idx;

ALTER INDEX rota.finished_pkey ATTACH PARTITION rota.finished_default_pkey;
