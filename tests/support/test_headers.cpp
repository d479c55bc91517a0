// Owns the precompiled headers of the tests (tests/CMakeLists.txt); has nothing of its own.
