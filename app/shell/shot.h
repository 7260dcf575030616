// `vitrine-app --shot SESSION VIEW OUT.png`: renders one view, a stage or the whole window offscreen, the
// same picture everywhere.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <string>

#include "core/base/result.h"

namespace vitrine::app {

struct ShotOptions {
  QString session, view, out;
  bool dark = false;
  QSize size;  // logical; empty = the view's default
  double scale = 1;
  QString select, hover;  // entity or text
  QString layout;         // of the window: "Explore" ...
  QString compare;        // another session: both in the window that compares
};

// Errors: an unknown option or view, a session that cannot be opened, a picture that cannot be written.
Result<ShotOptions> parseShot(const QStringList& arguments);
Status takeShot(const ShotOptions& options);
std::string shotUsage();

}  // namespace vitrine::app
