// What tests of the whole window begin with: no stored settings, the dark theme, and the fixture as a file.
#pragma once

#include <QApplication>
#include <QTemporaryDir>

#include "app/shell/document/settings.h"
#include "app/shell/main_window.h"
#include "app/shell/panes/dock_set.h"
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
  // The view of a dock over the session; nullptr: the session does not open.
  template <class View>
  static View* raised(app::MainWindow& window, const QString& session, const char* dock) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
    if (window.openSync(session)) return nullptr;
    window.docks()->raise(dock);
    window.settle();
    return qobject_cast<View*>(window.docks()->dock(dock)->host()->view());
  }
  QTemporaryDir folder_;
  QString path_;
  Ids ids_;
};

}  // namespace vitrine::fixture
