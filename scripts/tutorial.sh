#!/usr/bin/env bash
# Writes the outputs of docs/tutorial.ipynb again. PYTHON (python3) names an interpreter with the
# package and the packages of python/requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
# Progress bars, times and the version of Python are left out.
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
