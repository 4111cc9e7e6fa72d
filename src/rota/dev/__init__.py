"""`rota dev`: server, worker and scheduler in one process, started again when code changes.

A parent watches the files. Each state of the code runs in a child; a new one takes over only when
it could be imported, so a mistake leaves the last good state at work (issue 6, point 7).
"""
