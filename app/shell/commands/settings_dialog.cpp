#include "app/shell/commands/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include "app/shell/document/settings.h"
#include "views/kit/keys.h"
#include "views/kit/painting/theme.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::app {

using kit::theme;

namespace {
constexpr int kScales[] = {100, 125, 150, 175, 200};
}

SettingsDialog::SettingsDialog(Actions* actions, QWidget* parent) : QDialog(parent), actions_(actions) {
  setWindowTitle("Settings");
  resize(theme().px(560), theme().px(600));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().px(16), theme().px(16), theme().px(16), theme().px(12));
  column->setSpacing(theme().px(10));
  addLooks(column);
  addKeys(column);
  auto* close = new QPushButton("Close", this);
  close->setDefault(true);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  column->addWidget(close, 0, Qt::AlignRight);
}

void SettingsDialog::addLooks(QVBoxLayout* column) {
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(theme().px(16));
  auto* looks = new QComboBox(this);
  looks->setAccessibleName("Theme");
  looks->addItems({"System", "Light", "Dark"});
  looks->setCurrentIndex(static_cast<int>(AppSettings::theme()));
  connect(looks, &QComboBox::currentIndexChanged, this, [](int index) {
    AppSettings::setTheme(static_cast<ThemeChoice>(index));
    applyThemeSetting();
  });
  form->addRow("Theme", looks);
  auto* size = new QComboBox(this);
  size->setAccessibleName("Size of the interface");
  for (int percent : kScales) {
    size->addItem(QStringLiteral("%1 %").arg(percent), percent);
    if (percent <= qRound(AppSettings::scale() * 100)) size->setCurrentIndex(size->count() - 1);
  }
  connect(size, &QComboBox::currentIndexChanged, this, [size](int index) {
    AppSettings::setScale(size->itemData(index).toInt() / 100.0);
    applyThemeSetting();
  });
  form->addRow("Size", size);
  auto* motion = new QCheckBox("Nodes move to their places, jumps scroll", this);
  motion->setChecked(AppSettings::motion());
  connect(motion, &QCheckBox::toggled, this, [](bool on) {
    AppSettings::setMotion(on);
    applyThemeSetting();
  });
  form->addRow("Motion", motion);
  auto* single = new QCheckBox("Single letters are commands in views", this);
  single->setChecked(AppSettings::singleKeys());
  connect(single, &QCheckBox::toggled, this, [this](bool on) {
    AppSettings::setSingleKeys(on);
    actions_->readKeys();
  });
  form->addRow("Letters", single);
  auto* python = new QPushButton("Choose…", this);
  python->setToolTip(AppSettings::python());
  connect(python, &QPushButton::clicked, this, &SettingsDialog::pythonWanted);
  form->addRow("Interpreter", python);
  column->addLayout(form);
}

void SettingsDialog::addKeys(QVBoxLayout* column) {
  auto* filter = kit::searchField("Filter commands", "filter", this);
  column->addWidget(filter);
  list_ = new QTreeWidget(this);
  list_->setAccessibleName("Commands and their keys");
  list_->setHeaderLabels({"Command", "Keys"});
  list_->setRootIsDecorated(false);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  for (const kit::CommandInfo& info : kit::commands()) {
    if (!*info.id) continue;
    auto* row = new QTreeWidgetItem(list_, {QString::fromUtf8(info.title), QString()});
    row->setData(0, Qt::UserRole, QString::fromLatin1(info.id));
    row->setFont(1, theme().mono(12));
  }
  list_->setCurrentItem(list_->topLevelItem(0));
  column->addWidget(list_, 1);
  connect(filter, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (int i = 0; i < list_->topLevelItemCount(); ++i) {
      QTreeWidgetItem* row = list_->topLevelItem(i);
      row->setHidden(!(row->text(0) + ' ' + row->text(1)).contains(text, Qt::CaseInsensitive));
    }
  });
  auto* keys = new QHBoxLayout;
  key_ = new QKeySequenceEdit(this);
  key_->setAccessibleName("New key");
  set_ = new QPushButton("Set key", this);
  reset_ = new QPushButton("Reset", this);
  set_->setAutoDefault(false);
  reset_->setAutoDefault(false);
  keys->addWidget(key_, 1);
  keys->addWidget(set_);
  keys->addWidget(reset_);
  column->addLayout(keys);
  said_ = new QLabel(this);
  column->addWidget(said_);
  connect(set_, &QPushButton::clicked, this, [this] { remap(chosen(), key_->keySequence()); });
  connect(reset_, &QPushButton::clicked, this, [this] {
    actions_->resetKeys(chosen());
    said_->clear();
    refreshKeys();
  });
  connect(list_, &QTreeWidget::currentItemChanged, this, [this] {
    key_->clear();
    said_->clear();
  });
  refreshKeys();
}

QString SettingsDialog::chosen() const {
  const QTreeWidgetItem* row = list_->currentItem();
  return row ? row->data(0, Qt::UserRole).toString() : QString();
}

bool SettingsDialog::remap(const QString& command, const QKeySequence& key) {
  const QString owner = actions_->ownerOf(key);
  if (!owner.isEmpty() && owner != command) {
    said_->setText(QStringLiteral("%1 is the key of “%2”. Give that another key first.")
                       .arg(key.toString(QKeySequence::NativeText), (*actions_)[owner]->text()));
    return false;
  }
  actions_->setKeys(command, key.isEmpty() ? QList<QKeySequence>() : QList<QKeySequence>{key});
  said_->clear();
  refreshKeys();
  return true;
}

void SettingsDialog::refreshKeys() {
  for (int i = 0; i < list_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* row = list_->topLevelItem(i);
    QStringList keys;
    for (const QKeySequence& key : (*actions_)[row->data(0, Qt::UserRole).toString()]->shortcuts())
      keys << key.toString(QKeySequence::NativeText);
    row->setText(1, keys.join(", "));
  }
}

}  // namespace vitrine::app
