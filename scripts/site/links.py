"""Checks that links between the pages of a site lead somewhere: links.py FOLDER. The API of Rust checks its own."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    files = [file for file in folder.rglob("*.html") if folder / "rust" not in file.parents]
    pages = {file: Page(file) for file in files}
    wrong = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (file.name == "404.html" and link.startswith("/")):
                continue
            path = unquote(parts.path)
            target = (file.parent / path).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            to = pages.get(target)
            is_there = target.exists() and (not parts.fragment or to is None or unquote(parts.fragment) in to.anchors)
            if not is_there:
                wrong.append(f"{file.relative_to(folder)}: {link}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
