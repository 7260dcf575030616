#include "app/shell/commands/actions.h"

#include <QAbstractButton>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>

#include "app/shell/document/settings.h"
#include "views/kit/keys.h"

namespace vitrine::app {

namespace {

bool isTextField(const QWidget* widget) {
  const auto* edit = qobject_cast<const QPlainTextEdit*>(widget);
  return qobject_cast<const QLineEdit*>(widget) || (edit && !edit->isReadOnly());
}

// Enter acts on what has the focus, and Space presses the button that has it: neither is taken from it.
bool belongsToFocus(const QKeyEvent& key, const QWidget* widget) {
  if (!widget || key.modifiers() & ~Qt::KeypadModifier) return false;
  if (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) return true;
  return key.key() == Qt::Key_Space && qobject_cast<const QAbstractButton*>(widget);
}

}  // namespace

Actions::Actions(QWidget* window) : QObject(window), window_(window) {
  for (const kit::CommandInfo& info : kit::commands()) {
    if (!*info.id) continue;
    auto* action = new QAction(QString::fromUtf8(info.title), this);
    action->setShortcutContext(Qt::WindowShortcut);
    action->setEnabled(false);  // until something acts on it
    actions_.insert(QString::fromLatin1(info.id), action);
    window->addAction(action);
  }
  readKeys();
  qApp->installEventFilter(this);
}

void Actions::readKeys() {
  const bool single = AppSettings::singleKeys();
  for (const kit::CommandInfo& info : kit::commands()) {
    QAction* action = actions_.value(QString::fromLatin1(info.id));
    if (!action) continue;
    const QString own = AppSettings::keys(QString::fromLatin1(info.id));
    QList<QKeySequence> keys;
    for (const QString& key :
         (own.isNull() ? QString::fromLatin1(info.keys) : own).split(' ', Qt::SkipEmptyParts))
      if (single || !info.single || !own.isNull()) keys << QKeySequence(key);
    action->setShortcuts(keys);
  }
}

void Actions::setKeys(const QString& id, const QList<QKeySequence>& keys) {
  QStringList words;
  for (const QKeySequence& key : keys) words << key.toString(QKeySequence::PortableText).remove(' ');
  AppSettings::setKeys(id, words.isEmpty() ? QStringLiteral("") : words.join(' '));
  if (QAction* action = actions_.value(id)) action->setShortcuts(keys);
}

void Actions::resetKeys(const QString& id) {
  AppSettings::setKeys(id, QString());
  readKeys();
}

QString Actions::ownerOf(const QKeySequence& key) const {
  if (key.isEmpty()) return {};
  for (auto it = actions_.begin(); it != actions_.end(); ++it)
    if (it.value()->shortcuts().contains(key)) return it.key();
  return {};
}

void Actions::on(const QString& id, std::function<void()> act) {
  QAction* action = actions_.value(id);
  if (!action) return;
  action->setEnabled(true);
  connect(action, &QAction::triggered, this, [act = std::move(act)] { act(); });
}

void Actions::fill(QMenuBar* bar, const QHash<QString, std::function<void(QMenu*)>>& at) const {
  QHash<QString, QMenu*> menus;
  for (const char* name : {"File", "Edit", "View", "Film", "Run", "Window", "Help"})
    menus.insert(QString::fromLatin1(name), bar->addMenu(QString::fromLatin1(name)));
  for (const kit::CommandInfo& info : kit::commands()) {
    for (const QString& name : QString::fromLatin1(info.menu).split(' ', Qt::SkipEmptyParts)) {
      if (name.contains('/') && !menus.contains(name))
        menus.insert(name, menus.value(name.section('/', 0, 0))->addMenu(name.section('/', 1)));
      QMenu* menu = menus.value(name);
      if (!menu) continue;
      if (*info.id)
        menu->addAction(actions_.value(QString::fromLatin1(info.id)));
      else if (const auto place = at.find(QString::fromLatin1(info.title)); place != at.end())
        (*place)(menu);
      else
        menu->addSeparator();
    }
  }
}

bool Actions::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      belongsToFocus(*static_cast<QKeyEvent*>(event), qobject_cast<QWidget*>(watched))) {
    event->accept();
    return true;
  }
  // A text field takes single keys for itself before they become shortcuts.
  if (event->type() == QEvent::ShortcutOverride && isTextField(qobject_cast<QWidget*>(watched))) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (!(key->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) && key->key() != Qt::Key_Escape &&
        (key->key() < Qt::Key_F1 || key->key() > Qt::Key_F35))
      event->accept();
    return event->isAccepted() && !key->text().isEmpty() && key->text()[0].isPrint();
  }
  return false;
}

}  // namespace vitrine::app
