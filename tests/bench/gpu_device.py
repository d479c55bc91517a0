"""What gpu.py asks of a machine that may have neither git nor the GPU's own tools."""

import ctypes
import pathlib
import shutil
import subprocess

CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


def _said(command):
    """What a program prints, or nothing."""
    if not shutil.which(command[0]):
        return ''
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ''


def gpu():
    """(name, compute capability without its point) of the first GPU; (None, None) where there is none."""
    said = _said(['nvidia-smi', '--query-gpu=name,compute_cap', '--format=csv,noheader'])
    if said:
        name, capability = said.splitlines()[0].rsplit(', ', 1)
        return name, capability.replace('.', '')
    try:
        driver = ctypes.CDLL('libcuda.so.1')
    except OSError:
        return None, None
    device, major, minor, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    calls = [lambda: driver.cuInit(0), lambda: driver.cuDeviceGet(ctypes.byref(device), 0),
             lambda: driver.cuDeviceGetName(name, len(name), device),
             lambda: driver.cuDeviceGetAttribute(ctypes.byref(major), CAPABILITY_MAJOR, device),
             lambda: driver.cuDeviceGetAttribute(ctypes.byref(minor), CAPABILITY_MINOR, device)]
    if any(call() != 0 for call in calls):
        return None, None
    return name.value.decode(), f'{major.value}{minor.value}'


def revision(root):
    """The commit of a working tree, by git or, where that is not installed, as its files say; else "unknown"."""
    said = _said(['git', '-C', root, 'describe', '--always', '--dirty'])
    if said:
        return said
    folder = pathlib.Path(root) / '.git'
    try:
        if folder.is_file():  # a second working tree
            folder = pathlib.Path(folder.read_text(encoding='utf-8').removeprefix('gitdir:').strip())
        head = (folder / 'HEAD').read_text(encoding='utf-8').strip()
        if not head.startswith('ref:'):
            return head[:7]
        common = folder / 'commondir'
        shared = folder / common.read_text(encoding='utf-8').strip() if common.exists() else folder
        name = head.removeprefix('ref:').strip()
        if (shared / name).exists():
            return (shared / name).read_text(encoding='utf-8')[:7]
        packed = (shared / 'packed-refs').read_text(encoding='utf-8').splitlines()
        return next(line[:7] for line in packed if line.endswith(f' {name}'))
    except (OSError, StopIteration):
        return 'unknown'
