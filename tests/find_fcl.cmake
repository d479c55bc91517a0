# axion::fcl, the Flexible Collision Library, where it is installed (Debian: libfcl-dev). A reference for tests only.
find_package(fcl QUIET CONFIG)
if(TARGET fcl AND NOT TARGET axion::fcl)
  # Its headers are not held to our warnings.
  add_library(axion_fcl INTERFACE)
  target_include_directories(axion_fcl SYSTEM INTERFACE $<TARGET_PROPERTY:fcl,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(axion_fcl INTERFACE fcl ccd)
  # Their own assertions are about their own limits, which a bracket of the distance does not depend on.
  target_compile_definitions(axion_fcl INTERFACE NDEBUG)
  add_library(axion::fcl ALIAS axion_fcl)
endif()
