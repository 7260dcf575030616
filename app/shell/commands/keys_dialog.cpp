#include "app/shell/commands/keys_dialog.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "views/kit/keys.h"
#include "views/kit/painting/theme.h"

namespace vitrine::app {

using kit::theme;

namespace {

constexpr int kColumns = 3;

struct KeyGroup {
  QString title;
  std::vector<std::pair<QString, QString>> rows;  // key, what it does
};

// The keys as they are now, which may be the user's own.
std::vector<KeyGroup> groupsOf(const Actions& actions) {
  std::vector<KeyGroup> out;
  for (const kit::CommandInfo& info : kit::commands()) {
    const QAction* action = *info.id ? actions[QString::fromLatin1(info.id)] : nullptr;
    QStringList keys;
    if (action)
      for (const QKeySequence& key : action->shortcuts()) keys << key.toString(QKeySequence::NativeText);
    if (keys.isEmpty() && *info.keys) keys = QString::fromLatin1(info.keys).split(' ');
    if (keys.isEmpty()) continue;
    const QString menu =
        *info.menu ? QString::fromLatin1(info.menu).section('/', 0, 0) : QStringLiteral("In a view");
    auto group = std::find_if(out.begin(), out.end(), [&](const KeyGroup& g) { return g.title == menu; });
    if (group == out.end()) group = out.insert(out.end(), KeyGroup{menu, {}});
    group->rows.emplace_back(keys.join(QStringLiteral(", ")), QString::fromUtf8(info.title));
  }
  return out;
}

QWidget* groupWidget(const KeyGroup& group, QWidget* parent) {
  auto* out = new QWidget(parent);
  auto* grid = new QGridLayout(out);
  grid->setContentsMargins(0, 0, 0, theme().px(12));
  grid->setHorizontalSpacing(theme().px(12));
  grid->setVerticalSpacing(theme().px(3));
  grid->setColumnStretch(1, 1);
  auto label = [&](const QString& text, const QFont& font, int row, int column, int span) {
    auto* made = new QLabel(text, out);
    made->setFont(font);
    made->setTextFormat(Qt::PlainText);
    grid->addWidget(made, row, column, 1, span);
  };
  label(group.title, theme().ui(12, 600), 0, 0, 2);
  int row = 1;
  for (const auto& [key, title] : group.rows) {
    label(key, theme().mono(12), row, 0, 1);
    label(title, theme().ui(12), row++, 1, 1);
  }
  return out;
}

}  // namespace

KeysDialog::KeysDialog(const Actions& actions, QWidget* parent) : QDialog(parent) {
  setWindowTitle("Keys");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().px(16), theme().px(16), theme().px(16), theme().px(12));
  auto* area = new QScrollArea(this);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  auto* all = new QWidget(area);
  auto* columns = new QHBoxLayout(all);
  columns->setContentsMargins(0, 0, 0, 0);
  columns->setSpacing(theme().px(28));
  const std::vector<KeyGroup> groups = groupsOf(actions);
  size_t lines = 0, taken = 0;
  for (const KeyGroup& group : groups) lines += group.rows.size() + 2;
  QVBoxLayout* current = nullptr;
  for (const KeyGroup& group : groups) {
    if (!current || taken * kColumns >= lines * static_cast<size_t>(columns->count())) {
      if (current) current->addStretch(1);
      columns->addLayout(current = new QVBoxLayout, 1);
    }
    current->addWidget(groupWidget(group, all));
    taken += group.rows.size() + 2;
  }
  if (current) current->addStretch(1);
  area->setWidget(all);
  column->addWidget(area, 1);
  auto* close = new QPushButton("Close", this);
  close->setDefault(true);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  column->addWidget(close, 0, Qt::AlignRight);
  const QSize room = parent ? parent->window()->size() : QSize(1024, 640);
  resize(std::min(all->sizeHint().width() + theme().px(56), room.width() - theme().px(40)),
         std::min(all->sizeHint().height() + theme().px(80), room.height() - theme().px(60)));
}

}  // namespace vitrine::app
