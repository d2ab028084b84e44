# SPDX-License-Identifier: Apache-2.0
#
# cmake -D COMPILER=… -D "FLAGS=…" -D SOURCE=… -D WRITE=… -P compile_test.cmake: the write compiles with a token, and with nothing else in
# its place. That it compiles with one shows that it is the token, and not something else, on account of which the others do not.
cmake_minimum_required(VERSION 3.25)

# compiles(CASE): sets `failed` and `said`.
function(compiles case)
  set(define)
  if(case)
    set(define -D${case})
  endif()
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${FLAGS} -D${WRITE} ${define} ${SOURCE}
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(failed ${result} PARENT_SCOPE)
  set(said "${out}" PARENT_SCOPE)
endfunction()

compiles("")
if(failed)
  message(FATAL_ERROR "${WRITE} does not compile with a fence token either:\n${said}")
endif()
foreach(case WITH_A_READ_TOKEN WITH_A_NUMBER WITH_AN_OWNER WITH_THE_NAME_OF_THE_LOCK WITHOUT_A_TOKEN)
  compiles(${case})
  if(NOT failed)
    message(FATAL_ERROR "${WRITE} compiles ${case}")
  endif()
  if(NOT said MATCHES "no matching|cannot convert|could not convert|too few arguments|no viable|no known conversion")
    message(FATAL_ERROR "${WRITE} does not compile ${case}, but for another reason:\n${said}")
  endif()
endforeach()
