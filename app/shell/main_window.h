#pragma once
#include <QMainWindow>

#include "core/base/result.h"
namespace vitrine::app {
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  Status openSync(const QString&) { return std::nullopt; }
  void openFile(const QString&) {}
  bool chooseLayout(const QString&) { return true; }
  bool activateText(const QString&) { return true; }
  void hoverText(const QString&) {}
  void settle() {}
};
}  // namespace vitrine::app
