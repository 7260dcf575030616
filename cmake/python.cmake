# The Python that runs the engine: -DPython3_EXECUTABLE, else the checkout's own environment, else what is found.
if(NOT DEFINED Python3_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python3_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH "Python of the engine")
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
