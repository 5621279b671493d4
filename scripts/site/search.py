"""Checks that the search of a site finds every policy and every option of every command: search.py FOLDER COVEY."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from commands import helps


def main() -> None:
    folder, covey = sys.argv[1:]
    index = json.loads((Path(folder) / "search.json").read_text())
    # What people type is divided as the index is: at these characters.
    separator = re.compile(index["config"]["separator"])

    def words(text: str) -> str:
        return " ".join(["", *filter(None, separator.split(text.lower())), ""])

    sections = [words(unescape(re.sub("<[^>]*>", " ", f"{it['title']} {it['text']}"))) for it in index["items"]]
    listed = subprocess.run([covey, "policies", "--json"], check=True, capture_output=True, text=True).stdout
    wanted = {policy["name"] for policy in json.loads(listed)}
    wanted |= {option for _, text in helps(covey) for option in re.findall(r"^ +(?:-\w, )?(--[a-z][a-z0-9-]*)", text, re.M)}
    missing = [name for name in sorted(wanted) if not any(words(name) in section for section in sections)]
    if missing:
        sys.exit(f"The search does not find {', '.join(missing)}.")
    print(f"The search finds all {len(wanted)} policies and options.")


if __name__ == "__main__":
    main()
