# SPDX-License-Identifier: Apache-2.0
#
# Installs the library, its headers, and what find_package(cremone [COMPONENTS memory …]) and pkg-config need.
include(CMakePackageConfigHelpers)

set(cremone_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cremone)

install(TARGETS cremone EXPORT cremone-targets)
install(DIRECTORY include/cremone TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(EXPORT cremone-targets NAMESPACE cremone:: DESTINATION ${cremone_package_dir})
foreach(component IN LISTS cremone_components)
  if(TARGET cremone_${component})  # a library of its own
    install(TARGETS cremone_${component} EXPORT cremone-${component}-targets)
    install(EXPORT cremone-${component}-targets NAMESPACE cremone:: DESTINATION ${cremone_package_dir})
  endif()
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

list(JOIN cremone_components ", " cremone_components_text)
configure_package_config_file(cmake/cremone-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/cremone-config.cmake
  INSTALL_DESTINATION ${cremone_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/cremone-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/cremone-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/cremone-config-version.cmake
  DESTINATION ${cremone_package_dir})

include(cmake/PkgConfig.cmake)
