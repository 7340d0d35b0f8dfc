# For another architecture, by Debian's cross compiler. LOCKKEEPER_CROSS is Debian's name for it. The
# libraries are Debian's packages for it, which packaging/sysroot has unpacked; the headers of those
# that have only headers are the ones of this machine. Works in both directions.
set(LOCKKEEPER_CROSS "" CACHE STRING "arm64 or amd64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOCKKEEPER_CROSS)
if(LOCKKEEPER_CROSS STREQUAL "arm64")
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
elseif(LOCKKEEPER_CROSS STREQUAL "amd64")
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
else()
  message(FATAL_ERROR "LOCKKEEPER_CROSS is '${LOCKKEEPER_CROSS}', not arm64 or amd64")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_INSTALL_LIBDIR lib/${triple} CACHE PATH "Debian's, as in a build on that architecture")

get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${LOCKKEEPER_CROSS} ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# Where a package has headers that differ between architectures.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${sysroot}/usr/include/${triple}")

# Runs what is built, such as the program that prints its own manual pages.
find_program(emulator NAMES qemu-${CMAKE_SYSTEM_PROCESSOR} qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
if(emulator)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
endif()
