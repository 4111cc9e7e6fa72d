"""Replays every dead letter of a store, slowly: `python -m tests.system.replay_main URL RATE`."""

import sys

from rota import Rota

if __name__ == "__main__":
    url, rate = sys.argv[1:]
    with Rota(url) as app:
        app.dead_letters.replay(all=True, rate=float(rate))
