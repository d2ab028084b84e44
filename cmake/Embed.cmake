# SPDX-License-Identifier: Apache-2.0
#
# Programs in other languages (SQL, Lua) are files of their own, and become string constants in a generated header.

# cremone_embed(TARGET HEADER NAMESPACE FILE...): `#include "HEADER"` in TARGET's sources gives NAMESPACE::stem, one
# `const char[]` per file.
function(cremone_embed target header namespace)
  set(text "// Made by cmake/Embed.cmake.\n#pragma once\n\nnamespace ${namespace} {\n")
  foreach(file IN LISTS ARGN)
    file(READ ${file} content)
    get_filename_component(stem ${file} NAME_WE)
    string(APPEND text "\ninline constexpr char ${stem}[] = R\"embedded(${content})embedded\";\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  string(APPEND text "\n}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${header} CONTENT "${text}" @ONLY)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded)
endfunction()
