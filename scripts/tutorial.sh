#!/usr/bin/env bash
# Writes what docs/tutorial.ipynb shows again. PYTHON (python3) names an interpreter that has the package and
# what python/requirements.txt names.
set -euo pipefail
cd "$(dirname "$0")/.."
# Bars of progress are not part of it, and neither are times and the version of Python.
TQDM_DISABLE=1 "${PYTHON:-python3}" - docs/tutorial.ipynb <<'PYTHON'
import sys

import nbclient
import nbformat

path = sys.argv[1]
notebook = nbformat.read(path, as_version=4)
nbclient.NotebookClient(notebook, record_timing=False).execute()
notebook.metadata.language_info = {"name": "python"}
for cell in notebook.cells:
    cell.metadata.pop("execution", None)
nbformat.write(notebook, path)
PYTHON
