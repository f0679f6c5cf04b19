# What must hold of the library as a whole: its layout, each header alone, linking, the installed package.

# Rooms, sizes, throws.
add_test(NAME layout COMMAND "${PROJECT_SOURCE_DIR}/scripts/check_layout.sh")

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
target_link_libraries(link_two_files PRIVATE spmd_test_plain)
add_test(NAME link_two_files COMMAND link_two_files)

add_library(link_first SHARED link/shared_first.cpp)
target_link_libraries(link_first PRIVATE spmd_test_plain)
add_library(link_second SHARED link/shared_second.cpp)
target_link_libraries(link_second PRIVATE spmd_test_plain)
add_executable(link_shared_objects link/shared_main.cpp)
target_link_libraries(link_shared_objects PRIVATE link_first link_second)
add_test(NAME link_shared_objects COMMAND link_shared_objects)
set_tests_properties(link_two_files link_shared_objects PROPERTIES TIMEOUT ${SPMD_TEST_TIMEOUT})

# Another project uses the library, both ways: find_package of what is installed, and add_subdirectory of the sources.
set(package_dir "${CMAKE_CURRENT_BINARY_DIR}/package")
set(consume "${CMAKE_CTEST_COMMAND}" --build-generator "${CMAKE_GENERATOR}" --build-makeprogram "${CMAKE_MAKE_PROGRAM}" --build-noclean
  --test-command hello)
set(consume_options "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH}")
if(SPMD_INSTALL)
  add_test(NAME package_install COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${package_dir}/prefix")
  set_tests_properties(package_install PROPERTIES FIXTURES_SETUP package)
endif()
