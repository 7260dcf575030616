# Headers of others that nearly every file reads, parsed once a build folder. None of our own is among them: touching
# one would rebuild everything. VITRINE_PRECOMPILED=OFF shows whether each file includes what it needs.
option(VITRINE_PRECOMPILED "Parse the standard library's and Qt's headers once" ON)

# vitrine_precompiled(name HEADER... LINK target...): a library of nothing but these headers.
function(vitrine_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Its target carries the precompiled headers.\n")
  add_library(${name} STATIC ${source})
  set_target_properties(${name} PROPERTIES AUTOMOC OFF)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  # What ccache reads instead of the parsed headers, which differ from build to build: they hold addresses. A wheel's
  # build has looked for Qt before it comes to the standard library's headers.
  set(of_qt "")
  if(ARG_LINK)
    set(of_qt "${Qt6_VERSION}")
  endif()
  string(SHA256 sum "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${ARG_HEADERS} ${of_qt}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum CONTENT "${sum}\n")
endfunction()

set(VITRINE_STD_HEADERS
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstdio> <cstring> <filesystem> <functional> <limits> <map> <memory>
  <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(VITRINE_QT_HEADERS
  <QAbstractItemModel> <QApplication> <QFileInfo> <QHash> <QHeaderView> <QKeyEvent> <QLabel> <QLineEdit> <QMenu>
  <QMouseEvent> <QObject> <QPainter> <QPainterPath> <QPointer> <QRegularExpression> <QScrollBar> <QString> <QStringList>
  <QStyledItemDelegate> <QTableView> <QTimer> <QToolTip> <QTreeView> <QVBoxLayout> <QWidget>)
if(VITRINE_PRECOMPILED)
  vitrine_precompiled(vitrine_std_headers HEADERS ${VITRINE_STD_HEADERS})
endif()

# Which of the two a target reads.
function(vitrine_use_precompiled target kind)
  if(VITRINE_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM vitrine_${kind}_headers)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")  # GCC refuses them where code is compiled as -fPIE
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()
