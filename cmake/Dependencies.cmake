# Eigen3::Eigen and Threads::Threads for the library; GTest::gtest_main for its tests, benchmark::benchmark_main for its benchmarks.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(NOT SPMD_FETCH_DEPENDENCIES)
  if(NOT TARGET Eigen3::Eigen)  # a project around this one may have brought its own
    find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  endif()
  if(SPMD_BUILD_TESTS)
    find_package(GTest REQUIRED)
  endif()
  if(SPMD_BUILD_BENCHMARKS)
    find_package(benchmark REQUIRED)
  endif()
  return()
endif()

include(FetchContent)

# Eigen's own build has tests, documentation and a Fortran check; its headers are all we want.
FetchContent_Declare(eigen URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz SOURCE_SUBDIR no-build)
FetchContent_MakeAvailable(eigen)
add_library(spmd_eigen INTERFACE)
add_library(Eigen3::Eigen ALIAS spmd_eigen)
target_include_directories(spmd_eigen SYSTEM INTERFACE "${eigen_SOURCE_DIR}")
# An installed package must not point into this build folder: it asks its user's machine for Eigen.
set(SPMD_INSTALL OFF CACHE BOOL "Not with fetched dependencies" FORCE)

if(SPMD_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  FetchContent_Declare(googletest URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz)
  FetchContent_MakeAvailable(googletest)
endif()
if(SPMD_BUILD_BENCHMARKS)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_Declare(benchmark URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz)
  FetchContent_MakeAvailable(benchmark)
endif()
