# The C libraries of the session file, as SQLite3::SQLite3 and vitrine_zstd. A machine that has SQLite only to run
# programs, without its header, builds against the header in third_party.
find_package(SQLite3 QUIET)
if(NOT SQLite3_FOUND)
  find_library(VITRINE_SQLITE_LIBRARY NAMES sqlite3 libsqlite3.so.0 REQUIRED)
  message(STATUS "sqlite3.h is not installed; the one in third_party stands in for ${VITRINE_SQLITE_LIBRARY}")
  add_library(SQLite3::SQLite3 UNKNOWN IMPORTED)
  set_target_properties(SQLite3::SQLite3 PROPERTIES IMPORTED_LOCATION ${VITRINE_SQLITE_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/third_party/sqlite)
elseif(NOT TARGET SQLite3::SQLite3)  # the name before CMake 4.3
  add_library(SQLite3::SQLite3 ALIAS SQLite::SQLite3)
endif()

find_path(VITRINE_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(VITRINE_ZSTD_LIBRARY NAMES zstd libzstd.so.1 REQUIRED)
add_library(vitrine_zstd UNKNOWN IMPORTED)
set_target_properties(vitrine_zstd PROPERTIES IMPORTED_LOCATION ${VITRINE_ZSTD_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${VITRINE_ZSTD_INCLUDE})
