# PETSc by pkg-config. PETSC_DIR and PETSC_ARCH, as CMake variables or in the environment, choose one; otherwise the first that
# PKG_CONFIG_PATH and the system offer. Remembered in the cache, so that a later configure finds the same one.
#
# Target PETSc::PETSc; variables PETSC_VERSION, PETSC_INCLUDE_DIRS, PETSC_CONF (text of petscconf.h), PETSC_EXAMPLES (folder with PETSc's
# own programs, or empty), PETSC_PKGCONFIG_DIR (folder of PETSc.pc).
find_package(PkgConfig REQUIRED)

set(PETSC_DIR "$ENV{PETSC_DIR}" CACHE PATH "PETSc's folder; empty: ask pkg-config")
set(PETSC_ARCH "$ENV{PETSC_ARCH}" CACHE STRING "PETSc's PETSC_ARCH; empty for an installed PETSc")

# pkg_check_modules keeps the answers of the first configure
get_cmake_property(_cached CACHE_VARIABLES)
list(FILTER _cached INCLUDE REGEX "^pkgcfg_lib_PETSC_|^__pkg_config_(checked|arguments)_PETSC$")
foreach(_name IN LISTS _cached)
  unset(${_name} CACHE)
endforeach()

set(_petsc_saved_path "$ENV{PKG_CONFIG_PATH}")
if(PETSC_DIR)
  if(PETSC_ARCH)
    set(_petsc_prefix "${PETSC_DIR}/${PETSC_ARCH}")
  else()
    set(_petsc_prefix "${PETSC_DIR}")
  endif()
  if(NOT EXISTS "${_petsc_prefix}/lib/pkgconfig/PETSc.pc")
    message(FATAL_ERROR "No ${_petsc_prefix}/lib/pkgconfig/PETSc.pc: check PETSC_DIR (${PETSC_DIR}) and PETSC_ARCH (${PETSC_ARCH}), "
                        "which come from -D options or the environment.")
  endif()
  set(ENV{PKG_CONFIG_PATH} "${_petsc_prefix}/lib/pkgconfig:${_petsc_saved_path}")
elseif(PETSC_PKGCONFIG_DIR)
  set(ENV{PKG_CONFIG_PATH} "${PETSC_PKGCONFIG_DIR}:${_petsc_saved_path}")
endif()
pkg_check_modules(PETSC QUIET PETSc)
pkg_get_variable(_petsc_prefix PETSc prefix)
pkg_get_variable(_petsc_pcdir PETSc pcfiledir)
set(ENV{PKG_CONFIG_PATH} "${_petsc_saved_path}")
if(EXISTS "${_petsc_prefix}/lib/pkgconfig/PETSc.pc") # rather than Debian's link to it, which may be switched to another PETSc
  set(_petsc_pcdir "${_petsc_prefix}/lib/pkgconfig")
endif()
set(PETSC_PKGCONFIG_DIR "${_petsc_pcdir}" CACHE INTERNAL "folder of PETSc.pc")

set(PETSC_CONF "")
set(PETSC_EXAMPLES "")
if(PETSC_FOUND)
  foreach(_dir IN LISTS PETSC_INCLUDE_DIRS)
    if(EXISTS "${_dir}/petscconf.h")
      file(READ "${_dir}/petscconf.h" PETSC_CONF)
    endif()
  endforeach()
  foreach(_dir "${_petsc_prefix}/share/petsc/examples/src" "${PETSC_DIR}/src")
    if(EXISTS "${_dir}/snes/tutorials/ex19.c")
      set(PETSC_EXAMPLES "${_dir}")
      break()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  PETSc
  REQUIRED_VARS PETSC_LINK_LIBRARIES PETSC_INCLUDE_DIRS
  VERSION_VAR PETSC_VERSION
  REASON_FAILURE_MESSAGE
    "pkg-config knows no PETSc. Install it (Debian, Ubuntu: tools/install-dependencies build) or give -DPETSC_DIR=... [-DPETSC_ARCH=...]."
)

# Without PETSc.pc's other compiler flags, which belong to PETSc's own build
if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  add_library(PETSc::PETSc INTERFACE IMPORTED)
  set_target_properties(
    PETSc::PETSc PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PETSC_INCLUDE_DIRS}" INTERFACE_LINK_LIBRARIES "${PETSC_LINK_LIBRARIES}"
  )
endif()
