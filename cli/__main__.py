"""Entry point of ``python -m spica.cli``."""

import sys

from .main import main

sys.exit(main())
