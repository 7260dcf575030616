# What is installed: a Python package that carries its programs, and scripts that start them. In a wheel the package
# lies at the root; else where the Python of the build looks for packages below the prefix, which is then a virtual
# environment. `cmake --install build --component vitrine --prefix ENVIRONMENT`.
if(NOT VITRINE_ENGINE)
  return()
endif()
if(SKBUILD)
  set(package vitrine)
  set(scripts ${SKBUILD_SCRIPTS_DIR})
  set(VITRINE_SCRIPT_PYTHON python)  # pip writes the environment's Python into it
else()
  set(package lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages/vitrine)
  set(scripts bin)
  set(VITRINE_SCRIPT_PYTHON ${Python3_EXECUTABLE})
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/python/vitrine/ DESTINATION ${package} COMPONENT vitrine
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${package} COMPONENT vitrine)
install(TARGETS _engine LIBRARY DESTINATION ${package} COMPONENT vitrine)
add_custom_target(vitrine_installed DEPENDS _engine)
foreach(program vitrine vitrine-cc vitrine-run vitrine-app)
  if(TARGET ${program})
    add_dependencies(vitrine_installed ${program})
    # Clang and Qt may lie where only the build looked.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program} RUNTIME DESTINATION ${package}/bin COMPONENT vitrine)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/start_program.py.in ${CMAKE_BINARY_DIR}/scripts/${program} @ONLY)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/scripts/${program} DESTINATION ${scripts} COMPONENT vitrine)
  endif()
endforeach()
