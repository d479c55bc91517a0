"""Reads pictures and movies that a test has had written. Wants the extra `view`."""

import pathlib
import subprocess

import imageio_ffmpeg
import numpy as np
from PIL import Image, ImageSequence


def read_picture(path):
    """Uint8 [height, width, 3]."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def read_movie(path, width, height):
    """All pictures of a .gif or .mp4 of a known size: uint8 [n, height, width, 3]."""
    if pathlib.Path(path).suffix == ".gif":
        with Image.open(path) as image:
            return np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)])
    decoder = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    frames = subprocess.run(decoder, stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(frames, np.uint8).reshape(-1, height, width, 3)
