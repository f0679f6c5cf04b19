# How our own programs (tests, examples, benchmarks) are compiled: the target spmd_build_flags. Users of the library get none of this.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# ccache, where it is present. It copes with a precompiled header only when told to ignore the times in it.
find_program(SPMD_CCACHE ccache)
if(SPMD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${SPMD_CCACHE}")
endif()

set(SPMD_WARNINGS -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow)

add_library(spmd_build_flags INTERFACE)
target_link_libraries(spmd_build_flags INTERFACE $<$<BOOL:${SPMD_NATIVE}>:spmd_native>)
target_compile_options(spmd_build_flags INTERFACE ${SPMD_WARNINGS})
if(SPMD_WERROR)
  target_compile_options(spmd_build_flags INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Guesses from the optimiser's flow analysis; g++ 12 makes them inside the standard library and Eigen, too.
    foreach(guess maybe-uninitialized array-bounds stringop-overflow stringop-overread restrict free-nonheap-object)
      target_compile_options(spmd_build_flags INTERFACE -Wno-error=${guess})
    endforeach()
  endif()
endif()

# Makes `target` and what links it run under a sanitizer: `what` is thread or address,undefined.
function(spmd_sanitize target what)
  set(flags -fsanitize=${what} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(${target} INTERFACE ${flags} -g1)
  target_link_options(${target} INTERFACE ${flags})
endfunction()

# What stands before a program under ThreadSanitizer: today's does not start where the kernel spreads addresses over more than 28 bits.
set(SPMD_TSAN_LAUNCHER "")
if(EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(STRINGS /proc/sys/vm/mmap_rnd_bits bits)
  if(bits GREATER 28)
    set(SPMD_TSAN_LAUNCHER setarch -R)
  endif()
endif()
# ... and under AddressSanitizer: leaks are found by way of /proc, which a bare chroot does not have.
set(SPMD_ASAN_LAUNCHER "")
if(NOT EXISTS /proc/self/task)
  set(SPMD_ASAN_LAUNCHER "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0)
endif()

set(SPMD_LAUNCHER "")  # what stands before our programs in ctest
if(SPMD_SANITIZE)
  spmd_sanitize(spmd_build_flags "${SPMD_SANITIZE}")
  if(SPMD_SANITIZE MATCHES thread)
    set(SPMD_LAUNCHER ${SPMD_TSAN_LAUNCHER})
  elseif(SPMD_SANITIZE MATCHES address)
    set(SPMD_LAUNCHER ${SPMD_ASAN_LAUNCHER})
  endif()
endif()
