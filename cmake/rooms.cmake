# sluice_room(NAME [USES room...] [LINK library...])
#
# A room is a folder of src: a static library of its *.cc files and, beside it, one test binary of its
# *_test.cc files. USES names the rooms it may include; LINK the libraries from outside. SLUICE_ROOMS lists them.
function(sluice_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM ROOM_USES PREPEND sluice_)
  if(sources)
    add_library(sluice_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(sluice_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(sluice_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sluice_${name} ${scope} ${ROOM_USES} ${ROOM_LINK})
  set(SLUICE_ROOMS ${SLUICE_ROOMS} ${name} PARENT_SCOPE)

  if(SLUICE_TESTS AND tests)
    sluice_test(${name}_test SOURCES ${tests} LINK sluice_${name})
  endif()
endfunction()

# sluice_test(NAME SOURCES file... LINK library...): a GoogleTest binary, each of its cases known to ctest. What it tests is
# optimised as users run it; its own code is not worth the time.
function(sluice_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE -O1)
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
endfunction()
