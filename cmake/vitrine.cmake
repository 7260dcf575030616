# GCC 12 tells of overflows in std::string that there are none of, once its headers are precompiled.
set(VITRINE_WARNINGS -Wall -Wextra $<$<BOOL:${VITRINE_STRICT}>:-Werror> -Wno-missing-field-initializers -Wno-unused-parameter
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

# Eight files of a library are compiled as one: nearly all of a file's time is its headers. OFF compiles each by itself,
# which is quicker where one file is edited at a time, and shows what a file forgot to include.
option(VITRINE_UNITY "Compile several files of a library as one" ON)
# Names that a file may have for itself: its table, and what its rows are short for. The others differ within a library.
set(VITRINE_OWN_NAMES kRows kFamily kLoop kLower kNoGradient kOpaque kThreads kDeep
    kRow kTop kLeft kBottom kGap kLabels kTitle kMostBytes kMostNs kNameFrom kPillHeight kTickMs kMostSlices)

function(vitrine_unity target)
  set(before "#define VITRINE_JOIN_(a, b) a##_##b\n#define VITRINE_JOIN(a, b) VITRINE_JOIN_(a, b)\n")
  set(behind "#undef VITRINE_JOIN_\n#undef VITRINE_JOIN\n")
  foreach(name IN LISTS VITRINE_OWN_NAMES)
    string(APPEND before "#define ${name} VITRINE_JOIN(${name}, VITRINE_FILE)\n")
    string(APPEND behind "#undef ${name}\n")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VITRINE_UNITY} UNITY_BUILD_BATCH_SIZE 8 UNITY_BUILD_UNIQUE_ID VITRINE_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${before}" UNITY_BUILD_CODE_AFTER_INCLUDE "${behind}")
endfunction()

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
  vitrine_unity(${name})
endfunction()
