"""What each command of the program says of itself."""

import re
import subprocess
from collections.abc import Iterator


def helps(covey: str, command: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each command, such as `covey trace convert`, and what it prints with `--help`."""
    run = subprocess.run([covey, *command, "--help"], check=True, capture_output=True, text=True)
    yield " ".join(["covey", *command]), run.stdout
    listed = re.search(r"^Commands:\n((?:.*\S.*\n)*)", run.stdout, re.M)
    names = re.findall(r"^  ([a-z][a-z-]*)", listed[1], re.M) if listed else []
    for name in names:
        if name != "help":
            yield from helps(covey, (*command, name))


def page(covey: str) -> str:
    """A page with all of them."""
    sections = [f"## {command}\n\n```text\n{text.rstrip()}\n```\n" for command, text in helps(covey)]
    return "# Every command and option\n\n*Reference, for all.* What each command prints with `--help`.\n\n" + "\n".join(sections)
