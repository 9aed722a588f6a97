# sluice_units(VARIABLE NAME source...): what to compile for these sources of the target NAME.
# Several of them are one unit of the compiler, which includes them by their paths in the project.
# So the compiler's cache has the same unit for another clone; CMake's own unity builds use absolute
# paths, and are not found there. Sources with options of their own stay alone, and all do with
# SLUICE_UNIT_SOURCES=1.
function(sluice_units variable name)
  set(units "")
  set(batch "")
  set(count 0)
  set(number 0)
  foreach(source ${ARGN} "")
    set(options "")
    if(source)
      get_source_file_property(options ${source} COMPILE_OPTIONS)
    endif()
    if(source AND (options OR SLUICE_UNIT_SOURCES EQUAL 1))
      list(APPEND units ${source})
      continue()
    endif()
    if(source)
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
      string(APPEND batch "#include \"${path}\"\n")
      math(EXPR count "${count} + 1")
    endif()
    if(count EQUAL SLUICE_UNIT_SOURCES OR (count GREATER 0 AND NOT source))
      set(unit ${PROJECT_BINARY_DIR}/units/${name}_${number}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${batch}" @ONLY)
      list(APPEND units ${unit})
      math(EXPR number "${number} + 1")
      set(batch "")
      set(count 0)
    endif()
  endforeach()
  set(${variable} ${units} PARENT_SCOPE)
endfunction()

# sluice_room(NAME [IN folder] [USES room...] [LINK library...] [SHARDS n])
#
# A room is a folder of src, or of the folder IN: a static library of the *.cc files in it and below
# and, beside it, one test binary of its *_test.cc files. USES names the rooms it may include; LINK
# the libraries from outside. SHARDS is as in sluice_test. SLUICE_ROOMS lists all rooms.
function(sluice_room name)
  cmake_parse_arguments(ROOM "" "IN;SHARDS" "USES;LINK" ${ARGN})
  if(NOT ROOM_IN)
    set(ROOM_IN src)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ROOM_IN}/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM ROOM_USES PREPEND sluice_)
  if(sources)
    sluice_units(units sluice_${name} ${sources})
    add_library(sluice_${name} STATIC ${units})
    target_include_directories(sluice_${name} PRIVATE ${PROJECT_SOURCE_DIR})
    set(scope PUBLIC)
  else()
    add_library(sluice_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(sluice_${name} ${scope} ${PROJECT_SOURCE_DIR}/${ROOM_IN})
  target_link_libraries(sluice_${name} ${scope} ${ROOM_USES} ${ROOM_LINK})
  set(SLUICE_ROOMS ${SLUICE_ROOMS} ${name} PARENT_SCOPE)

  if(SLUICE_TESTS AND tests)
    sluice_test(${name}_test SOURCES ${tests} LINK sluice_${name} SHARDS ${ROOM_SHARDS})
  endif()
endfunction()

# sluice_test(NAME SOURCES file... LINK library... [SHARDS n]): a GoogleTest binary, each of its
# cases known to ctest. What it tests is optimised as for users; its own code gets -O1, which compiles
# quicker. With SHARDS ctest knows so many parts of the binary instead: for programs that take long
# to start, because a case is a process.
function(sluice_test name)
  cmake_parse_arguments(TEST "" "SHARDS" "SOURCES;LINK" ${ARGN})
  sluice_units(units ${name} ${TEST_SOURCES})
  add_executable(${name} ${units})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE -O1)
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main)
  if(TEST_SHARDS)
    math(EXPR last "${TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}.${shard} PROPERTIES ENVIRONMENT
                           "GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
endfunction()

# sluice_precompile(NAME header): where each source of a room is compiled alone, it gets this header
# compiled beforehand, and so do its tests. Sources still name what they include. Units of several
# sources do without: their objects are then in the compiler's cache, which cannot keep what is
# compiled with such a header.
function(sluice_precompile name header)
  if(NOT SLUICE_UNIT_SOURCES EQUAL 1)
    return()
  endif()
  target_precompile_headers(sluice_${name} PRIVATE ${header})
  if(TARGET ${name}_test)
    # The compiler takes a precompiled header only under the options that it was made with.
    get_target_property(options ${name}_test COMPILE_OPTIONS)
    list(REMOVE_ITEM options -O1)
    set_target_properties(${name}_test PROPERTIES COMPILE_OPTIONS "${options}")
    sluice_reuse_precompiled(${name}_test ${name})
  endif()
endfunction()

# sluice_reuse_precompiled(TARGET NAME): the header that the room NAME has, if it has one, for a
# target of the same options.
function(sluice_reuse_precompiled target name)
  get_target_property(headers sluice_${name} PRECOMPILE_HEADERS)
  if(headers)
    target_precompile_headers(${target} REUSE_FROM sluice_${name})
  endif()
endfunction()
