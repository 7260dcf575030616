#include "views/kit/accessible.h"

#include <QAccessibleWidget>
#include <map>

#include "views/kit/view.h"

namespace vitrine::kit {

using namespace session;

namespace {

class ViewAccess;

// One thing in sight. It is made when it is asked for and lives as long as its view's interface.
class ThingAccess : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  ThingAccess(View* view, Id id) : view_(view), id_(id) {}

  bool isValid() const override { return thing() != nullptr; }
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(view_); }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  QAccessible::Role role() const override { return QAccessible::ListItem; }
  void setText(QAccessible::Text, const QString&) override {}
  QString text(QAccessible::Text what) const override {
    return what == QAccessible::Name ? view_->spoken(id_) : QString();
  }
  QRect rect() const override {
    const auto found = thing();
    return found ? QRect(view_->mapToGlobal(found->box.topLeft()), found->box.size()) : QRect();
  }
  QAccessible::State state() const override {
    QAccessible::State out;
    out.selectable = out.focusable = true;
    out.selected = view_->isMarked(id_);
    out.focused = view_->isActive(id_);
    out.invisible = !isValid();
    return out;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (name == pressAction()) Q_EMIT view_->activate(id_);
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  std::unique_ptr<Thing> thing() const {
    for (const Thing& each : view_->things())
      if (each.id == id_) return std::make_unique<Thing>(each);
    return nullptr;
  }
  View* view_;
  Id id_;
};

// Its widgets come first, then what it paints.
class ViewAccess : public QAccessibleWidget {
 public:
  explicit ViewAccess(View* view) : QAccessibleWidget(view, QAccessible::List), view_(view) {}
  ~ViewAccess() override {
    for (const auto& [id, access] : made_) QAccessible::deleteAccessibleInterface(access);
  }

  int childCount() const override {
    return QAccessibleWidget::childCount() + static_cast<int>(view_->things().size());
  }
  QAccessibleInterface* child(int index) const override {
    const int widgets = QAccessibleWidget::childCount();
    if (index < widgets) return QAccessibleWidget::child(index);
    const std::vector<Thing> things = view_->things();
    const auto at = static_cast<size_t>(index - widgets);
    return at < things.size() ? access(things[at].id) : nullptr;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    const QPoint point = view_->mapFromGlobal(QPoint(x, y));
    for (const Thing& thing : view_->things())
      if (thing.box.contains(point)) return access(thing.id);
    return QAccessibleWidget::childAt(x, y);
  }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const std::vector<Thing> things = view_->things();
    for (size_t i = 0; i < things.size(); ++i)
      if (access(things[i].id) == child) return QAccessibleWidget::childCount() + static_cast<int>(i);
    return QAccessibleWidget::indexOfChild(child);
  }
  QString text(QAccessible::Text what) const override {
    if (what == QAccessible::Name) return view_->title();
    if (what == QAccessible::Description) return view_->subtitle();
    return QAccessibleWidget::text(what);
  }

 private:
  QAccessibleInterface* access(Id id) const {
    QAccessible::Id& made = made_[id];
    if (!made) made = QAccessible::registerAccessibleInterface(new ThingAccess(view_, id));
    return QAccessible::accessibleInterface(made);
  }
  View* view_;
  mutable std::map<Id, QAccessible::Id> made_;
};

QAccessibleInterface* make(const QString&, QObject* object) {
  auto* view = qobject_cast<View*>(object);
  return view ? new ViewAccess(view) : nullptr;
}

QString ofNode(const SessionData& d, const NodeRow& node) {
  QString out;
  const NodeFamily family = familyOf(node.family);
  out += ", " + (family == NodeFamily::None ? QString::fromStdString(node.kind) : familyTitle(family));
  out += ", " + d.type(node.type);
  std::string label = node.group_label;
  if (label.empty())
    for (Id later : relativesOf(d, node.id).derived)
      if (const KernelRow* kernel = d.kernels.find(later); kernel && label.empty()) label = kernel->label;
  return label.empty() ? out : out + ", in kernel " + QString::fromStdString(label);
}

}  // namespace

void installAccessible() {
  QAccessible::installFactory(make);
}

QString spokenText(const SessionData& session, const Selection& selection, Id id) {
  QString out = session.label(id);
  if (const NodeRow* node = session.nodes.find(id)) out += ofNode(session, *node);
  if (id == selection.active) return out + ", active";
  if (selection.isRelative(id)) return out + ", relative of the active one";
  return selection.isSelected(id) ? out + ", selected" : out;
}

}  // namespace vitrine::kit
