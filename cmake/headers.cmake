# sluice_headers(NAME header): the target headers_NAME, for a library that needs only its headers.
function(sluice_headers name header)
  find_path(SLUICE_HEADERS_${name} ${header} REQUIRED)
  add_library(headers_${name} INTERFACE)
  target_include_directories(headers_${name} SYSTEM INTERFACE ${SLUICE_HEADERS_${name}})
endfunction()
