#include "app/shell/run/trust_dialog.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/visible.h"
#include "views/kit/painting/theme.h"

namespace vitrine::app {

namespace {

QString shownAs(const QString& text, Keep keep = Keep::Nothing) {
  return QString::fromStdString(visible(text.toStdString(), keep));
}

QString words(const QStringList& arguments) {
  QStringList out;
  for (const QString& word : arguments) out << shownAs(word);
  return out.join('\n');
}

QLabel* plain(const QString& text, QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);  // the session's words are never markup
  label->setWordWrap(true);
  label->setText(text);
  return label;
}

QPlainTextEdit* block(const QString& text, int lines, QWidget* parent) {
  auto* out = new QPlainTextEdit(text, parent);
  out->setReadOnly(true);
  out->setFont(kit::theme().mono(12));
  out->setLineWrapMode(QPlainTextEdit::NoWrap);
  out->setFixedHeight(kit::theme().px(18 * lines + 14));
  return out;
}

}  // namespace

TrustDialog::TrustDialog(const WouldRun& run, QWidget* parent) : QDialog(parent) {
  setWindowTitle(QStringLiteral("Run what this session says?"));
  auto* column = new QVBoxLayout(this);
  auto add = [&](const QString& title, const QString& text, int lines) {
    if (text.isEmpty()) return;
    column->addWidget(plain(title, this));
    column->addWidget(block(text, lines, this));
    shown_ += title + '\n' + text + '\n';
  };
  const QString why =
      QStringLiteral(
          "%1 was not recorded here by you, or was changed since. What it names runs with your rights.")
          .arg(shownAs(run.session));
  column->addWidget(plain(why, this));
  shown_ = why + '\n';
  add(QStringLiteral("File"), shownAs(run.file), 1);
  add(QStringLiteral("Arguments"), words(run.arguments),
      static_cast<int>(std::clamp<qsizetype>(run.arguments.size(), 1, 6)));
  add(QStringLiteral("Kernel that is compiled and called"), shownAs(run.kernel, Keep::Lines), 12);
  always_ = new QCheckBox(QStringLiteral("Trust this session from now on"), this);
  column->addWidget(always_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  buttons->addButton(QStringLiteral("Run it"), QDialogButtonBox::AcceptRole);
  buttons->button(QDialogButtonBox::Cancel)->setDefault(true);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  column->addWidget(buttons);
  resize(kit::theme().px(560), sizeHint().height());
}

TrustAnswer TrustDialog::answer() const {
  if (result() != Accepted) return TrustAnswer::No;
  return always_->isChecked() ? TrustAnswer::Always : TrustAnswer::Once;
}

QString TrustDialog::shown() const {
  return shown_;
}

TrustAnswer askToRun(const WouldRun& run, QWidget* parent) {
  TrustDialog dialog(run, parent);
  dialog.exec();
  return dialog.answer();
}

}  // namespace vitrine::app
