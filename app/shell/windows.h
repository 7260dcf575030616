// The windows that are open: a session has one of its own.
#pragma once

#include <QStringList>
#include <memory>
#include <vector>

#include "app/shell/main_window.h"

namespace vitrine::app {

// A window for each file, shown; without files the one that says what can be done.
std::vector<std::unique_ptr<MainWindow>> openWindows(const QStringList& files);

}  // namespace vitrine::app
