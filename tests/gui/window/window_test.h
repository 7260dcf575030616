// What tests of the whole window begin with: no stored settings, the dark theme, and the fixture as a file.
#pragma once

#include <QApplication>
#include <QTemporaryDir>

#include "app/shell/document/settings.h"
#include "tests/gui/fixture/fixture_session.h"
#include "views/kit/painting/theme.h"

namespace vitrine::fixture {

class WindowTest : public QObject {
 protected:
  void begin() {
    app::AppSettings::ignoreStored();
    kit::applyTheme(*qApp, kit::Theme::make(true));
    path_ = folder_.filePath("a.vitrine");
    ids_ = writeSession(path_.toStdString());
  }
  QTemporaryDir folder_;
  QString path_;
  Ids ids_;
};

}  // namespace vitrine::fixture
