#include "views/numerics/numerics_view.h"

#include <QVBoxLayout>

#include "views/numerics/numerics_rows.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr const char* kElsewhere = "numerics.elsewhere";
}

NumericsView::NumericsView(Jobs* jobs, QWidget* parent)
    : View(jobs, parent), pages_(new QStackedWidget(this)), table_(new ItemView), empty_(new EmptyState) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(pages_);
  pages_->addWidget(table_);
  pages_->addWidget(empty_);
  empty_->setBackgroundRole(QPalette::Base);
  empty_->setAutoFillBackground(true);
  table_->setColumns(numericsColumns());
  table_->setSortingEnabled(true);
  table_->sortBy(0, Qt::AscendingOrder);  // as they are computed
  table_->setMarks(&selection());
  setFocusProxy(table_);
  connect(table_, &ItemView::activate, this, &View::activate);
  connect(table_, &ItemView::toggle, this, &View::toggle);
  connect(table_, &ItemView::hover, this, &View::hover);
  connect(table_, &ItemView::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, {}, other); });
  connect(empty_, &EmptyState::commandRequested, this, [this](const QString& command) {
    if (command == QLatin1String(kElsewhere)) return showElsewhere();
    Q_EMIT commandRequested(command);
  });
}

QString NumericsView::subtitle() const {
  return session() ? numericsSummary(*session(), compilation()) : QString();
}

QList<QWidget*> NumericsView::headerControls() {
  if (!first_) {
    first_ = iconButton(QStringLiteral("error"), QStringLiteral("Go to the first value that differs"), this);
    nan_ = iconButton(QStringLiteral("warning"), QStringLiteral("Go to the source of NaN or infinity"), this);
    connect(first_, &QToolButton::clicked, this, [this] {
      if (session()) go(firstDivergence(*session(), compilation()));
    });
    connect(nan_, &QToolButton::clicked, this, [this] {
      if (session()) go(sourceOfNan(*session(), compilation()));
    });
    refreshButtons();
  }
  return {first_, nan_};
}

void NumericsView::refreshButtons() {
  if (first_) first_->setEnabled(session() && firstDivergence(*session(), compilation()));
  if (nan_) nan_->setEnabled(session() && sourceOfNan(*session(), compilation()));
}

void NumericsView::go(Id node) {
  if (!node) return;
  Q_EMIT activate(node);
  table_->reveal(node);
  table_->openDetail(node, true);
}

int NumericsView::find(const QString& text) {
  table_->setFilter(text);
  return static_cast<int>(table_->shown().size());
}

// A compilation of the session that was compared, where the one that is shown was not.
Id NumericsView::elsewhere() const {
  if (!session()) return 0;
  for (const auto& row : session()->compilations)
    if (!session()->numerics.of(row.id).empty()) return row.id;
  return 0;
}

void NumericsView::showElsewhere() {
  Film film = selection().film;
  film.compilation = elsewhere();
  film.graph = film.step = film.decision = film.launch = 0;
  if (film.compilation) Q_EMIT filmWanted(film);
}

void NumericsView::fill() {
  filled_ = session() ? compilation() : 0;
  auto items = session() ? numericsItems(*session(), filled_) : std::vector<Item>();
  if (!session()) {
    empty_->set(QStringLiteral("Values of the compiled graphs against eager's stand here."));
  } else if (const Id other = items.empty() ? elsewhere() : 0) {
    empty_->set(QStringLiteral("No numerics: this compilation's values were not compared."),
                QStringLiteral("Show those of %1").arg(session()->label(other)),
                QString::fromLatin1(kElsewhere));
  } else if (session()->imported()) {
    empty_->set(QStringLiteral("No numerics. What was imported holds none."));
  } else {
    empty_->set(QStringLiteral("Not recorded: values were not compared with eager's in this run."),
                QStringLiteral("Record again with numerics"), QStringLiteral("run.numerics"));
  }
  pages_->setCurrentWidget(items.empty() ? static_cast<QWidget*>(empty_) : table_);
  table_->setItems(std::move(items));
  refreshButtons();
  Q_EMIT headerChanged();
}

// The row of the thing itself, else of its nearest relative.
Id NumericsView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Origins,
                      [this](Id wanted) { return wanted && table_->items()->indexOf(wanted).isValid(); });
}

void NumericsView::selectionChanged(ChangeMask mask) {
  if (mask & ChangeFilm && session() && filled_ != compilation()) fill();
  if (mask & (ChangeActive | ChangeRelatives)) table_->reveal(canShow(selection().active));
  table_->viewport()->update();
}

}  // namespace vitrine::views
