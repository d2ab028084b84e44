# SPDX-License-Identifier: Apache-2.0
#
# Installs cremone.pc, for those who build without CMake. It names its place relative to itself, so that a tree that
# was moved, or installed with `cmake --install --prefix`, is still found. Users add -std=c++20 themselves, and
# `pkg-config --static` where this build made a static library, which is the default.
set(cremone_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(cremone_pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(cremone_pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH cremone_pc_up /${cremone_pc_dir} /)
  string(REGEX REPLACE "/$" "" cremone_pc_up "${cremone_pc_up}")
  set(cremone_pc_prefix "\${pcfiledir}/${cremone_pc_up}")
  set(cremone_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(cremone_pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(cremone_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# What each store's component needs from others, by the names of their .pc files.
set(cremone_pc_requires)
if("sqlite" IN_LIST cremone_components)
  list(APPEND cremone_pc_requires sqlite3)
endif()
if("redis" IN_LIST cremone_components)
  list(APPEND cremone_pc_requires hiredis openssl)
endif()
list(JOIN cremone_pc_requires ", " cremone_pc_requires)

# Boost has no .pc file. Where the compiler does not find it by itself, our headers need its path.
set(cremone_pc_boost)
foreach(directory IN LISTS Boost_INCLUDE_DIRS)
  if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND cremone_pc_boost " -I${directory}")
  endif()
endforeach()

configure_file(cmake/cremone.pc.in ${CMAKE_CURRENT_BINARY_DIR}/cremone.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cremone.pc DESTINATION ${cremone_pc_dir})

# Each fence has a file of its own. A program that fences writes uses the database's C library
# itself, so the file gives that library's paths and name. It does not require the C library's own
# .pc file: with --static, Debian's libpq.pc requires libraries that libpq-dev does not install.
foreach(component IN LISTS cremone_components)
  if(TARGET cremone_${component})
    string(REPLACE _ - cremone_pc_name cremone-${component})
    set(cremone_pc_library cremone_${component})
    set(cremone_pc_component ${component})
    set(cremone_pc_needs -l${cremone_${component}_needs})
    string(TOUPPER ${component} upper)
    set(cremone_pc_cflags)
    if(NOT CREMONE_${upper}_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      set(cremone_pc_cflags -I${CREMONE_${upper}_INCLUDE})
    endif()
    get_filename_component(directory ${CREMONE_${upper}_LIBRARY} DIRECTORY)
    if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      string(PREPEND cremone_pc_needs "-L${directory} ")
    endif()
    configure_file(cmake/cremone-component.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${cremone_pc_name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${cremone_pc_name}.pc DESTINATION ${cremone_pc_dir})
  endif()
endforeach()
