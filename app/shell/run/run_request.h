// What a run is asked for: the words of `vitrine run` as fields of a dialog, and back again.
#pragma once

#include <QString>
#include <QStringList>

namespace vitrine::app {

struct RunRequest {
  QString file, python;                   // python "": the one of the settings
  QString entry;                          // "": what the file defines, or the script itself
  QStringList inputs;                     // as --input takes them
  QStringList script;                     // behind --
  QString mode, device, target, dynamic;  // "": as it is without
  int repeats = 20;
  bool train = false, take_over = false, fullgraph = false, freezing = false, grad = false, check = false;
  bool watch = false, eager_too = false;
  QStringList others;  // words that the dialog has no field for

  QStringList arguments() const;  // as vitrine._tools.run takes them, without the file
  QString commandLine() const;    // as it is typed into a terminal
  static RunRequest of(const QString& file, const QStringList& arguments);
};

// Words as a shell takes them, each in quotes where it needs some.
QString shellWords(const QStringList& words);

// "" where `spec` is what --input takes: a shape such as f32[8,128], i64[2,16]<1000, or a Python literal;
// else what is wrong with it. Whether a literal is one is Python's to say.
QString inputProblem(const QString& spec);

}  // namespace vitrine::app
