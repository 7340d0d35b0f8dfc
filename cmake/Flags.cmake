# Compiler flags live on interface targets, never in global variables.
add_library(lockkeeper_flags INTERFACE)
target_compile_options(lockkeeper_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wextra-semi
  -fstack-protector-strong)
# Compiled as one, a short name in a function may be that of something in another file.
if(NOT LOCKKEEPER_UNITY)
  target_compile_options(lockkeeper_flags INTERFACE -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lockkeeper_flags INTERFACE -Wshadow=local)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in string concatenation that are not there (GCC bug 105651), and
  # shared pointers used before they are set in temporaries that it moves (bug 105562 and its like).
  target_compile_options(lockkeeper_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What libstdc++ 12 does inside std::stable_sort, and a text in an assertion.
  target_compile_options(lockkeeper_flags INTERFACE -Wno-deprecated-declarations
                         -Wno-string-conversion)
endif()
# No path of the machine that built it, in messages and in debug information. With that, ccache can use
# what another clone has compiled.
target_compile_options(lockkeeper_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_compile_definitions(lockkeeper_flags INTERFACE _GLIBCXX_ASSERTIONS _FILE_OFFSET_BITS=64)
if(LOCKKEEPER_RELEASE)
  # The linker compiles, in a number of parts that does not depend on the machine's processors, so
  # that each build gives the same bytes. Lines for stack traces go into a file of their own.
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  target_compile_options(lockkeeper_flags INTERFACE -g1)
  target_link_options(lockkeeper_flags INTERFACE -g1 -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LOCKKEEPER_QUICK)
  # What is not used is left out, and what a hook runs lies together (packaging/start-order).
  set(lockkeeper_sections -ffunction-sections)
  target_link_options(lockkeeper_flags INTERFACE ${lockkeeper_sections}) # LTO: the linker compiles
endif()
if(LOCKKEEPER_WERROR)
  target_compile_options(lockkeeper_flags INTERFACE -Werror)
endif()
if(LOCKKEEPER_SANITIZE)
  target_compile_options(lockkeeper_flags INTERFACE
    -fsanitize=${LOCKKEEPER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lockkeeper_flags INTERFACE -fsanitize=${LOCKKEEPER_SANITIZE})
endif()
if(LOCKKEEPER_SANITIZE STREQUAL "thread")
  # TSan does not know fences, and g++ says so. Asio's guard nothing that a mutex does not guard too.
  target_compile_definitions(lockkeeper_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
if(LOCKKEEPER_FUZZ)
  target_compile_options(lockkeeper_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
