"""Teaches a quadruped to walk after commands, on a running axiond: `axion train` as a program.

    python train_quadruped.py --seeds 1 2 3 --out learned          three policies, their curves and pictures of what they do
    python train_quadruped.py --task Hopper-v5 --worlds 64         one of Gymnasium's tasks

What it runs is axion.learning.train: PPO in NumPy (axion.learning.ppo), one call to the server a step of all worlds.
"""

import sys

from axion.tool import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
