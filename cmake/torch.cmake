# sluice::torch: the libraries of a PyTorch, for the room that trains. SLUICE_TORCH_FOUND says
# whether there is one.
#
# Its own CMake package is not used: it looks for everything PyTorch was built with, and hides which
# of the flags it sets.
set(SLUICE_TORCH_PREFIX "" CACHE PATH
    "A PyTorch to build the trainer with: it has include/ATen and lib (empty: that of .venv or python3)")
set(prefix ${SLUICE_TORCH_PREFIX})
if(prefix MATCHES "/share/cmake/?$")  # what torch.utils.cmake_prefix_path names
  get_filename_component(prefix ${prefix}/../.. ABSOLUTE)
endif()
if(NOT prefix)
  foreach(python ${PROJECT_SOURCE_DIR}/.venv/bin/python python3)
    execute_process(
      COMMAND ${python} -c
              "import importlib.util as u; t = u.find_spec('torch'); print(*t.submodule_search_locations)"
      OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(prefix)
      break()
    endif()
  endforeach()
endif()
set(SLUICE_TORCH_FOUND OFF)
if(EXISTS ${prefix}/include/ATen/ATen.h AND EXISTS ${prefix}/lib/libtorch_cpu.so)
  set(SLUICE_TORCH_FOUND ON)
  add_library(sluice_torch INTERFACE)
  add_library(sluice::torch ALIAS sluice_torch)
  target_include_directories(sluice_torch SYSTEM INTERFACE ${prefix}/include)
  # PyTorch brings headers of its own fmt, which come first, and no library of it.
  target_compile_definitions(sluice_torch INTERFACE FMT_HEADER_ONLY=1)
  # Operators register themselves when their library is loaded: no symbol need be used for that.
  target_link_options(sluice_torch INTERFACE -Wl,--no-as-needed)
  foreach(name torch torch_cpu c10 torch_cuda c10_cuda)
    if(EXISTS ${prefix}/lib/lib${name}.so)
      target_link_libraries(sluice_torch INTERFACE ${prefix}/lib/lib${name}.so)
    endif()
  endforeach()
elseif(SLUICE_LEAN_TRAINER)
  message(FATAL_ERROR "No PyTorch was found: the trainer needs one (SLUICE_TORCH_PREFIX names it)")
else()
  message(STATUS "No PyTorch was found: the trainer is left out (SLUICE_TORCH_PREFIX names one)")
endif()
