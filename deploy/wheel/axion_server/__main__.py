"""python -m axion_server: axiond."""

from axion_server import main

main()
