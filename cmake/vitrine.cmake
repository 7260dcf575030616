# GCC 12 tells of overflows in std::string that there are none of, once its headers are precompiled.
set(VITRINE_WARNINGS -Wall -Wextra $<$<BOOL:${VITRINE_STRICT}>:-Werror> -Wno-missing-field-initializers -Wno-unused-parameter
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

# The files of a folder are compiled as one, up to nine: nearly all of a file's time is its headers. OFF compiles each by itself,
# which is quicker where one file is edited at a time, and shows what a file forgot to include.
option(VITRINE_UNITY "Compile several files of a library as one" ON)
# Names that a file may have for itself: its table, and what its rows are short for. The others differ within a library.
set(VITRINE_OWN_NAMES kRows kFamily kLoop kLower kNoGradient kOpaque kThreads kDeep
    kRow kTop kLeft kBottom kGap kLabels kTitle kMostBytes kMostNs kNameFrom kPillHeight kTickMs kMostSlices)

# vitrine_units(OUT target folder sources): the units of one folder, nine files at most in each. A unit names its files
# from the source folder, so that ccache has them for every clone.
function(vitrine_units out target folder sources)
  set(before "#define VITRINE_JOIN_(a, b) a##_##b\n#define VITRINE_JOIN(a, b) VITRINE_JOIN_(a, b)\n")
  set(behind "#undef VITRINE_JOIN_\n#undef VITRINE_JOIN\n#undef VITRINE_FILE\n")
  foreach(name IN LISTS VITRINE_OWN_NAMES)
    string(APPEND before "#define ${name} VITRINE_JOIN(${name}, VITRINE_FILE)\n")
    string(APPEND behind "#undef ${name}\n")
  endforeach()
  list(LENGTH sources count)
  math(EXPR last "(${count} + 8) / 9 - 1")
  set(units)
  foreach(number RANGE ${last})
    math(EXPR first "${count} * ${number} / (${last} + 1)")
    math(EXPR length "${count} * (${number} + 1) / (${last} + 1) - ${first}")
    list(SUBLIST sources ${first} ${length} files)
    set(text "")
    foreach(file IN LISTS files)
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      string(MAKE_C_IDENTIFIER ${path} name)
      string(APPEND text "#define VITRINE_FILE ${name}\n${before}#include \"${path}\"\n${behind}\n")
    endforeach()
    string(MAKE_C_IDENTIFIER "${folder}" name)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/units/${target}/${name}_${number}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    list(APPEND units ${unit})
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# vitrine_library(name DIR folder... LINK target... [HEADERS qt] [SINGLE_FILES]): one static library from every .cpp of the named
# folders, relative to the caller, with the standard library's precompiled headers, or with Qt's too. Files are found by
# a glob, so a new operator, pass or view touches no build file.
function(vitrine_library name)
  cmake_parse_arguments(ARG "SINGLE_FILES" "HEADERS" "DIR;LINK" ${ARGN})
  set(sources)
  foreach(dir IN LISTS ARG_DIR)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.h)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
    if(VITRINE_UNITY AND NOT ARG_SINGLE_FILES AND found)
      vitrine_units(found ${name} ${dir} "${found}")
    endif()
    list(APPEND sources ${headers} ${found})
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
