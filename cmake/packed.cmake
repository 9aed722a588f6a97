# packed::packed: zlib and libpng, for data that is imported.
#
# Archives where there are any: shared libraries would make the start of every command longer.
add_library(packed_packed INTERFACE)
add_library(packed::packed ALIAS packed_packed)
find_path(PNG_HEADERS png.h REQUIRED)
find_path(ZLIB_HEADERS zlib.h REQUIRED)
target_include_directories(packed_packed SYSTEM INTERFACE ${PNG_HEADERS} ${ZLIB_HEADERS})
foreach(name png z)  # each before those it uses
  find_library(PACKED_LIBRARY_${name} NAMES lib${name}.a ${name} REQUIRED)
  target_link_libraries(packed_packed INTERFACE ${PACKED_LIBRARY_${name}})
endforeach()
target_link_libraries(packed_packed INTERFACE m)
