"""The server that is measured: one process, started with the address of its store."""

import sys

from bench.app import bench_app
from rota.clock import new_rng
from rota.server.run import run_server
from rota.server.settings import ServerSettings

RATE = 1_000_000.0
"""A key is not to be held back here."""

if __name__ == "__main__":
    url, port = sys.argv[1:3]
    settings = ServerSettings(port=int(port), rate=RATE)
    sys.exit(run_server(bench_app(url).app, settings, rng=new_rng()))
