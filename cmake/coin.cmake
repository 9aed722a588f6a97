# coin::cbc: COIN-OR's solvers of integer (CBC) and linear programs (Clp), by their C interfaces.
#
# Their archives where there are any: a dozen more shared libraries would cost every start of every command
# 3 to 4 ms, the archives cost 0.6 ms.
add_library(coin_cbc INTERFACE)
add_library(coin::cbc ALIAS coin_cbc)
find_path(COIN_INCLUDE_DIR coin/Cbc_C_Interface.h REQUIRED)
target_include_directories(coin_cbc SYSTEM INTERFACE ${COIN_INCLUDE_DIR} ${COIN_INCLUDE_DIR}/coin)
foreach(name CbcSolver Cbc Cgl OsiClp Osi Clp CoinUtils)  # each before those it uses
  find_library(COIN_${name} NAMES lib${name}.a ${name} REQUIRED)
  target_link_libraries(coin_cbc INTERFACE ${COIN_${name}})
endforeach()
find_package(BZip2 REQUIRED)
find_package(ZLIB REQUIRED)
find_library(LAPACK_LIBRARY lapack REQUIRED)
find_package(Threads REQUIRED)
target_link_libraries(coin_cbc INTERFACE BZip2::BZip2 ZLIB::ZLIB ${LAPACK_LIBRARY} Threads::Threads)
