// What `vitrine run` can be asked, as a dialog: file, entry, inputs by its signature, how it is compiled,
// where it runs. What it says can be copied as the words of a terminal.
#pragma once

#include <QDialog>

#include "app/bridge/file_entries.h"
#include "app/shell/run/run_request.h"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace vitrine::app {

class RunDialog : public QDialog {
  Q_OBJECT
 public:
  RunDialog(const RunRequest& first, const RunRequest& last, QWidget* parent);
  void set(const RunRequest& request);  // fills every field
  RunRequest request() const;           // what the fields say
  QString problem() const;              // why it cannot run, "" = it can
  const FileContents& contents() const { return contents_; }

 Q_SIGNALS:
  void contentsRead();
  void runWanted(const vitrine::app::RunRequest& request);

 private:
  void buildWhat(QFormLayout* form);
  void buildHow(QFormLayout* form);
  void buildSwitches(QFormLayout* form);
  void buildEnd(QVBoxLayout* column);
  QComboBox* choice(QFormLayout* form, const char* title,
                    std::initializer_list<std::pair<const char*, const char*>> rows);
  QCheckBox* toggle(QGridLayout* grid, const char* title, const char* about);
  void readFile();
  void show(const FileContents& contents);
  void showInputs();  // of the entry that is chosen
  void refresh();
  void chooseFile();
  void choosePython();
  const FileEntry* entry() const;

  RunRequest kept_, last_;  // what no field shows; what the last run was
  FileContents contents_;
  FileEntries reader_;
  bool filling_ = false;
  QLineEdit *file_, *script_, *repeats_, *command_;
  QComboBox *entry_, *mode_, *device_, *target_, *sizes_, *python_;
  QWidget* inputs_box_;
  QGridLayout* inputs_;
  QList<QLineEdit*> fields_;  // one a parameter
  QCheckBox *train_, *take_over_, *eager_too_, *fullgraph_, *freezing_, *check_, *watch_;
  QLabel* said_;
  QPushButton *run_, *again_;
};

}  // namespace vitrine::app
