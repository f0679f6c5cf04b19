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
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)  # unpacked files get the time of unpacking
endif()
FetchContent_Declare(eigen SOURCE_SUBDIR no-build  # Eigen's own build is tests and documentation; its headers are all we want
  URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72)
FetchContent_Declare(googletest
  URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
  URL_HASH SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7)
FetchContent_Declare(benchmark
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  URL_HASH SHA256=6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce)

FetchContent_MakeAvailable(eigen)
add_library(spmd_eigen INTERFACE)
add_library(Eigen3::Eigen ALIAS spmd_eigen)
target_include_directories(spmd_eigen SYSTEM INTERFACE "${eigen_SOURCE_DIR}")
set(SPMD_INSTALL OFF)  # an installed package must not point into this build folder

if(SPMD_BUILD_TESTS)
  set(INSTALL_GTEST OFF)
  FetchContent_MakeAvailable(googletest)
endif()
if(SPMD_BUILD_BENCHMARKS)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  FetchContent_MakeAvailable(benchmark)
endif()
