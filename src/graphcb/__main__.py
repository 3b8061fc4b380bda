"""`python -m graphcb` is the `graphcb` command."""

import sys

from graphcb.cli import main

sys.exit(main())
