#!/bin/sh
# Compiles with clang++ what CMake would compile with g++: with_clang.sh CCACHE CLANG GXX ARGUMENT..., where CCACHE is
# `env` if there is none. The objects fit together: both compilers follow one ABI and take one standard library.
ccache=$1 clang=$2
shift 3
for argument; do
  case $argument in
    *.gch) rm -f "$argument" ;;  # which is made anew, and clang++ would read the old one for the header that it is of
  esac
done
for argument; do  # but for what g++ alone takes, and what precompiled headers would all have to be made with
  shift
  case $argument in
    -fno-tree-loop-distribute-patterns | --param=* | -pthread) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
# Precompiled headers have no times of files in them, which differ where ccache brings them back.
exec "$ccache" "$clang" "$@" -Xclang -fno-pch-timestamp -Wno-unknown-warning-option -Wno-unknown-pragmas \
  -Wno-ignored-optimization-argument
