"""Plays a policy that was trained, on a running axiond: `axion play` as a program; axion.learning.play is what it runs.

    python play_policy.py learned/quadruped-1.npz                          commanded and measured speeds
    python play_policy.py learned/quadruped-1.npz --movie walk.mp4         a movie, .mp4 or .gif, without a browser
    python play_policy.py learned/quadruped-1.npz --commands walk.png      what it does under six commands, in one picture
    python play_policy.py learned/quadruped-1.npz --view                   in the browser, as fast as the clock
"""

import sys

from axion.tool import main

if __name__ == "__main__":
    sys.exit(main(["play", *sys.argv[1:]]))
