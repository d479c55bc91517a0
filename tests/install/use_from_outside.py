"""Builds and runs tests/install/consumer against this project, installed or as a subdirectory. README.md"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("$", *command, "\n" + done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}")


def by_pkgconfig(options, prefix, build, flags):
    """Without CMake: what pkg-config says of a folder that has been moved since it was installed is enough for a compiler."""
    installed = prefix.with_name("installed")
    run(options.cmake, "--install", options.build, "--prefix", installed, "--component", "client")
    installed.rename(prefix)
    found = list(prefix.rglob("axion.pc"))
    if len(found) != 1:
        sys.exit(f"{len(found)} files axion.pc in what was installed")
    others = [root / "lib" / "pkgconfig" for root in map(pathlib.Path, filter(None, options.prefix_path.split(";")))]
    environment = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(map(str, [found[0].parent, *others]))}

    def say(*words):
        told = subprocess.run(["pkg-config", *words, "axion"], check=True, env=environment, stdout=subprocess.PIPE, text=True)
        return told.stdout.split()
    version = re.search(r"project\(axion VERSION ([0-9.]+)", (pathlib.Path(options.source) / "CMakeLists.txt").read_text()).group(1)
    if say("--modversion") != [version]:
        sys.exit(f"axion.pc is of version {say('--modversion')}, the project of {version}")
    if options.build in found[0].read_text() or str(installed) in " ".join(say("--cflags", "--libs")):
        sys.exit("axion.pc points into the build or to where it was installed first: nobody else has that")
    build.mkdir()
    run(*filter(None, options.launcher.split(";")), options.compiler, "-std=c++20", *flags.split(), *say("--cflags"), "-c",
        CONSUMER / "use_client.cpp", "-o", build / "use_client.o")
    run(options.compiler, *flags.split(), build / "use_client.o", *say("--libs"), "-o", build / "use_client")
    run(build / "use_client")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("installed", "subdirectory", "pkgconfig"), required=True)
    for name in ("build", "source", "cmake", "generator", "compiler", "prefix_path", "launcher", "flags", "sanitize"):
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix, build = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        flags = options.flags + (f" -fsanitize={options.sanitize}" if options.sanitize else "")
        if options.way == "pkgconfig":
            return by_pkgconfig(options, prefix, build, flags)
        arguments = ["-G", options.generator, f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DCMAKE_CXX_FLAGS={flags}",
                     f"-DCMAKE_CXX_COMPILER_LAUNCHER={options.launcher}", "-DCMAKE_BUILD_TYPE=Debug"]  # it compiles soonest
        if options.way == "installed":
            for component in ("client", "engine"):
                run(options.cmake, "--install", options.build, "--prefix", prefix, "--component", component)
            left = [path for path in prefix.rglob("*") if path.suffix == ".cmake" and options.build in path.read_text()]
            if left:
                sys.exit(f"{left[0]} points into the build: nobody else has that")
            paths, programs = f"{prefix};{options.prefix_path}", ("use_client", "use_engine", "use_import")
        else:
            arguments += [f"-DAXION_SOURCE={options.source}", "-DAXION_UNITY=ON"]  # in half of the time
            paths, programs = options.prefix_path, ("use_import",)
        run(options.cmake, "-S", CONSUMER, "-B", build, *arguments, f"-DCMAKE_PREFIX_PATH={paths}")
        run(options.cmake, "--build", build, "--parallel", os.cpu_count(), "--target", *programs)
        for program in programs:
            run(build / program)


if __name__ == "__main__":
    main()
