# The headers and a package that find_package(spmd) finds.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(SPMD_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/spmd")

if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
  install(TARGETS spmd spmd_native EXPORT spmdTargets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  install(TARGETS spmd spmd_native EXPORT spmdTargets)
  install(DIRECTORY include/spmd DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
endif()
install(EXPORT spmdTargets NAMESPACE spmd:: DESTINATION "${SPMD_PACKAGE_DIR}")

configure_package_config_file(cmake/spmdConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/spmdConfig.cmake"
  INSTALL_DESTINATION "${SPMD_PACKAGE_DIR}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 each minor version may break its users.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/spmdConfigVersion.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/spmdConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/spmdConfigVersion.cmake"
  DESTINATION "${SPMD_PACKAGE_DIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
