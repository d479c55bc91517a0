"""python -m axion.viewing view|render TARGET [FLAGS], which is `axion view` and `axion render`."""

import sys

from axion.tool import main

if __name__ == "__main__":
    sys.exit(main())
