// What can be run in a Python file, as the package's entries.py reads it from the text. Nothing of the file
// runs.
#pragma once

#include <QList>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QTimer>

namespace vitrine::app {

struct EntryParameter {
  QString name, annotation, fallback;  // fallback: its default as Python, "" = it has none
  bool needed = true, by_place = true;
};

struct FileEntry {
  QString name, text;  // name "": what the file defines; text: how it is called
  QString problem;     // why it cannot be called, "" = it can
  QList<EntryParameter> parameters;
};

struct FileContents {
  QList<FileEntry> entries;
  bool script = false;         // without an entry's name the file runs as a script
  bool torch_compile = false;  // it calls torch.compile
  QString half;                // "it defines model, but no inputs"
  QString problem;             // why nothing could be read
};

class FileEntries : public QObject {
  Q_OBJECT
 public:
  explicit FileEntries(QObject* parent = nullptr);
  ~FileEntries() override;
  void read(const QString& python, const QString& file);  // found() follows, of the last one asked for

 Q_SIGNALS:
  void found(const vitrine::app::FileContents& contents);

 private:
  void finish();
  QProcess process_;
  QTimer late_;  // an interpreter that does not answer
  QString file_;
};

FileContents fileContents(const QByteArray& json);

}  // namespace vitrine::app
