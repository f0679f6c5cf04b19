# What must hold of the library as a whole: its layout, each header alone, linking, the installed package.

# Rooms, sizes, throws.
add_test(NAME layout COMMAND bash "${PROJECT_SOURCE_DIR}/scripts/check_layout.sh")

# Each header compiles alone, without a warning, with both compilers. The opt-in headers need their libraries.
find_program(SPMD_GXX NAMES g++-12 g++-13 g++-14 g++-15 g++)
find_program(SPMD_CLANGXX NAMES clang++-16 clang++-17 clang++-18 clang++-19 clang++-20)
find_path(SPMD_CUDA_INCLUDE cuda_runtime_api.h PATHS /usr/local/cuda/include)
find_program(SPMD_MPICXX mpicxx)
get_target_property(eigen_include Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
foreach(header IN LISTS SPMD_HEADERS)
  file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/include/spmd" "${header}")
  set(extra "")
  if(name MATCHES "^device/cuda")
    if(NOT SPMD_CUDA_INCLUDE)
      continue()
    endif()
    set(extra -isystem "${SPMD_CUDA_INCLUDE}")
  elseif(name MATCHES "^device/mpi")
    if(NOT SPMD_MPICXX)
      continue()
    endif()
    execute_process(COMMAND "${SPMD_MPICXX}" --showme:compile OUTPUT_VARIABLE extra ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(extra)
  endif()
  foreach(compiler IN ITEMS "${SPMD_GXX}" "${SPMD_CLANGXX}")
    if(compiler)
      get_filename_component(short "${compiler}" NAME)
      add_test(NAME "header.${short}.${name}" COMMAND "${compiler}" -std=c++20 -fsyntax-only ${SPMD_WARNINGS} -Werror
        -I "${PROJECT_SOURCE_DIR}/include" -isystem "${eigen_include}" ${extra} -include "spmd/${name}" -x c++ /dev/null)
    endif()
  endforeach()
endforeach()

# A program of two files, and one with two shared objects: one definition of everything, one runtime.
add_executable(link_two_files link/two_files_main.cpp link/two_files_other.cpp)
add_library(link_first SHARED link/shared_first.cpp)
add_library(link_second SHARED link/shared_second.cpp)
add_executable(link_shared_objects link/shared_main.cpp)
target_link_libraries(link_shared_objects PRIVATE link_first link_second)
foreach(target IN ITEMS link_two_files link_first link_second link_shared_objects)
  target_link_libraries(${target} PRIVATE spmd::spmd spmd_build_flags)
  target_compile_options(${target} PRIVATE -O0)
endforeach()
foreach(target IN ITEMS link_two_files link_shared_objects)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT ${SPMD_TEST_TIMEOUT})
endforeach()

# Another project uses the library, both ways: find_package of what is installed, and add_subdirectory of the sources.
function(spmd_add_consumer name)
  add_test(NAME ${name} COMMAND "${CMAKE_CTEST_COMMAND}"
    --build-and-test "${CMAKE_CURRENT_SOURCE_DIR}/package" "${CMAKE_CURRENT_BINARY_DIR}/${name}" --build-generator "${CMAKE_GENERATOR}"
    --build-options "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${SPMD_CCACHE}" ${ARGN}
    --test-command hello)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${SPMD_TEST_TIMEOUT})
endfunction()
spmd_add_consumer(package_add_subdirectory "-DSPMD_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
if(SPMD_INSTALL)
  set(prefix "${CMAKE_CURRENT_BINARY_DIR}/package_prefix")
  add_test(NAME package_install COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${prefix}")
  set_tests_properties(package_install PROPERTIES FIXTURES_SETUP package_prefix)
  spmd_add_consumer(package_find_package "-Dspmd_ROOT=${prefix}")
  set_tests_properties(package_find_package PROPERTIES FIXTURES_REQUIRED package_prefix)
endif()
