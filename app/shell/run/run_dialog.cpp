#include "app/shell/run/run_dialog.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGridLayout>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/shell/document/settings.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"
#include "views/kit/text/shown.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::app {

using kit::theme;

namespace {

constexpr int kMostRepeats = 10'000;

QLabel* quiet(const QString& text, QWidget* parent) {
  auto* out = new QLabel(parent);
  out->setTextFormat(Qt::PlainText);  // what stands in a file is never markup
  out->setText(text);
  out->setForegroundRole(QPalette::PlaceholderText);
  return out;
}

QWidget* beside(QWidget* field, QWidget* button) {
  auto* out = new QWidget(field->parentWidget());
  auto* row = new QHBoxLayout(out);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme().px(6));
  row->addWidget(field, 1);
  row->addWidget(button);
  return out;
}

QPushButton* button(const QString& text, QWidget* parent) {
  auto* out = new QPushButton(text, parent);
  out->setAutoDefault(false);
  out->setMinimumWidth(kit::textWidth(theme().ui(13), text) + theme().px(28));
  return out;
}

// What an empty field of a parameter says.
QString exampleOf(const EntryParameter& p) {
  if (!p.needed) return p.fallback + QStringLiteral(" where this is empty");
  const QString type = p.annotation;
  if (type == "int") return QStringLiteral("8");
  if (type == "float") return QStringLiteral("0.5");
  if (type == "bool") return QStringLiteral("True");
  if (type == "str") return QStringLiteral("'text'");
  return QStringLiteral("f32[8,128], i64[2,16]<1000, or a Python literal");
}

}  // namespace

