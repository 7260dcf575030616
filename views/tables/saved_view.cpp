#include "views/tables/saved_view.h"

#include <QLabel>
#include <QToolButton>
#include <algorithm>

#include "views/kit/session/alike.h"
#include "views/kit/text/qt_text.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

using namespace kit;

namespace {

QString word_of(PinAs as) {
  return as == PinAs::Saved ? QStringLiteral("saved") : QStringLiteral("recomputed");
}

QString link(const char* command, const QString& text) {
  return QStringLiteral("<a href=\"%1\" style=\"color:%2\">%3</a>")
      .arg(QLatin1String(command), theme().accent.name(), text);
}

}  // namespace

SavedView::SavedView(Jobs* jobs, QWidget* parent)
    : TableView(kSavedTable, jobs, parent), strip_(new QLabel(this)) {
  strip_->setTextFormat(Qt::RichText);
  strip_->setWordWrap(true);
  strip_->setBackgroundRole(QPalette::Window);
  strip_->setAutoFillBackground(true);
  strip_->setMargin(theme().px(8));
  strip_->setFont(theme().ui(12));
  strip_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(strip_, &QLabel::linkActivated, this, [this](const QString& href) { act(href.toStdString()); });
  refresh();
}

const session::CrossingRow* SavedView::activeCrossing() const {
  if (!session()) return nullptr;
  const Id shown = canShow(selection().active);
  for (const auto& row : session()->crossings.of(session()->forwardOf(compilation())))
    if (shown && (row.node == shown || row.backward_node == shown)) return &row;
  return nullptr;
}

std::vector<const session::CrossingRow*> SavedView::chosenCrossings() const {
  const session::CrossingRow* active = activeCrossing();
  if (!active) return {};
  std::vector<const session::CrossingRow*> out{active};
  for (const auto& row : session()->crossings.of(session()->forwardOf(compilation()))) {
    const Id id = row.node ? row.node : row.backward_node;
    if (&row != active && row.kind == active->kind && selection().isSelected(id)) out.push_back(&row);
  }
  return out;
}

QList<QWidget*> SavedView::headerControls() {
  QList<QWidget*> out = TableView::headerControls();
  if (!pin_) {
    pin_ = iconButton(QStringLiteral("swap"),
                      QStringLiteral("Pin the active tensor, and those selected with it: computed again "
                                     "instead of kept, or kept instead (P)"),
                      this);
    connect(pin_, &QToolButton::clicked, this, &SavedView::pinActive);
    refresh();
  }
  out.prepend(pin_);
  return out;
}

bool SavedView::holds(const std::string& name, PinAs as) const {
  const auto found = pins_.find(name);
  return found != pins_.end() && found->second == as;
}

void SavedView::pinActive() {
  const auto chosen = chosenCrossings();
  if (chosen.empty()) return;
  std::vector<std::string> names;
  for (const session::CrossingRow* row : chosen) names.push_back(row->name);
  pin(names, chosen.front()->kind == "saved" ? PinAs::Recomputed : PinAs::Saved);
}

// All of them, or where all are pinned so already none. The first that cannot be is told of.
void SavedView::pin(const std::vector<std::string>& names, PinAs as) {
  if (!session()) return;
  told_.clear(), refused_.clear();
  const PartitionPrice price(*session(), session()->forwardOf(compilation()));
  const bool all =
      std::all_of(names.begin(), names.end(), [&](const std::string& name) { return holds(name, as); });
  for (const std::string& name : names) {
    if (all) {
      pins_.erase(name);
    } else if (const QString why = price.whyNotPinned(name, as); why.isEmpty()) {
      pins_[name] = as;
    } else if (refused_.isEmpty()) {
      refused_ = QStringLiteral("%1 cannot be pinned as %2: %3.").arg(s(name), word_of(as), why);
    }
  }
  refresh();
}

void SavedView::clear() {
  pins_.clear(), told_.clear(), refused_.clear();
  refresh();
}

bool SavedView::act(std::string_view command) {
  if (command == "partition.pin")
    pinActive();
  else if (command == "partition.clear")
    clear();
  else if (command == "partition.check")
    Q_EMIT commandRequested(QStringLiteral("partition.check"));
  else
    return TableView::act(command);
  return true;
}

QStringList SavedView::arguments() const {
  QStringList out;
  for (const auto& [name, as] : pins_)
    out << QStringLiteral("--pin=%1=%2").arg(QString::fromStdString(name), word_of(as));
  return out;
}

QString SavedView::estimate() const {
  if (!session() || pins_.empty()) return {};
  return whatIfText(PartitionPrice(*session(), session()->forwardOf(compilation())).of(pins_));
}

void SavedView::tell(Tone tone, const QString& text) {
  tone_ = tone, told_ = text;
  refresh();
}

// "mm recomputed, gelu × 48 recomputed": what differs in its number only stands once.
QString SavedView::named() const {
  std::vector<std::pair<QString, QString>> all;
  for (const auto& [name, as] : pins_) all.emplace_back(s(name), word_of(as));
  QStringList out;
  for (const auto& equal :
       groupedBy(all, [](const auto& pin) { return QStringList{unnumbered(pin.first), pin.second}; })) {
    const QString& name = equal.front().first;
    out << timesText(equal.size() > 1 ? unnumbered(name) : name, equal.size()) + " " + equal.front().second;
  }
  return out.join(QStringLiteral(", "));
}

QString SavedView::strip() const {
  if (pins_.empty()) return refused_;
  QString out = QStringLiteral("What if %1: estimated %2.").arg(named(), estimate());
  if (!refused_.isEmpty()) out += " " + refused_;
  return told_.isEmpty() ? out : out + " " + told_;
}

void SavedView::refresh() {
  QString text = strip().toHtmlEscaped();
  if (!told_.isEmpty())
    text.replace(told_.toHtmlEscaped(), QStringLiteral("<br><span style=\"color:%1\">%2</span>")
                                            .arg(theme().tone(tone_).name(), told_.toHtmlEscaped()));
  if (!pins_.empty())
    text += QStringLiteral(" &nbsp; ") + link("partition.check", QStringLiteral("Recompile to check")) +
            QStringLiteral(" &nbsp; ") + link("partition.clear", QStringLiteral("Clear"));
  strip_->setText(text);
  strip_->setVisible(!text.isEmpty());
  if (pin_) pin_->setEnabled(activeCrossing() != nullptr);
  place();
}

void SavedView::place() {
  TableView::place();
  strip_->setGeometry(0, height() - below(), width(), below());
}

int SavedView::below() const {
  return strip_->isVisibleTo(this) ? strip_->heightForWidth(width()) : 0;
}

void SavedView::sessionChanged() {
  const std::string path = session() ? session()->path : std::string();
  if (path != of_) pins_.clear(), told_.clear(), refused_.clear();
  of_ = path;
  TableView::sessionChanged();
  refresh();
}

void SavedView::selectionChanged(ChangeMask mask) {
  TableView::selectionChanged(mask);
  if (pin_) pin_->setEnabled(activeCrossing() != nullptr);
}

}  // namespace vitrine::views
