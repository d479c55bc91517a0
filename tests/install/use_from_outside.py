"""Builds and runs tests/install/consumer against this project, installed or as a subdirectory. README.md"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("$", *command, "\n" + done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("installed", "subdirectory"), required=True)
    for name in ("build", "source", "cmake", "generator", "compiler", "prefix_path", "launcher", "flags", "sanitize"):
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix, build = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        flags = options.flags + (f" -fsanitize={options.sanitize}" if options.sanitize else "")
        arguments = ["-G", options.generator, f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DCMAKE_CXX_FLAGS={flags}",
                     f"-DCMAKE_CXX_COMPILER_LAUNCHER={options.launcher}", "-DCMAKE_BUILD_TYPE=Release"]
        if options.way == "installed":
            for component in ("client", "engine"):
                run(options.cmake, "--install", options.build, "--prefix", prefix, "--component", component)
            left = [path for path in prefix.rglob("*") if path.suffix == ".cmake" and options.build in path.read_text()]
            if left:
                sys.exit(f"{left[0]} points into the build: nobody else has that")
            paths, programs = f"{prefix};{options.prefix_path}", ("use_client", "use_engine", "use_import")
        else:
            arguments.append(f"-DAXION_SOURCE={options.source}")
            paths, programs = options.prefix_path, ("use_import",)
        run(options.cmake, "-S", CONSUMER, "-B", build, *arguments, f"-DCMAKE_PREFIX_PATH={paths}")
        run(options.cmake, "--build", build, "--parallel", os.cpu_count(), "--target", *programs)
        for program in programs:
            run(build / program)


if __name__ == "__main__":
    main()
