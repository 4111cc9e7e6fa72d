-- name: note
-- Keep what was said of each task that the session holds under its fence; what was left out stays.
update ready as task
set progress_done = coalesce(said.value ->> 'done', task.progress_done),
    progress_total = coalesce(said.value ->> 'total', task.progress_total),
    checkpoint = coalesce(said.value ->> 'checkpoint', task.checkpoint)
from jsonb_each(:reports) as said
where task.id = said.value ->> 'id'
    and task.fence = said.value ->> 'fence'
    and +task.session = :session;
