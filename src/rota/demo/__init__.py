"""`rota demo`: the main job on real input, two workers, one of them killed, and the count."""

from rota.demo.run import run_demo
from rota.demo.settings import DemoSettings

__all__ = ["DemoSettings", "run_demo"]
