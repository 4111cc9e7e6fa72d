"""`make crontabs`: imports the crontabs of Debian packages and reports line by line (R6.8).

It fetches the packages with apt-get into a temporary folder and installs none of them.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec

from rota.cli import main

PACKAGES = (
    "amavisd-new", "anacron", "awstats", "cacti", "certbot", "cron-daemon-common", "e2fsprogs",
    "logcheck", "mailman3", "mdadm", "munin-node", "ntpsec", "php-common", "roundcube-core",
    "sysstat",
)  # fmt: skip
_SETTING = re.compile(r"\s*\w+\s*=")


def fetch(folder: Path) -> None:
    """Fetch the packages and unpack them, each into a folder of its name."""
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        sys.exit("make crontabs needs apt-get and dpkg-deb: it reads packages of Debian")
    for package in PACKAGES:
        fetching = [apt, "download", package]
        done = subprocess.run(fetching, cwd=folder, check=False, capture_output=True)
        if done.returncode:
            print(f"{package}: not to be had here (apt-get update may help)")
    for archive in folder.glob("*.deb"):
        package = archive.name.partition("_")[0]
        subprocess.run([dpkg, "-x", str(archive), str(folder / package)], check=True)


def crontabs(folder: Path) -> list[Path]:
    """Return the crontabs of the packages that have one."""
    files = [*folder.glob("*/etc/cron.d/*"), *folder.glob("*/etc/crontab")]
    return sorted(file for file in files if not file.name.startswith("."))


def running(file: Path) -> set[int]:
    """Return the numbers of the lines that are neither empty, nor comments, nor settings."""
    lines = enumerate(file.read_text().split("\n"), start=1)
    return {
        number
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("#") and not _SETTING.match(line)
    }


def imported(file: Path, store: Path) -> dict[str, Any]:
    """Import a crontab and return what the command says of it."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        main(["schedules", "import", str(file), "--url", f"sqlite:///{store}", "--json"])
    told: dict[str, Any] = msgspec.json.decode(out.getvalue())
    return told


def report(folder: Path) -> Counter[str]:
    """Import every crontab twice, print each line of it, and count what became of the lines."""
    counted: Counter[str] = Counter()
    for file in crontabs(folder):
        package = file.relative_to(folder).parts[0]
        first, second = imported(file, folder / "rota.db"), imported(file, folder / "rota.db")
        print(f"\n{package}: /{file.relative_to(folder / package)}")
        for line in first["lines"]:
            why = f"  ({line['detail']})" if line["detail"] else ""
            rule = f"  {line['name']}  {line['expression']}" if line["name"] else ""
            print(f"  line {line['line']}: {line['outcome']}{rule}{why}")
        told = {line["line"] for line in first["lines"]}
        counted["files"] += 1
        counted["lines"] += len(running(file))
        counted["silent"] += len(running(file) - told)
        counted.update(line["outcome"] for line in first["lines"])
        counted["doubled"] += sum(line["outcome"] == "created" for line in second["lines"])
    return counted


def run() -> int:
    """Fetch, import, report; exit code 1 if a line was passed over or made two schedules."""
    for name in ("ROTA_URL", "ROTA_APP"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.chdir(folder)
        fetch(folder)
        counted = report(folder)
        os.chdir("/")
    print(
        f"\n{counted['files']} crontabs, {counted['lines']} lines that run something: "
        f"{counted['created']} taken, {counted['refused']} refused with a reason, "
        f"{counted['silent']} passed over; {counted['doubled']} doubled by a second import"
    )
    return int(not counted["files"] or counted["silent"] > 0 or counted["doubled"] > 0)


if __name__ == "__main__":
    sys.exit(run())
