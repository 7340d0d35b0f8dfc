# Most of a fresh build went into reading the same headers again for every file. With LOCKKEEPER_UNITY
# the files of a target are compiled as one; the dev preset compiles each alone, so that none leans on
# another's includes. Not these: two files of the tests give one name to different things, and of the
# workflow dialect the library takes the files that need no planner (src/embed).
set(lockkeeper_singly key_test lockkeeper_dialect_workflow)

function(lockkeeper_together target)
  if(LOCKKEEPER_UNITY AND NOT target IN_LIST lockkeeper_singly)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # An anonymous namespace of an included .cc is as private as before.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Most tests wait for what they test, and compiling them took most of a fresh build. A few compute:
# all of such a program is compiled for speed, because of a template that several objects instantiate
# the linker takes the first, which is the test's own.
set(lockkeeper_lightly $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
set(lockkeeper_hard $<$<CONFIG:Release>:-O3> $<$<CONFIG:RelWithDebInfo>:-O1>)

# The rooms that every lock passes through are compiled for speed. The others mostly put texts
# together or wait, and optimizing them was a seventh of a fresh build.
set(lockkeeper_fast base key kv kv_lmdb kv_memory host core service service_local)

# What is shipped is compiled for size there: the compiler's own time does not matter then, and a
# program of half the size is in memory sooner.
set(lockkeeper_slow $<$<CONFIG:Release>:$<IF:$<BOOL:${LOCKKEEPER_RELEASE}>,-Os,-O1>>)

# A room is a folder of src/: one idea, one library, with exactly the links that the house plan
# allows. Its unit tests sit beside the code and become one test program.
#
#   lockkeeper_room(NAME key SOURCES a.cc b.cc LINKS base DEPS dep_utf8proc TESTS a_test.cc)
#
# LINKS are other rooms, DEPS third-party targets, TEST_LINKS further libraries of the tests alone.
function(lockkeeper_room)
  cmake_parse_arguments(ROOM "" "NAME" "SOURCES;LINKS;DEPS;TESTS;TEST_LINKS" ${ARGN})
  set(target lockkeeper_${ROOM_NAME})
  add_library(${target} STATIC ${ROOM_SOURCES})
  lockkeeper_together(${target})
  set_property(GLOBAL APPEND PROPERTY LOCKKEEPER_ROOMS ${target})
  target_compile_options(${target} PRIVATE ${lockkeeper_sections})
  if(NOT ROOM_NAME IN_LIST lockkeeper_fast)
    target_compile_options(${target} PRIVATE ${lockkeeper_slow})
  endif()
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ROOM_LINKS PREPEND lockkeeper_)
  target_link_libraries(${target} PUBLIC lockkeeper_flags ${ROOM_LINKS} PRIVATE ${ROOM_DEPS})
  if(LOCKKEEPER_BUILD_TESTS AND ROOM_TESTS)
    lockkeeper_test(NAME ${ROOM_NAME}_test SOURCES ${ROOM_TESTS} LINKS ${target} ${ROOM_TEST_LINKS}
                    LABEL unit)
    if(NOT ROOM_NAME STREQUAL "key") # its oracle computes
      target_compile_options(${ROOM_NAME}_test PRIVATE ${lockkeeper_lightly})
    endif()
  endif()
endfunction()

# Nearly all of the time that a test takes to compile goes into these. Not in the dev preset: each
# file includes what it uses.
function(lockkeeper_read_headers_once target)
  if(NOT LOCKKEEPER_UNITY)
    return()
  endif()
  if(NOT TARGET lockkeeper_test_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cc "")
    add_library(lockkeeper_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_compile_options(lockkeeper_test_headers PRIVATE ${lockkeeper_lightly})
    target_link_libraries(lockkeeper_test_headers PRIVATE lockkeeper_flags GTest::gtest GTest::gmock)
    target_precompile_headers(lockkeeper_test_headers PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <algorithm> <chrono> <expected>
      <filesystem> <functional> <map> <optional> <random> <ranges> <set> <string> <thread> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM lockkeeper_test_headers)
endfunction()

# One gtest program, one ctest entry per program; LABEL is its speed class.
function(lockkeeper_test)
  cmake_parse_arguments(T "" "NAME;LABEL;TIMEOUT" "SOURCES;LINKS;ENVIRONMENT" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(LOCKKEEPER_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 4")
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  lockkeeper_together(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE ${T_LINKS} lockkeeper_flags GTest::gtest GTest::gmock
                        GTest::gtest_main)
  if(NOT T_LABEL MATCHES "^(sim|linear)$" AND NOT T_NAME STREQUAL "key_test")
    lockkeeper_read_headers_once(${T_NAME})
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} --gtest_brief=1)
  # The longest start first, so that none of them runs alone at the end.
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT}
                       COST ${T_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${T_ENVIRONMENT}")
endfunction()

# The same tests again, as NAME_through_hub: a hub keeps the locks of every stage
# (tests/support/stage.h). Those of things that stay on one machine skip themselves, with the reason.
# LABEL long: not in the usual run.
function(lockkeeper_through_hub)
  cmake_parse_arguments(T "" "LABEL" "TESTS" ${ARGN})
  foreach(test ${T_TESTS})
    add_test(NAME ${test}_through_hub COMMAND ${test} --gtest_brief=1)
    get_test_property(${test} TIMEOUT timeout)
    set_tests_properties(${test}_through_hub PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${timeout}
                         COST ${timeout} SKIP_RETURN_CODE 77
                         ENVIRONMENT LOCKKEEPER_TEST_THROUGH_HUB=1)
  endforeach()
endfunction()
