-- name: note
-- Keep what was said of each task that the session holds under its fence; what was left out stays.
with report as materialized (
    select id, fence, done, total, checkpoint
    from unnest(
        :ids::uuid[], :fences::bigint[], :dones::bigint[], :totals::bigint[], :checkpoints::jsonb[]
    ) as report (id, fence, done, total, checkpoint)
)
update rota.ready
set progress_done = coalesce(report.done, ready.progress_done),
    progress_total = coalesce(report.total, ready.progress_total),
    checkpoint = coalesce(report.checkpoint, ready.checkpoint)
from report
where ready.id = any(array[report.id])
    and ready.fence = report.fence
    and ready.session is not distinct from :session::uuid
returning ready.id::text, ready.fence;
