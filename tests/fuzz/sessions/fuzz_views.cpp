// libFuzzer on what the window paints of a session: an eighth of it each time, by the file's bytes.
#include <QApplication>
#include <functional>

#include "app/shell/document/settings.h"
#include "tests/fuzz/sessions/fuzz_target.h"
#include "tests/fuzz/sessions/session_file.h"
#include "tests/fuzz/sessions/view_reading.h"
#include "views/kit/painting/theme.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  new QApplication(*argc, *argv);  // lives as long as the process
  vitrine::app::AppSettings::ignoreStored();
  vitrine::kit::Theme theme = vitrine::kit::Theme::make(true);
  theme.motion = false;
  vitrine::kit::applyTheme(*qApp, theme);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const vitrine::fuzz::SessionFile file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  file.write(bytes);
  vitrine::fuzz::paint_part(file.path(), std::hash<std::string_view>()(bytes), 8);
  return 0;
}
