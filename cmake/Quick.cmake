# Whoever tries the program for the first time waits for the compiler, which spends most of its time
# on the same templates, again for each file that it is given. So it is given few: with six it needs
# 1.5 GB for each, with two 4 GB and hardly less time. The rooms are defined as always, but this
# program has their files and does not link them.
set(lockkeeper_quick_parts 6)

function(lockkeeper_in_parts program app)
  get_property(rooms GLOBAL PROPERTY LOCKKEEPER_ROOMS)
  list(REMOVE_ITEM rooms lockkeeper_embed lockkeeper_capi) # what other programs link
  set(files "")
  set(total 0)
  set(before 0)
  foreach(target ${rooms} ${app})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      file(SIZE ${source} size)
      math(EXPR total "${total} + ${size}")
      list(APPEND files ${source})
      list(APPEND sizes ${size})
    endforeach()
    get_target_property(links ${target} LINK_LIBRARIES)
    list(FILTER links EXCLUDE REGEX "^lockkeeper_")
    list(APPEND libraries ${links})
  endforeach()

  # Neighbours share most templates, so each part has a row of them.
  foreach(source size IN ZIP_LISTS files sizes)
    math(EXPR part "${before} * ${lockkeeper_quick_parts} / ${total}")
    math(EXPR before "${before} + ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP part${part})
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  target_sources(${program} PRIVATE ${files})
  target_link_libraries(${program} PRIVATE lockkeeper_flags ${libraries})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${program} PRIVATE LOCKKEEPER_VERSION="${PROJECT_VERSION}")
  target_compile_options(${program} PRIVATE -Wno-subobject-linkage)
  set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
