"""The server: HTTP for everything that Python can do, and for workers in any language (R8.4, R8.5).

A bare ASGI application over one table of routes (ADR 20). The table says of each route who may
call it, what it takes and what it answers; the OpenAPI document, the checks and the tests of access
are made from it.
"""
