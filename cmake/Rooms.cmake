# Most of a fresh build went into reading the same headers again for every file. With LOCKKEEPER_UNITY
# the files of a target are compiled several at a time; the dev preset compiles each alone, so that
# none leans on another's includes. Not these: in some the files give one name to different things,
# and of the workflow dialect the library takes the files that need no planner (src/embed).
set(lockkeeper_singly lockkeeper_key key_test core_test lockkeeper_mcp_locks
                      lockkeeper_dialect_workflow)

function(lockkeeper_together target)
  if(LOCKKEEPER_UNITY AND NOT target IN_LIST lockkeeper_singly)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # An anonymous namespace of an included .cc is as private as before.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

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
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ROOM_LINKS PREPEND lockkeeper_)
  target_link_libraries(${target} PUBLIC lockkeeper_flags ${ROOM_LINKS} PRIVATE ${ROOM_DEPS})
  if(LOCKKEEPER_BUILD_TESTS AND ROOM_TESTS)
    lockkeeper_test(NAME ${ROOM_NAME}_test SOURCES ${ROOM_TESTS} LINKS ${target} ${ROOM_TEST_LINKS}
                    LABEL unit)
  endif()
endfunction()

# One gtest program, one ctest entry per program; LABEL is its speed class.
function(lockkeeper_test)
  cmake_parse_arguments(T "" "NAME;LABEL;TIMEOUT" "SOURCES;LINKS;ENVIRONMENT" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(LOCKKEEPER_SANITIZE)
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 4")
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  lockkeeper_together(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE ${T_LINKS} lockkeeper_flags GTest::gtest GTest::gmock
                        GTest::gtest_main)
  # Most tests wait for what they test; compiling them hard took most of a fresh build. The
  # simulator and the checkers are hot themselves.
  if(NOT T_LABEL MATCHES "^(sim|linear)$")
    target_compile_options(${T_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} --gtest_brief=1)
  # The longest start first, so that none of them runs alone at the end.
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT}
                       COST ${T_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${T_ENVIRONMENT}")
endfunction()
