# The names by which other projects link the libraries, in a build (add_subdirectory, FetchContent) and once installed
# (find_package(axion)): axion::client, axion::engine, axion::import and what these need; to what is not built by CMake
# pkg-config names the client `axion`. `cmake --install` puts
# programs, libraries and headers of all rooms that were built into the components server, client, engine and bench.
set(axion_engine_targets
    axion_base axion_lanes axion_math axion_team axion_model axion_collide axion_constraints axion_laws axion_problem axion_tree
    axion_contact_solver axion_reference axion_newton axion_velocity_sync axion_readout axion_step axion_world
    axion_gradient axion_backend
    axion_engine axion_import axion_cuda_kernels axion_tinyxml2)
set(axion_client_targets axion_proto axion_client)

function(axion_name_targets)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      string(REPLACE "axion_" "" name ${target})
      add_library(axion::${name} ALIAS ${target})
      set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    endif()
  endforeach()
endfunction()
axion_name_targets(${axion_engine_targets} ${axion_client_targets})

if(NOT AXION_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(axion_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/axion")

function(axion_install_targets component)
  set(present)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      list(APPEND present ${target})
    endif()
  endforeach()
  install(TARGETS ${present} EXPORT axion_${component}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
  install(EXPORT axion_${component} NAMESPACE axion:: FILE axion_${component}.cmake
          DESTINATION "${axion_package_dir}" COMPONENT ${component})
  install(FILES "${PROJECT_BINARY_DIR}/axionConfig.cmake" "${PROJECT_BINARY_DIR}/axionConfigVersion.cmake"
          DESTINATION "${axion_package_dir}" COMPONENT ${component})
endfunction()

axion_install_targets(engine ${axion_engine_targets})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/engine" DESTINATION include/axion COMPONENT engine
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
if(TARGET axion_client)
  axion_install_targets(client ${axion_client_targets})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/clients/cpp" DESTINATION include/axion/clients COMPONENT client
          FILES_MATCHING PATTERN "*.hpp")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/generated/" DESTINATION include/axion COMPONENT client
          FILES_MATCHING PATTERN "*.pb.h")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/axion" DESTINATION share/axion/proto COMPONENT client
          FILES_MATCHING PATTERN "*.proto")
  file(RELATIVE_PATH axion_prefix_from_pkgconfig "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/axion.pc.in" "${PROJECT_BINARY_DIR}/axion.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/axion.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT client)
endif()
# Where no Python has made them (cmake/pages.cmake) there are no pages.
function(axion_install_pages component)
  foreach(page IN LISTS ARGN)
    get_filename_component(folder "${page}" DIRECTORY)
    install(FILES "${PROJECT_BINARY_DIR}/share/${page}" DESTINATION "share/${folder}" COMPONENT ${component} OPTIONAL)
  endforeach()
endfunction()
set(axion_tool_pages man/man1/axion.1 bash-completion/completions/axion fish/vendor_completions.d/axion.fish)
if(TARGET axion)
  install(TARGETS axion RUNTIME COMPONENT client OPTIONAL)  # who builds the library alone installs it alone
  axion_install_pages(client ${axion_tool_pages})
endif()
if(TARGET axiond)
  axion_install_pages(server man/man8/axiond.8)
  install(TARGETS axiond RUNTIME COMPONENT server)
  install(FILES "${PROJECT_SOURCE_DIR}/deploy/debian/axiond.service" DESTINATION lib/systemd/system COMPONENT server)
endif()
if(TARGET axion-bench)
  install(TARGETS axion-bench RUNTIME COMPONENT bench)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/axionConfig.cmake.in" "${PROJECT_BINARY_DIR}/axionConfig.cmake"
    INSTALL_DESTINATION "${axion_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/axionConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

# `cpack --config build/release/CPackConfig.cmake` makes a Debian package of the server, with its unit, and one of the
# command line tool. The libraries that they need are found by their symbols.
if(TARGET axion AND TARGET axiond)
  install(TARGETS axion RUNTIME COMPONENT tool EXCLUDE_FROM_ALL)
  axion_install_pages(tool ${axion_tool_pages})
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME axion)
  set(CPACK_PACKAGE_CONTACT "Axion Server")
  set(CPACK_PACKAGE_VENDOR "Axion Server")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulation of many worlds of rigid bodies, served over gRPC")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL server tool)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_SERVER_PACKAGE_NAME axion-server)
  set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME axion-tool)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
  set(CPACK_COMPONENT_SERVER_DESCRIPTION "The server axiond and its systemd unit.")
  set(CPACK_COMPONENT_TOOL_DESCRIPTION "The command line tool axion.")
  include(CPack)
endif()
