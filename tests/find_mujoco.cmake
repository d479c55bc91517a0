# C MuJoCo as the imported target axion::mujoco, where it is found. Debian's own package configuration names a directory
# that Debian does not ship, so its header and library are looked for by themselves.
if(NOT TARGET axion::mujoco)
  find_path(AXION_MUJOCO_INCLUDE mujoco/mujoco.h)
  find_library(AXION_MUJOCO_LIBRARY mujoco)
  if(AXION_MUJOCO_INCLUDE AND AXION_MUJOCO_LIBRARY)
    add_library(axion::mujoco UNKNOWN IMPORTED GLOBAL)
    set_target_properties(axion::mujoco PROPERTIES
        IMPORTED_LOCATION "${AXION_MUJOCO_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${AXION_MUJOCO_INCLUDE}")
  else()
    message(STATUS "C MuJoCo was not found: the tests that compare with it are not built")
  endif()
endif()
