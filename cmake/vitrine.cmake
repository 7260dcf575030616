# GCC 12 tells of overflows in std::string that there are none of, once its headers are precompiled.
set(VITRINE_WARNINGS -Wall -Wextra $<$<BOOL:${VITRINE_STRICT}>:-Werror> -Wno-missing-field-initializers -Wno-unused-parameter
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

# vitrine_library(name DIR folder... LINK target... [HEADERS qt]): one static library from every .cpp of the named
# folders, relative to the caller, with the standard library's precompiled headers, or with Qt's too. Files are found by
# a glob, so a new operator, pass or view touches no build file.
function(vitrine_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "DIR;LINK" ${ARGN})
  set(sources)
  foreach(dir IN LISTS ARG_DIR)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.h)
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    message(FATAL_ERROR "vitrine_library(${name}): no source in ${ARG_DIR}")
  endif()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${VITRINE_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS std)
  endif()
  vitrine_use_precompiled(${name} ${ARG_HEADERS})
endfunction()
