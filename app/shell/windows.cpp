#include "app/shell/windows.h"

namespace vitrine::app {

std::vector<std::unique_ptr<MainWindow>> openWindows(const QStringList& files) {
  std::vector<std::unique_ptr<MainWindow>> out;
  for (const QString& file : files.isEmpty() ? QStringList{QString()} : files) {
    out.push_back(std::make_unique<MainWindow>());
    out.back()->show();
    if (!file.isEmpty()) out.back()->openFile(file);
  }
  return out;
}

}  // namespace vitrine::app
