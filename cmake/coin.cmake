# coin::cbc: COIN-OR's solvers of integer (CBC) and linear programs (Clp), for their C interfaces.
#
# Archives where there are any: shared libraries would make the start of every command 3 to 4 ms
# longer; archives make it less than 1 ms longer.
add_library(coin_cbc INTERFACE)
add_library(coin::cbc ALIAS coin_cbc)
find_path(COIN_INCLUDE_DIR coin/Cbc_C_Interface.h REQUIRED)
target_include_directories(coin_cbc SYSTEM INTERFACE ${COIN_INCLUDE_DIR} ${COIN_INCLUDE_DIR}/coin)
foreach(name CbcSolver Cbc Cgl OsiClp Osi Clp CoinUtils bz2 z)  # each before those it uses
  find_library(COIN_LIBRARY_${name} NAMES lib${name}.a ${name} REQUIRED)
  target_link_libraries(coin_cbc INTERFACE ${COIN_LIBRARY_${name}})
endforeach()
find_library(COIN_LIBRARY_lapack lapack REQUIRED)  # its archive needs a Fortran compiler's library
target_link_libraries(coin_cbc INTERFACE ${COIN_LIBRARY_lapack} Threads::Threads)
