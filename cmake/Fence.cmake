# SPDX-License-Identifier: Apache-2.0
#
# Fenced writes into what people write to. The rule, the file and what all databases share are in the library itself and need nothing; each database is a
# component and a small library of its own, so that who fences SQLite does not link libpq.

# cremone_fence(NAME HEADER LIBRARY [SOURCE...]): component fence_NAME, from src/fence/NAME.cpp and the sources named, on a C library that has this
# header, and this name for the linker.
function(cremone_fence name header library)
  string(TOUPPER ${name} upper)
  find_path(CREMONE_FENCE_${upper}_INCLUDE ${header} PATH_SUFFIXES postgresql mariadb REQUIRED)
  find_library(CREMONE_FENCE_${upper}_LIBRARY ${library} REQUIRED)
  set(target cremone_fence_${name})
  add_library(${target} src/fence/${name}.cpp ${ARGN})
  add_library(cremone::fence_${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME fence_${name} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION 0 CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  target_include_directories(${target} PRIVATE src)
  target_include_directories(${target} SYSTEM PRIVATE ${CREMONE_FENCE_${upper}_INCLUDE})
  target_link_libraries(${target} PUBLIC cremone PRIVATE ${library} $<BUILD_INTERFACE:cremone_warnings>)
  list(APPEND cremone_components fence_${name})
  set(cremone_components ${cremone_components} PARENT_SCOPE)
  set(cremone_fence_${name}_needs ${library} PARENT_SCOPE)
endfunction()

if(CREMONE_SQLITE)
  cremone_fence(sqlite sqlite3.h sqlite3)
endif()
if(CREMONE_POSTGRES)
  cremone_fence(postgres libpq-fe.h pq)
endif()
if(CREMONE_MARIADB)
  cremone_fence(mariadb mysql.h mariadb)
endif()
if(CREMONE_REDIS)
  cremone_fence(redis hiredis/hiredis.h hiredis
    src/fence/redis_errors.cpp src/fence/redis_exchange.cpp src/fence/redis_scripts.cpp)

  # A line `-- include NAME` becomes the text of lua/parts/NAME.lua. What comes out are whole scripts, which are installed too: users of other
  # languages load them as they are.
  set(cremone_fence_lua)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/fence/lua/*.lua)
  file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/fence/lua/parts/*.lua)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts} ${parts})
  foreach(script IN LISTS scripts)
    file(READ ${script} text)
    foreach(part IN LISTS parts)
      get_filename_component(stem ${part} NAME_WE)
      file(READ ${part} inner)
      string(REPLACE "-- include ${stem}\n" "${inner}" text "${text}")
    endforeach()
    get_filename_component(name ${script} NAME)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/fence_lua/${name} CONTENT "${text}" @ONLY)
    list(APPEND cremone_fence_lua ${PROJECT_BINARY_DIR}/fence_lua/${name})
  endforeach()
  cremone_embed(cremone_fence_redis fence/fence_lua.hpp cremone::fence::lua ${cremone_fence_lua})
  if(CREMONE_INSTALL)
    install(FILES ${cremone_fence_lua} DESTINATION ${CMAKE_INSTALL_DATADIR}/cremone/fence)
  endif()
endif()

# From a URL to any of them, for the command line tool; not installed.
if(CREMONE_CLI)
  add_library(cremone_fence_open STATIC src/fence/open.cpp)
  target_include_directories(cremone_fence_open PRIVATE src)
  target_link_libraries(cremone_fence_open PUBLIC cremone PRIVATE cremone_warnings)
  foreach(name sqlite postgres mariadb redis)
    string(TOUPPER ${name} upper)
    if(TARGET cremone_fence_${name})
      target_sources(cremone_fence_open PRIVATE src/fence/open_${name}.cpp)
      target_compile_definitions(cremone_fence_open PRIVATE CREMONE_WITH_${upper})
      target_include_directories(cremone_fence_open SYSTEM PRIVATE ${CREMONE_FENCE_${upper}_INCLUDE})
      target_link_libraries(cremone_fence_open PRIVATE cremone_fence_${name} ${CREMONE_FENCE_${upper}_LIBRARY})
    endif()
  endforeach()
  if(CREMONE_REDIS)
    target_sources(cremone_fence_open PRIVATE src/fence/redis_line.cpp)
  endif()
endif()
