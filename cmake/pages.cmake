# axion_make_pages(<program>): its man page, and what shells complete its command lines with, in ${PROJECT_BINARY_DIR}/share, of what
# the program says of itself (tools/man/make_pages.py) once it is built. Left out without Python, and where programs that
# are built do not run here.
find_package(Python3 3.9 COMPONENTS Interpreter)

function(axion_make_pages program)
  if(NOT Python3_FOUND OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  add_custom_command(TARGET ${program} POST_BUILD
      COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/man/make_pages.py" "$<TARGET_FILE:${program}>"
              "${PROJECT_BINARY_DIR}/share"
      VERBATIM)
endfunction()
