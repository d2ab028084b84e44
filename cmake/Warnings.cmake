# SPDX-License-Identifier: Apache-2.0
#
# The warnings this tree is compiled with, carried by the target `cremone_warnings`.
# It is never exported or installed: which warnings a user of the library wants is the user's affair.

option(CREMONE_WERROR "Treat compiler warnings as errors" OFF)

add_library(cremone_warnings INTERFACE)

if(CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  target_compile_options(cremone_warnings INTERFACE
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wold-style-cast
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wcast-align
    -Wextra-semi
    -Wimplicit-fallthrough
    $<$<BOOL:${CREMONE_WERROR}>:-Werror>)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(cremone_warnings INTERFACE
    # GCC's version follows inlined code into Boost and the standard library and reports what cannot happen.
    -Wnull-dereference
    # C++20 allows a variadic macro without variadic arguments; clang 14 still calls that an extension.
    # GoogleTest's INSTANTIATE_TEST_SUITE_P and TYPED_TEST_SUITE rely on it.
    -Wno-gnu-zero-variadic-macro-arguments)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about `"literal" + std::string` when it optimises (GCC bugs 105651 and 105329).
  target_compile_options(cremone_warnings INTERFACE -Wno-restrict)
endif()
