# What `cmake --install` puts where: the program, the libraries with their headers and packages,
# manual pages, completions. docs/decisions/embedding.md says why the C++ library is one static
# archive, and docs/decisions/c-api.md why the one for C is a shared object.
include(CMakePackageConfigHelpers)

# --- the library ----------------------------------------------------------------------------------

set(library_rooms base key kv kv_lmdb kv_memory host core realm remote layout service service_wire
    service_local dialect wiring embed)
foreach(dialect workflow coordinator coordmcp dirlock mkdir)
  if(TARGET lockkeeper_dialect_${dialect})
    list(APPEND library_rooms dialect_${dialect})
  endif()
endforeach()
# Position-independent, so that the archive can become part of a shared object too. Nobody replaces
# its functions from outside, so calls between them stay as direct as they are in a program.
foreach(room ${library_rooms})
  set_target_properties(lockkeeper_${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(lockkeeper_${room} PRIVATE -fno-semantic-interposition)
  if(LOCKKEEPER_RELEASE) # machine code as well: whoever links the archive has another compiler
    target_compile_options(lockkeeper_${room} PRIVATE -ffat-lto-objects)
  endif()
endforeach()
list(TRANSFORM library_rooms REPLACE "(.+)" "$<TARGET_OBJECTS:lockkeeper_\\1>"
     OUTPUT_VARIABLE library_objects)
add_library(lockkeeper_library STATIC ${library_objects})
add_library(lockkeeper::lockkeeper ALIAS lockkeeper_library)
set_target_properties(lockkeeper_library PROPERTIES
  OUTPUT_NAME lockkeeper EXPORT_NAME lockkeeper LINKER_LANGUAGE CXX)
target_compile_features(lockkeeper_library INTERFACE cxx_std_20)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lockkeeper/*.h)
target_sources(lockkeeper_library PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${public_headers})
target_link_libraries(lockkeeper_library INTERFACE Threads::Threads
  "$<BUILD_INTERFACE:dep_lmdb;dep_utf8proc;dep_nettle>"
  "$<INSTALL_INTERFACE:lockkeeper::lmdb;lockkeeper::utf8proc;lockkeeper::nettle>")

# --- the library for other languages --------------------------------------------------------------

# The C API, and nothing else to be seen: no C++ of ours can meet that of the program that loads it.
# It stays loaded (`-z nodelete`), because its threads run on.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(version_script ${PROJECT_SOURCE_DIR}/cmake/lockkeeper.map)
set_target_properties(lockkeeper_capi PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(lockkeeper_c SHARED ${library_objects} $<TARGET_OBJECTS:lockkeeper_capi>)
add_library(lockkeeper::c ALIAS lockkeeper_c)
set_target_properties(lockkeeper_c PROPERTIES
  OUTPUT_NAME lockkeeper EXPORT_NAME c LINKER_LANGUAGE CXX SOVERSION 0 VERSION ${PROJECT_VERSION}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LINK_DEPENDS ${version_script})
target_link_options(lockkeeper_c PRIVATE $<TARGET_PROPERTY:lockkeeper_flags,INTERFACE_LINK_OPTIONS>
  -Wl,--version-script=${version_script}
  -Wl,-z,defs,-z,text,-z,nodelete,-z,relro,-z,now -Wl,--gc-sections)
if(LOCKKEEPER_STATIC)
  target_link_options(lockkeeper_c PRIVATE -static-libstdc++ -static-libgcc)
endif()
# Debian's archives are compiled with -fPIE. That suffices unless they refer to a variable of the C
# library, which a shared object must not do directly: then the shared library is taken.
foreach(library lmdb utf8proc nettle)
  set(found ${dep_${library}_LIBRARY})
  if(found MATCHES "\\.a$")
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -shared -Wl,-z,text,--version-script=${version_script}
              -Wl,--whole-archive ${found} -Wl,--no-whole-archive
              -o ${PROJECT_BINARY_DIR}/package/lib${library}_try.so
      RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
    if(refused)
      find_library(dep_${library}_SHARED NAMES ${library} REQUIRED)
      set(found ${dep_${library}_SHARED})
    endif()
  endif()
  target_link_libraries(lockkeeper_c PRIVATE ${found})
endforeach()
target_link_libraries(lockkeeper_c PRIVATE Threads::Threads)
target_include_directories(lockkeeper_c INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# --- their packages -------------------------------------------------------------------------------

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockkeeper)
install(TARGETS lockkeeper_library EXPORT lockkeeperTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lockkeeperTargets NAMESPACE lockkeeper:: DESTINATION ${package_folder})
install(TARGETS lockkeeper_c EXPORT lockkeeperCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT lockkeeperCTargets NAMESPACE lockkeeper:: DESTINATION ${package_folder})
install(FILES include/lockkeeper.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(cmake/lockkeeperConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/lockkeeperConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/lockkeeperConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/lockkeeperConfig.cmake
              ${PROJECT_BINARY_DIR}/package/lockkeeperConfigVersion.cmake
        DESTINATION ${package_folder})
# From where the .pc file lies, so that it holds wherever it is installed to.
file(RELATIVE_PATH PC_PREFIX /at/${CMAKE_INSTALL_LIBDIR}/pkgconfig /at)
cmake_path(APPEND PC_LIBDIR "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND PC_INCLUDEDIR "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(package lockkeeper lockkeeper-c)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# --- manual pages and completions, printed by the program itself ----------------------------------

set(printed_folder ${PROJECT_BINARY_DIR}/printed)
set(printed_files "")

# lockkeeper_printed(FILE WORDS…): what the program prints when called with these words.
function(lockkeeper_printed file)
  add_custom_command(OUTPUT ${printed_folder}/${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${printed_folder}
    COMMAND lockkeeper ${ARGN} > ${printed_folder}/${file}
    DEPENDS lockkeeper VERBATIM)
  list(APPEND printed_files ${printed_folder}/${file})
  set(printed_files ${printed_files} PARENT_SCOPE)
endfunction()

# The verbs, from the table that the program has them from.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/cli/verbs/verbs.cc verb_lines REGEX "^    {\"[a-z]+\", \"[A-Za-z]")
set(manual_pages lockkeeper.1)
lockkeeper_printed(lockkeeper.1 help --man)
foreach(line ${verb_lines})
  string(REGEX REPLACE "^    {\"([a-z]+)\".*" "\\1" verb "${line}")
  lockkeeper_printed(lockkeeper-${verb}.1 help --man ${verb})
  list(APPEND manual_pages lockkeeper-${verb}.1)
endforeach()
lockkeeper_printed(lockkeeper.bash completion bash)
lockkeeper_printed(_lockkeeper completion zsh)
lockkeeper_printed(lockkeeper.fish completion fish)
add_custom_target(lockkeeper_printed ALL DEPENDS ${printed_files})

list(TRANSFORM manual_pages PREPEND ${printed_folder}/)
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/lockkeeper.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
# For editors, which check work packages by it while they are written.
install(FILES schemas/work-packages.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/lockkeeper/schemas)

# A shell finds a completion by the name of the command, so the short name has files of its own. The
# distribution's folder for zsh is another than the one for what is installed locally.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder zsh/vendor-completions)
else()
  set(zsh_folder zsh/site-functions)
endif()
install(FILES ${printed_folder}/_lockkeeper DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh_folder})
foreach(name lockkeeper lk)
  install(FILES ${printed_folder}/lockkeeper.bash RENAME ${name}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${printed_folder}/lockkeeper.fish RENAME ${name}.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()

foreach(name LICENSE README.md CHANGELOG.md)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${name})
    install(FILES ${name} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()

# --- the hub as a service -------------------------------------------------------------------------

configure_file(packaging/systemd/lockkeeper-hub.service.in
  ${PROJECT_BINARY_DIR}/package/lockkeeper-hub.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/lockkeeper-hub.service
              packaging/systemd/lockkeeper-hub.socket
        DESTINATION lib/systemd/system)
