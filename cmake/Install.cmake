# What `cmake --install` puts where: the program, the library with its headers and packages, manual
# pages, completions. docs/decisions/embedding.md says why the library is one static archive.
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

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockkeeper)
install(TARGETS lockkeeper_library EXPORT lockkeeperTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lockkeeperTargets NAMESPACE lockkeeper:: DESTINATION ${package_folder})
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
configure_file(cmake/lockkeeper.pc.in ${PROJECT_BINARY_DIR}/package/lockkeeper.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/lockkeeper.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
