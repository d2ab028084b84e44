# SPDX-License-Identifier: Apache-2.0
#
# Turns CREMONE_SANITIZE into compiler and linker flags, carried by the target `cremone_sanitizers`.
# It is for this tree's own targets and is never installed; empty, which is the default, it carries nothing.

set(CREMONE_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. \"address;undefined\" or \"thread\"")

add_library(cremone_sanitizers INTERFACE)

if(CREMONE_SANITIZE)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
    message(FATAL_ERROR "CREMONE_SANITIZE needs GCC or clang, not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  if("thread" IN_LIST CREMONE_SANITIZE AND "address" IN_LIST CREMONE_SANITIZE)
    message(FATAL_ERROR "CREMONE_SANITIZE: thread and address cannot be in one build")
  endif()

  list(JOIN CREMONE_SANITIZE "," cremone_sanitize_list)
  set(cremone_sanitize_flags "-fsanitize=${cremone_sanitize_list}" -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND "undefined" IN_LIST CREMONE_SANITIZE)
    # Asio's coroutines call through a function pointer of another type, and clang reports it.
    list(APPEND cremone_sanitize_flags -fno-sanitize=function)
  endif()

  target_compile_options(cremone_sanitizers INTERFACE ${cremone_sanitize_flags} -fno-omit-frame-pointer)
  target_link_options(cremone_sanitizers INTERFACE ${cremone_sanitize_flags})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The checks GCC inserts hide from it that a variable is set; its manual warns of the false alarms.
    target_compile_options(cremone_sanitizers INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