RunDialog::RunDialog(const RunRequest& first, const RunRequest& last, QWidget* parent)
    : QDialog(parent), last_(last) {
  setWindowTitle(QStringLiteral("Run"));
  setObjectName(QStringLiteral("run-dialog"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().px(16), theme().px(16), theme().px(16), theme().px(12));
  column->setSpacing(theme().px(10));
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(theme().px(16));
  form->setVerticalSpacing(theme().px(8));
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  buildWhat(form);
  buildHow(form);
  buildSwitches(form);
  column->addLayout(form);
  buildEnd(column);
  connect(&reader_, &FileEntries::found, this, &RunDialog::show);
  set(first);
  resize(theme().px(640), sizeHint().height());
}

void RunDialog::buildWhat(QFormLayout* form) {
  file_ = new QLineEdit(this);
  file_->setAccessibleName(QStringLiteral("File"));
  auto* choose = button(QStringLiteral("Choose…"), this);
  connect(choose, &QPushButton::clicked, this, &RunDialog::chooseFile);
  connect(file_, &QLineEdit::editingFinished, this, &RunDialog::readFile);
  form->addRow(QStringLiteral("File"), beside(file_, choose));
  entry_ = new QComboBox(this);
  entry_->setAccessibleName(QStringLiteral("Entry"));
  entry_->setToolTip(
      QStringLiteral("What is called: what the file defines, a function, or a class without arguments"));
  connect(entry_, &QComboBox::currentIndexChanged, this, [this] {
    if (!filling_) showInputs();
  });
  form->addRow(QStringLiteral("Entry"), entry_);
  inputs_box_ = new QWidget(this);
  inputs_ = new QGridLayout(inputs_box_);
  inputs_->setContentsMargins(0, 0, 0, 0);
  inputs_->setHorizontalSpacing(theme().px(10));
  inputs_->setVerticalSpacing(theme().px(4));
  inputs_->setColumnStretch(1, 1);
  form->addRow(QStringLiteral("Inputs"), inputs_box_);
  script_ = new QLineEdit(this);
  script_->setAccessibleName(QStringLiteral("Arguments of the script"));
  script_->setFont(theme().mono(12));
  script_->setPlaceholderText(QStringLiteral("--epochs 1 \"with spaces\""));
  connect(script_, &QLineEdit::textChanged, this, &RunDialog::refresh);
  form->addRow(QStringLiteral("Arguments"), script_);
}

QComboBox* RunDialog::choice(QFormLayout* form, const char* title,
                             std::initializer_list<std::pair<const char*, const char*>> rows) {
  auto* out = new QComboBox(this);
  out->setAccessibleName(QString::fromUtf8(title));
  for (const auto& [text, value] : rows) out->addItem(QString::fromUtf8(text), QString::fromLatin1(value));
  connect(out, &QComboBox::currentIndexChanged, this, &RunDialog::refresh);
  form->addRow(QString::fromUtf8(title), out);
  return out;
}

void RunDialog::buildHow(QFormLayout* form) {
  mode_ = choice(form, "Mode",
                 {{"default", ""},
                  {"reduce-overhead: CUDA Graphs", "reduce-overhead"},
                  {"max-autotune: measures candidates", "max-autotune"},
                  {"max-autotune without CUDA Graphs", "max-autotune-no-cudagraphs"}});
  device_ = choice(form, "Device",
                   {{"as the file has it", ""}, {"CPU", "cpu"}, {"GPU", "cuda"}, {"second GPU", "cuda:1"}});
  target_ = choice(form, "Target",
                   {{"this machine: it runs", ""},
                    {"sm_80 (A100): compiled, not run", "sm_80"},
                    {"sm_86 (RTX 30): compiled, not run", "sm_86"},
                    {"sm_89 (L4, RTX 40): compiled, not run", "sm_89"},
                    {"sm_90 (H100): compiled, not run", "sm_90"},
                    {"sm_100 (B200): compiled, not run", "sm_100"}});
  sizes_ = choice(form, "Sizes",
                  {{"fixed, a symbol once one changes", ""},
                   {"symbols from the start", "yes"},
                   {"fixed: a new size is compiled anew", "no"}});
  repeats_ = new QLineEdit(this);
  repeats_->setAccessibleName(QStringLiteral("Measured calls"));
  repeats_->setFont(theme().mono(12));
  repeats_->setValidator(new QIntValidator(0, kMostRepeats, repeats_));
  repeats_->setToolTip(QStringLiteral("Of each side, eager and compiled; 0: nothing is measured"));
  connect(repeats_, &QLineEdit::textChanged, this, &RunDialog::refresh);
  form->addRow(QStringLiteral("Measured calls"), repeats_);
  python_ = new QComboBox(this);
  python_->setAccessibleName(QStringLiteral("Interpreter"));
  auto* choose = button(QStringLiteral("Choose…"), this);
  connect(choose, &QPushButton::clicked, this, &RunDialog::choosePython);
  connect(python_, &QComboBox::currentIndexChanged, this, [this] {
    if (!filling_) readFile();
  });
  form->addRow(QStringLiteral("Interpreter"), beside(python_, choose));
}

QCheckBox* RunDialog::toggle(QGridLayout* grid, const char* title, const char* about) {
  auto* out = new QCheckBox(QString::fromUtf8(title), this);
  out->setToolTip(QString::fromUtf8(about));
  connect(out, &QCheckBox::toggled, this, &RunDialog::refresh);
  grid->addWidget(out, grid->count() / 2, grid->count() % 2);
  return out;
}

void RunDialog::buildSwitches(QFormLayout* form) {
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(theme().px(16));
  grid->setVerticalSpacing(theme().px(4));
  train_ = toggle(grid, "Train: forward and backward",
                  "A module in training mode, and the gradients of the sum of its results");
  take_over_ = toggle(grid, "Take over torch.compile", "Compile what the script gives to torch.compile");
  eager_too_ = toggle(grid, "Run the script eagerly, too",
                      "Once more, so that a step can be compared: what it writes or sends happens twice");
  fullgraph_ = toggle(grid, "One graph, or an error", "fullgraph=True: an error instead of a graph break");
  freezing_ = toggle(grid, "Weights are constant", "What is made of them alone is kept between calls");
  check_ = toggle(grid, "Compare every graph with eager", "Not the outputs only");
  watch_ = toggle(grid, "Record again when it changes",
                  "The file, or a module that it imports from its folder. A run that fails leaves the last "
                  "good one shown");
  form->addRow(QString(), grid);
}

void RunDialog::buildEnd(QVBoxLayout* column) {
  command_ = new QLineEdit(this);
  command_->setReadOnly(true);
  command_->setFont(theme().mono(11));
  command_->setAccessibleName(QStringLiteral("The same in a terminal"));
  auto* copy =
      kit::iconButton(QStringLiteral("export"), QStringLiteral("Copy as words for a terminal"), this);
  connect(copy, &QToolButton::clicked, this,
          [this] { QApplication::clipboard()->setText(command_->text()); });
  column->addWidget(beside(command_, copy));
  said_ = new QLabel(this);
  said_->setTextFormat(Qt::PlainText);
  said_->setWordWrap(true);
  said_->setMinimumHeight(theme().px(34));
  said_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  column->addWidget(said_);
  auto* row = new QHBoxLayout;
  again_ = button(QStringLiteral("As last time"), this);
  again_->setToolTip(QFileInfo(last_.file).fileName() + ' ' + last_.arguments().join(' '));
  again_->setEnabled(!last_.file.isEmpty());
  connect(again_, &QPushButton::clicked, this, [this] { set(last_); });
  auto* cancel = button(QStringLiteral("Cancel"), this);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  run_ = new QPushButton(QStringLiteral("Run"), this);
  run_->setDefault(true);
  connect(run_, &QPushButton::clicked, this, [this] {
    if (!problem().isEmpty()) return refresh();
    const RunRequest wanted = request();
    accept();
    Q_EMIT runWanted(wanted);
  });
  row->addWidget(again_);
  row->addStretch(1);
  row->addWidget(cancel);
  row->addWidget(run_);
  column->addLayout(row);
}

namespace {

void choose(QComboBox* box, const QString& value) {
  int at = box->findData(value);
  if (at < 0) {  // another's word: it stays what it is
    box->addItem(value, value);
    at = box->count() - 1;
  }
  box->setCurrentIndex(at);
}

}  // namespace

void RunDialog::set(const RunRequest& request) {
  filling_ = true;
  kept_ = request;
  file_->setText(request.file);
  script_->setText(shellWords(request.script));
  choose(mode_, request.mode);
  choose(device_, request.device);
  choose(target_, request.target);
  choose(sizes_, request.dynamic == "auto" ? QString() : request.dynamic);
  repeats_->setText(QString::number(request.repeats));
  train_->setChecked(request.train);
  take_over_->setChecked(request.take_over);
  eager_too_->setChecked(request.eager_too);
  fullgraph_->setChecked(request.fullgraph);
  freezing_->setChecked(request.freezing);
  check_->setChecked(request.check);
  watch_->setChecked(request.watch);
  if (python_->count() == 0) python_->addItem(AppSettings::python(), QString());
  choose(python_, request.python);
  filling_ = false;
  readFile();
}

RunRequest RunDialog::request() const {
  RunRequest out = kept_;
  out.file = file_->text().trimmed();
  out.entry = entry_->currentData().toString();
  out.inputs.clear();
  for (const QLineEdit* field : fields_)
    if (const QString text = field->text().trimmed(); !text.isEmpty()) out.inputs << text;
  out.script = script_->isEnabled() ? QProcess::splitCommand(script_->text()) : QStringList();
  out.mode = mode_->currentData().toString();
  out.device = device_->currentData().toString();
  out.target = target_->currentData().toString();
  out.dynamic = sizes_->currentData().toString();
  out.python = python_->currentData().toString();
  out.repeats = qBound(0, repeats_->text().toInt(), kMostRepeats);
  out.train = train_->isChecked();
  out.take_over = take_over_->isChecked();
  out.eager_too = eager_too_->isChecked();
  out.fullgraph = fullgraph_->isChecked();
  out.freezing = freezing_->isChecked();
  out.check = check_->isChecked();
  out.watch = watch_->isChecked();
  return out;
}

const FileEntry* RunDialog::entry() const {
  const int at = entry_->currentIndex();
  return at >= 0 && at < contents_.entries.size() ? &contents_.entries[at] : nullptr;
}

QString RunDialog::problem() const {
  if (!contents_.problem.isEmpty()) return contents_.problem;
  const FileEntry* chosen = entry();
  if (!chosen) return QStringLiteral("Choose a Python file.");
  if (!chosen->problem.isEmpty()) return chosen->problem;
  const RunRequest asked = request();
  if (!asked.target.isEmpty() && (asked.train || asked.check || asked.take_over || !asked.device.isEmpty()))
    return QStringLiteral(
        "With a target nothing runs: no device, no training, no comparison, no taking over.");
  const bool script = chosen->name.isEmpty() && contents_.script;
  if (script && (asked.train || !asked.device.isEmpty() || !asked.target.isEmpty()))
    return QStringLiteral("Training, device and target need an entry: the file is a script.");
  if (asked.eager_too && asked.check)
    return QStringLiteral("What compares every graph makes steps longer: eager's cannot be set beside them.");
  if (!chosen->name.isEmpty() && asked.take_over)
    return QStringLiteral("What takes over torch.compile is the script itself, without an entry.");
  QString empty;
  for (int i = 0; i < fields_.size(); ++i) {
    const QString text = fields_[i]->text().trimmed();
    const EntryParameter& parameter = chosen->parameters[i];
    if (text.isEmpty() && (parameter.needed && parameter.by_place))
      return QStringLiteral("%1 has no value yet.").arg(parameter.name);
    if (text.isEmpty()) empty = empty.isEmpty() ? parameter.name : empty;
    if (!text.isEmpty() && !empty.isEmpty())
      return QStringLiteral("Inputs are given in order: %1 needs a value before %2 has one.")
          .arg(empty, parameter.name);
    if (const QString bad = inputProblem(text); !bad.isEmpty()) return parameter.name + ": " + bad;
  }
  return {};
}

void RunDialog::readFile() {
  contents_ = {};
  contents_.problem = QStringLiteral("Reading the file.");
  const QString python = python_->currentData().toString();
  reader_.read(python.isEmpty() ? AppSettings::python() : python, file_->text().trimmed());
  refresh();
}

void RunDialog::show(const FileContents& contents) {
  contents_ = contents;
  filling_ = true;
  const QString wanted = entry_->count() ? entry_->currentData().toString() : kept_.entry;
  entry_->clear();
  for (const FileEntry& each : contents_.entries)
    entry_->addItem(
        each.name.isEmpty() ? each.text + (contents_.script ? "" : ", as the file defines it") : each.text,
        each.name);
  const QString first =
      kept_.file == file_->text().trimmed() && !kept_.entry.isEmpty() ? kept_.entry : wanted;
  entry_->setCurrentIndex(qMax(0, entry_->findData(first)));
  filling_ = false;
  showInputs();
  Q_EMIT contentsRead();
}

void RunDialog::showInputs() {
  qDeleteAll(inputs_box_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
  fields_.clear();
  const FileEntry* chosen = entry();
  const bool own = chosen && chosen->name.isEmpty();
  const QStringList values = chosen && chosen->name == kept_.entry ? kept_.inputs : QStringList();
  if (chosen && !own) {
    for (const EntryParameter& each : chosen->parameters) {
      if (!each.by_place) break;
      const int row = static_cast<int>(fields_.size());
      auto* name = quiet(each.name + (each.annotation.isEmpty() ? "" : ": " + each.annotation), inputs_box_);
      name->setMaximumWidth(theme().px(180));
      auto* field = new QLineEdit(values.value(row), inputs_box_);
      field->setFont(theme().mono(12));
      field->setAccessibleName(each.name);
      field->setPlaceholderText(exampleOf(each));
      connect(field, &QLineEdit::textChanged, this, &RunDialog::refresh);
      inputs_->addWidget(name, row, 0);
      inputs_->addWidget(field, row, 1);
      fields_ << field;
    }
  }
  if (fields_.isEmpty())
    inputs_->addWidget(quiet(!chosen                   ? QStringLiteral("–")
                             : own && contents_.script ? QStringLiteral("the script's own")
                             : own                     ? QStringLiteral("the file defines them")
                                                       : QStringLiteral("it takes none"),
                             inputs_box_),
                       0, 0, 1, 2);
  const bool script = own && contents_.script;
  script_->setEnabled(script);
  take_over_->setEnabled(own);
  if (!own) take_over_->setChecked(false);
  eager_too_->setEnabled(script);
  if (!script) eager_too_->setChecked(false);
  if (script && contents_.torch_compile && kept_.file != file_->text().trimmed())
    take_over_->setChecked(true);
  // The row is as high as what stands in it: the form would go by what stood there before.
  const auto rows = static_cast<int>(qMax<qsizetype>(1, fields_.size()));
  inputs_box_->setFixedHeight(fields_.isEmpty() ? theme().px(20)
                                                : rows * theme().px(24) + (rows - 1) * theme().px(4));
  layout()->activate();
  resize(qMax(width(), theme().px(640)), sizeHint().height());
  refresh();
}

void RunDialog::refresh() {
  if (filling_) return;
  const QString bad = problem();
  run_->setEnabled(bad.isEmpty());
  const RunRequest asked = request();
  command_->setText(asked.commandLine());
  command_->setCursorPosition(0);
  QString told = bad;
  if (bad.isEmpty() && entry() && entry()->name.isEmpty() && contents_.script)
    told = contents_.half.isEmpty()
               ? QStringLiteral("As a script: what it gives to vitrine.compile%1 is recorded.")
                     .arg(asked.take_over ? QStringLiteral(" and torch.compile") : QString())
               : QStringLiteral("As a script, since %1.").arg(contents_.half);
  said_->setText(kit::shown(told, true));
}

void RunDialog::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(
      this, QStringLiteral("Python file"), file_->text(),
      QStringLiteral("Python, notebooks, exported programs (*.py *.ipynb *.pt2)"));
  if (path.isEmpty()) return;
  file_->setText(path);
  readFile();
}

void RunDialog::choosePython() {
  const QString path =
      QFileDialog::getOpenFileName(this, QStringLiteral("Python interpreter"), python_->currentText());
  if (!path.isEmpty()) choose(python_, path);
}

}  // namespace vitrine::app
