# In a build that is thrown away: a test takes clang++ half of the time that it takes g++, which compiles what users
# run.
find_program(AXION_CLANG NAMES clang++-14 clang++)
if(AXION_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_axion_cache env)
  if(AXION_CCACHE)
    set(_axion_cache "${AXION_CCACHE}")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_CURRENT_LIST_DIR}/with_clang.sh" "${_axion_cache}" "${AXION_CLANG}")
endif()
