"""Collects the pages of the documentation site: pages.py FOLDER COVEY, from the top folder of the project.

Pages of docs/ keep their paths. README.md is the first page, docs/README.md the list of all pages, the notebook a page
with its outputs. One more page has what each command of the program COVEY says with `--help`. Where a page has
`<!-- picture: FILE -->`, its commands that are marked as run are run, and the file that they wrote is shown. Other files to which pages link, such as examples, are copied and shown as text.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import commands
from nbconvert import MarkdownExporter

TOP = Path.cwd().resolve()
NAMES = {"README.md": "index.md", "docs/README.md": "pages.md", "docs/tutorial.ipynb": "tutorial.md"}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*```")
PICTURE = re.compile(r"^(#+ )(?P<title>.*)$|^<!-- picture: (?P<file>\S+) -->$", re.M)
RUN = re.compile(r"^<!-- run -->\n```sh\n(.*?)^```$", re.M | re.S)


def place(path: str) -> str:
    """Where a file of the project is in the site."""
    if path in NAMES:
        return NAMES[path]
    inside = path.removeprefix("docs/")
    is_page = path.endswith(".md") and (inside != path or "/" not in path)
    return inside if is_page or inside.startswith("images/") else f"source/{path}.txt"


class Pages:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def target(self, page: str, link: str) -> str:
        """A link of a page, as it is in the site."""
        path, hash_mark, anchor = link.partition("#")
        if not path or "://" in path or (self.folder / path).exists():
            return link
        file = (TOP / page).parent.joinpath(path).resolve()
        if file.is_dir():
            file /= "README.md"
        name = file.relative_to(TOP).as_posix()
        to = place(name)
        if to.startswith(("source/", "images/")):
            copy = self.folder / to
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        up = "../" * place(page).count("/")
        return up + to + hash_mark + anchor

    def add(self, page: str, text: str) -> None:
        """Writes a page with links as they are in the site."""
        lines = []
        is_code = False
        for line in text.splitlines():
            is_code ^= bool(FENCE.match(line))
            if not is_code:
                line = LINK.sub(lambda it: it[1] + self.target(page, it[2]) + it[3], line)
            lines.append(line)
        to = self.folder / place(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("\n".join(lines) + "\n")


def with_pictures(page: str, text: str, folder: Path, covey: str) -> str:
    """A page with the pictures that its commands write. Each is described by the heading above it."""
    if "<!-- picture: " not in text:
        return text
    name = Path(page).stem
    title = ""

    def shown(found: re.Match[str]) -> str:
        nonlocal title
        if found["title"]:
            title = found["title"]
            return found[0]
        picture = folder / name / found["file"]
        picture.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(work) / found["file"], picture)
        return f"![{title}]({name}/{found['file']})"

    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "bin").mkdir()
        (Path(work) / "bin/covey").symlink_to(covey)
        environment = {**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}"}
        for block in RUN.findall(text):
            subprocess.run(["bash", "-ec", block], cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
        return PICTURE.sub(shown, text)


def main() -> None:
    pages = Pages(Path(sys.argv[1]))
    covey = sys.argv[2]
    files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    files += sorted(path.as_posix() for path in Path("docs").rglob("*.md"))
    for page in files:
        pages.add(page, with_pictures(page, Path(page).read_text(), pages.folder, covey))
    notebook, resources = MarkdownExporter().from_filename("docs/tutorial.ipynb")
    for name, picture in resources["outputs"].items():
        (pages.folder / name).write_bytes(picture)
    pages.add("docs/tutorial.ipynb", notebook)
    (pages.folder / "commands.md").write_text(commands.page(covey))


if __name__ == "__main__":
    main()
