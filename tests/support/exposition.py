"""Reads metrics the way a strict collector does, and says what is wrong with them.

The rules are those of the text format 0.0.4 and of the naming advice for it: every family has its
words and its type before its samples and stands together once, counters end in `_total`, a
histogram's buckets never fall and end with what `_count` says, no series is there twice.
"""

import re
from collections.abc import Iterator

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)(?: -?\d+)?"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?')
_TYPES = {"counter", "gauge", "histogram"}
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}

Labels = tuple[tuple[str, str], ...]


class Exposed:
    """A scrape: its families with their types, and its samples."""

    def __init__(self, text: str) -> None:
        self.types: dict[str, str] = {}
        self.samples: dict[tuple[str, Labels], float] = {}
        self.faults: list[str] = []
        self._helped: set[str] = set()
        self._done: set[str] = set()
        self._family = ""
        if not text.endswith("\n"):
            self.faults.append("the last line has no end")
        for line in text.split("\n")[:-1]:
            self._line(line)
        self.faults += self._buckets()

    def _line(self, line: str) -> None:
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            if not words.strip():
                self.faults.append(f"{name} has no words")
            if name in self._helped:
                self.faults.append(f"{name} is begun twice")
            self._helped.add(name)
            self._begin(name)
        elif line.startswith("# TYPE "):
            name, _, kind = line[7:].partition(" ")
            if kind not in _TYPES or name in self.types or name != self._family:
                self.faults.append(f"{line!r} is out of place")
            if (kind == "counter") != name.endswith("_total"):
                self.faults.append(f"{name} is a {kind}, going by its type")
            self.types[name] = kind
        elif line.startswith("#") or not line.strip():
            self.faults.append(f"{line!r} says nothing")
        else:
            self._sample(line)

    def _begin(self, name: str) -> None:
        self._done.add(self._family)
        if name in self._done:
            self.faults.append(f"{name} does not stand together")
        self._family = name

    def _sample(self, line: str) -> None:
        found = _SAMPLE.fullmatch(line)
        if found is None:
            self.faults.append(f"{line!r} is no sample")
            return
        kind = self.types.get(self._family, "")
        names = [f"{self._family}{end}" for end in _SUFFIXES.get(kind, ("",))]
        if found["name"] not in names:
            self.faults.append(f"{found['name']} is no part of the {kind} {self._family}")
        labels = tuple(sorted(_LABEL.findall(found["labels"] or "")))
        if _LABEL.sub("", found["labels"] or ""):
            self.faults.append(f"{line!r} has labels that cannot be read")
        if len({name for name, _ in labels}) < len(labels):
            self.faults.append(f"{line!r} has a label twice")
        key = (found["name"], labels)
        if key in self.samples:
            self.faults.append(f"{line!r} is there twice")
        self.samples[key] = float(found["value"])

    def _buckets(self) -> Iterator[str]:
        for name, kind in self.types.items():
            if kind != "histogram":
                continue
            for labels, counts in self._histograms(name).items():
                bounds = sorted(counts)
                if [counts[bound] for bound in bounds] != sorted(counts.values()):
                    yield f"{name}{labels} falls"
                if not bounds or bounds[-1] != float("inf"):
                    yield f"{name}{labels} has no last bucket"
                elif counts[bounds[-1]] != self.samples.get((f"{name}_count", labels)):
                    yield f"{name}{labels} counts something else in all"
                if (f"{name}_sum", labels) not in self.samples:
                    yield f"{name}{labels} has no sum"

    def _histograms(self, name: str) -> dict[Labels, dict[float, float]]:
        found: dict[Labels, dict[float, float]] = {}
        for (sample, labels), value in self.samples.items():
            if sample == f"{name}_bucket":
                rest = tuple(pair for pair in labels if pair[0] != "le")
                found.setdefault(rest, {})[float(dict(labels)["le"])] = value
        return found

    def bounds(self, name: str) -> tuple[float, ...]:
        """Return the upper bounds of a histogram's buckets."""
        (first, *_) = self._histograms(name).values()
        return tuple(sorted(first))

    def labels(self, name: str) -> set[str]:
        """Return the labels that a family's series have, `le` left out."""
        names = [f"{name}{end}" for end in _SUFFIXES.get(self.types[name], ("",))]
        return {
            label
            for (sample, labels) in self.samples
            if sample in names
            for label, _ in labels
            if label != "le"
        }
