"""``python -m covey`` is the command ``covey``."""

import sys

from covey._cli import main

sys.exit(main())
