# SPDX-License-Identifier: Apache-2.0
#
# One step of the package's tests, run by CTest: cmake -D STEP=… -P package_test.cmake. What must be installed is said
# by tests/package/CMakeLists.txt; this file does it and looks.
cmake_minimum_required(VERSION 3.25)

set(prefix ${PLACE}/installed)
set(program ${PLACE}/${STEP}/${EXAMPLE})
if(SHARED)
  set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
endif()

# run(COMMAND...): must succeed; what it said is in `said`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${failed}:\n${out}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected to read: ${pattern}\nbut it said:\n${text}")
  endif()
endfunction()

# flags_of(MODULE...): sets `flags` to what a compiler needs, from pkg-config and nothing else.
function(flags_of)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  set(static --static)
  if(SHARED)
    set(static)
  endif()
  run(${PKG_CONFIG} --cflags --libs ${static} ${ARGN})
  string(STRIP "${said}" out)
  separate_arguments(out UNIX_COMMAND "${out}")
  set(flags ${out} PARENT_SCOPE)
endfunction()

# Configuring the consumer, without the components that it is to ask for.
set(configure ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${program} -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${prefix})
file(REMOVE_RECURSE ${program})

if(STEP STREQUAL install)
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

elseif(STEP STREQUAL find_package)
  list(JOIN COMPONENTS " " asked_for)
  run(${configure} -D "COMPONENTS=${asked_for}")
  run(${CMAKE_COMMAND} --build ${program})
  run(${program}/consumer)
  expect("${said}" "token [0-9]+")
  if(EXISTS ${program}/fence)
    run(${program}/fence)
    expect("${said}" "refused 4")
  endif()

elseif(STEP STREQUAL missing_component)
  execute_process(COMMAND ${configure} -D COMPONENTS=telepathy
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed)
    message(FATAL_ERROR "a component that does not exist was found:\n${said}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " said "${said}")  # CMake breaks lines where it likes
  list(JOIN COMPONENTS ", " has)
  expect("${said}" "this cremone was built without 'telepathy'. it has: ${has}")

elseif(STEP STREQUAL optional_component)
  run(${configure} -D OPTIONAL=telepathy)
  expect("${said}" "telepathy: no")

elseif(STEP STREQUAL pkg_config)
  flags_of(cremone)
  file(MAKE_DIRECTORY ${program})
  run(${COMPILER} -std=c++20 ${SOURCE}/consumer/main.cpp -o ${program}/consumer ${flags})
  run(${program}/consumer)
  expect("${said}" "token [0-9]+")
  if("fence_postgres" IN_LIST COMPONENTS AND "fence_mariadb" IN_LIST COMPONENTS)
    flags_of(cremone-fence-sqlite cremone-fence-postgres cremone-fence-mariadb cremone-fence-redis)
    run(${COMPILER} -std=c++20 ${SOURCE}/consumer/fence.cpp -o ${program}/fence ${flags})
    run(${program}/fence)
    expect("${said}" "refused 4")
  endif()
  run(${PKG_CONFIG} --modversion cremone)
  expect("${said}" "^[0-9]+\\.[0-9]+\\.[0-9]+")

elseif(STEP STREQUAL example)
  flags_of(${MODULE})
  file(MAKE_DIRECTORY ${program}/state)
  set(ENV{CREMONE_STATE_DIR} ${program}/state)
  run(${COMPILER} -std=c++20 ${EXAMPLES}/${EXAMPLE}.cpp -o ${program}/${EXAMPLE} ${flags})
  run(${WITH_SERVER} ${SERVER} ${program}/${EXAMPLE})
  if(SERVER)
    # Without its server the example reports that, and does not abort.
    foreach(begin REDIS_ PG MYSQL_ MYSQL_TCP_)
      set(ENV{${begin}HOST} 127.0.0.1)
      set(ENV{${begin}PORT} 1)
    endforeach()
    execute_process(COMMAND ${program}/${EXAMPLE}
      RESULT_VARIABLE ended OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT ended EQUAL 1)
      message(FATAL_ERROR "${EXAMPLE} without a server ended with ${ended}:\n${said}")
    endif()
    expect("${said}" "refused|connect")
  endif()

elseif(STEP STREQUAL script)
  file(MAKE_DIRECTORY ${program}/state)
  set(ENV{CREMONE_STATE_DIR} ${program}/state)
  set(ENV{PATH} ${prefix}/bin:$ENV{PATH})
  run(${EXAMPLES}/${EXAMPLE}.sh ${program}/report.txt)

else()
  message(FATAL_ERROR "there is no step '${STEP}'")
endif()
