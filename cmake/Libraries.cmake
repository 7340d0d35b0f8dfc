# Third-party libraries, all from Debian. A static archive is taken where there is one, because a
# hook is a process start and every shared library costs.
#
# Where ./dev build has unpacked those that are not installed. A package may have headers that differ
# between architectures.
set(unpacked ${PROJECT_SOURCE_DIR}/build/libraries/usr)
if(EXISTS ${unpacked} AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND CMAKE_PREFIX_PATH ${unpacked})
  if(EXISTS ${unpacked}/include/${CMAKE_LIBRARY_ARCHITECTURE})
    include_directories(SYSTEM ${unpacked}/include/${CMAKE_LIBRARY_ARCHITECTURE})
  endif()
endif()
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

function(lockkeeper_archive target header archive shared)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  if(LOCKKEEPER_STATIC)
    find_library(${target}_LIBRARY NAMES ${archive} ${shared} REQUIRED)
  else()
    find_library(${target}_LIBRARY NAMES ${shared} REQUIRED)
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
  target_link_libraries(${target} INTERFACE ${${target}_LIBRARY})
endfunction()

lockkeeper_archive(dep_lmdb lmdb.h liblmdb.a lmdb)
lockkeeper_archive(dep_utf8proc utf8proc.h libutf8proc.a utf8proc)
# SHA-256. Of what Debian has as an archive the lightest: one small object, where libcrypto brings
# start-up code of its own.
lockkeeper_archive(dep_nettle nettle/sha2.h libnettle.a nettle)

lockkeeper_archive(dep_yaml yaml.h libyaml.a yaml)
# The contents of snapshots.
lockkeeper_archive(dep_zstd zstd.h libzstd.a zstd)

function(lockkeeper_headers target header)
  find_path(${target}_INCLUDE ${header} HINTS ${ARGN} REQUIRED)
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE})
endfunction()

# fmt has no archive in Debian; compiled in from its headers.
lockkeeper_headers(dep_fmt fmt/format.h)
target_compile_definitions(dep_fmt INTERFACE FMT_HEADER_ONLY)
lockkeeper_headers(dep_xxhash xxhash.h)
lockkeeper_headers(dep_toml toml++/toml.h)
# Only tests use it; ./dev puts it into build/.
if(LOCKKEEPER_BUILD_TESTS OR LOCKKEEPER_FUZZ)
  lockkeeper_headers(dep_valijson valijson/schema.hpp
    ${PROJECT_SOURCE_DIR}/build/valijson/usr/include)
endif()
# Asio and Beast, headers alone. Concepts of the library are not wanted, and its separate compilation
# would only move the cost.
lockkeeper_headers(dep_boost boost/beast/http.hpp)
target_compile_definitions(dep_boost INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(dep_boost INTERFACE Threads::Threads)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(dep_boost INTERFACE -fcoroutines)
endif()

# TLS of the hub. Nothing of it runs before the first use.
lockkeeper_archive(dep_crypto openssl/crypto.h libcrypto.a crypto)
lockkeeper_archive(dep_ssl openssl/ssl.h libssl.a ssl)
target_link_libraries(dep_ssl INTERFACE dep_crypto ${CMAKE_DL_LIBS} Threads::Threads)

# HTTP/2 to an etcd. Nothing of it runs before a store on etcd is opened.
lockkeeper_archive(dep_nghttp2 nghttp2/nghttp2.h libnghttp2.a nghttp2)
