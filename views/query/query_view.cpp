#include "views/query/query_view.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "views/kit/code/highlight.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/shown.h"

namespace vitrine::views {

using kit::theme;
using session::QueryResult;
using session::QueryValue;

namespace {

constexpr size_t kShownRows = 5000;
constexpr int kShownText = 300;
constexpr double kQuickMs = 300;
using SqlAnswer = std::shared_ptr<Result<QueryResult>>;

// Keywords, the views' names, numbers and texts.
class SqlColours : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override {
    static const QRegularExpression words(
        "(?<comment>--.*$)|(?<string>'[^']*'?)|(?<number>\\b\\d[\\w.]*)|(?<keyword>\\b(?:select|from|where|"
        "group|order|"
        "by|limit|join|left|on|and|or|not|in|as|distinct|desc|asc|case|when|then|else|end|having|with|union|"
        "all|is|null|"
        "like|between|exists|over|partition|recursive|values|offset)\\b)|(?<word>\\b\\w+\\b)",
        QRegularExpression::CaseInsensitiveOption);
    for (auto it = words.globalMatch(text); it.hasNext();) {
      const QRegularExpressionMatch match = it.next();
      kit::TokenKind kind = kit::TokenKind::Text;
      if (match.hasCaptured("comment")) kind = kit::TokenKind::Comment;
      if (match.hasCaptured("string")) kind = kit::TokenKind::String;
      if (match.hasCaptured("number")) kind = kit::TokenKind::Number;
      if (match.hasCaptured("keyword")) kind = kit::TokenKind::Keyword;
      if (match.hasCaptured("word") && isView(match.captured())) kind = kit::TokenKind::Type;
      if (kind != kit::TokenKind::Text)
        setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()),
                  kit::tokenColour(kind));
    }
  }

 private:
  static bool isView(const QString& word) {
    return std::ranges::any_of(session::query_views(), [&](const session::SqlView& view) {
      return word == QLatin1String(view.name);
    });
  }
};

QString viewList() {
  QString out;
  for (const session::SqlView& view : session::query_views())
    out += QStringLiteral("<p><b>%1</b>: %2<br>%3</p>")
               .arg(QString::fromUtf8(view.name), QString::fromUtf8(view.about),
                    QString::fromUtf8(view.columns));
  return out;
}

// Of a column's numbers as many decimals as its largest needs for six digits, so that they stand below each
// other.
int decimalsOf(const QueryResult& result, size_t column) {
  double most = 0;
  for (const auto& row : result.rows) most = std::max(most, std::abs(row[column].real));
  int digits = 1;
  for (; most >= 10 && digits < 6; most /= 10) ++digits;
  return 6 - digits;
}

kit::Cell cell(const QueryValue& value, int decimals) {
  kit::Cell out;
  switch (value.type) {
    case QueryValue::Type::Integer:
      out.text = QString::number(value.integer);
      out.sort = static_cast<double>(value.integer);
      break;
    case QueryValue::Type::Real:
      out.text = QString::number(value.real, 'f', decimals);
      if (value.real != 0 && out.text.toDouble() == 0) out.text = QString::number(value.real, 'g', 3);
      out.sort = value.real;
      out.tooltip = QString::number(value.real, 'g', 17);
      break;
    case QueryValue::Type::Text: {
      const QString text = QString::fromStdString(value.text);
      out.text = kit::shown(text.section('\n', 0, 0).left(kShownText));
      if (out.text.size() < text.size()) out.text += QStringLiteral(" …");
      break;
    }
    default:
      out.text = kit::unknown();
      out.quiet = true;
  }
  return out;
}

bool isNumber(const QueryResult& result, size_t column) {
  return std::ranges::all_of(result.rows,
                             [&](const auto& row) { return row[column].type != QueryValue::Type::Text; });
}

// The ids of things are long numbers that say nothing: what they are called does.
bool namesThings(const std::string& column) {
  return column == "id" || column.ends_with("_id") || column.ends_with(":id");
}

}  // namespace

Id thing_of(const QueryResult& result, size_t row) {
  auto is_kind = [](const std::string& column) {
    for (int kind = 1; !kind_table(static_cast<Kind>(kind)).empty(); ++kind)
      if (column == kind_table(static_cast<Kind>(kind))) return true;
    return false;
  };
  for (size_t i = 0; i < result.columns.size(); ++i) {
    const QueryValue& value = result.rows[row][i];
    if (value.type != QueryValue::Type::Integer || value.integer <= 0) continue;
    if (!namesThings(result.columns[i]) && !is_kind(result.columns[i])) continue;
    const int kind = static_cast<int>(value.integer >> kKindShift);
    if (kind > 0 && kind < 64 && !kind_table(static_cast<Kind>(kind)).empty()) return value.integer;
  }
  return 0;
}

QueryView::QueryView(kit::Jobs* jobs, QWidget* parent)
    : View(jobs, parent),
      parts_(new QSplitter(Qt::Horizontal, this)),
      field_(new QPlainTextEdit(parts_)),
      problem_(new QLabel(this)),
      rows_(new kit::ItemView(parts_)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(parts_, 1);
  column->addWidget(problem_);
  problem_->setTextFormat(Qt::PlainText);  // SQLite repeats what was asked
  problem_->setWordWrap(true);
  problem_->setContentsMargins(theme().px(10), theme().px(4), theme().px(10), theme().px(4));
  problem_->hide();
  parts_->addWidget(field_);
  parts_->addWidget(rows_);
  parts_->setStretchFactor(0, 2);
  parts_->setStretchFactor(1, 3);
  parts_->setChildrenCollapsible(false);
  field_->setAccessibleName(QStringLiteral("Question in SQL"));
  field_->setPlaceholderText(
      QStringLiteral("SELECT … FROM kernels, launches, nodes, guards, breaks, calls …\nCtrl+Enter asks"));
  field_->setFrameShape(QFrame::NoFrame);
  field_->setTabChangesFocus(true);
  field_->document()->setDocumentMargin(theme().px(8));
  asked_ = QString::fromUtf8(session::query_examples()[0].sql);
  field_->setPlainText(asked_);
  field_->installEventFilter(this);
  new SqlColours(field_->document());
  themeChanged();
  rows_->setMarks(&selection());
  rows_->setSortingEnabled(true);
  connect(rows_, &kit::ItemView::activate, this, &View::activate);
  connect(rows_, &kit::ItemView::toggle, this, &View::toggle);
  connect(rows_, &kit::ItemView::hover, this, &View::hover);
  connect(rows_, &kit::ItemView::open, this,
          [this](Id id, bool other) { Q_EMIT openIn(id, QString(), other); });
  setFocusProxy(field_);
}

QList<QWidget*> QueryView::headerControls() {
  if (!examples_) {
    QStringList titles;
    for (const session::QueryExample& example : session::query_examples())
      titles << QString::fromUtf8(example.title);
    examples_ = new kit::MenuButton(QStringLiteral("Example"), titles, this);
    examples_->setAccessibleName(QStringLiteral("Examples"));
    examples_->setToolTip(viewList());
    connect(examples_, &kit::MenuButton::chosen, this, [this](int index) {
      ask(QString::fromUtf8(session::query_examples()[static_cast<size_t>(index)].sql));
    });
  }
  if (!run_) {
    run_ = kit::iconButton(QStringLiteral("play"), QStringLiteral("Ask (Ctrl+Enter)"), this);
    connect(run_, &QToolButton::clicked, this, &QueryView::run);
  }
  return {examples_, run_};
}

int QueryView::find(const QString& text) {
  rows_->setFilter(text);
  return static_cast<int>(rows_->shown().size());
}

QString QueryView::copy(kit::CopyAs as) const {
  if (field_->hasFocus() && as == kit::CopyAs::Text)
    return field_->textCursor().hasSelection()
               ? field_->textCursor().selectedText().replace(QChar(0x2029), '\n')
               : field_->toPlainText();
  return as == kit::CopyAs::Csv ? QString::fromStdString(csv_) : rows_->text(false);
}

Id QueryView::canShow(Id id) const {
  const std::vector<Id> shown = rows_->shown();
  return std::ranges::find(shown, id) != shown.end() ? id : 0;
}

void QueryView::ask(const QString& sql) {
  field_->setPlainText(sql);
  run();
}

bool QueryView::eventFilter(QObject* watched, QEvent* event) {
  // Before the shortcut of the same keys, which opens the active thing in the other pane.
  if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if ((key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) &&
        key->modifiers() & Qt::ControlModifier) {
      if (event->type() == QEvent::KeyPress) run();
      event->accept();
      return true;
    }
  }
  return View::eventFilter(watched, event);
}

void QueryView::tell(const QString& told, const QString& problem) {
  told_ = told;
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  Q_EMIT headerChanged();
}

void QueryView::run() {
  if (!session()) return tell({}, QStringLiteral("Open a session to ask it something."));
  put(field_->toPlainText());
}

void QueryView::put(const QString& sql) {
  asked_ = sql;
  asking_ = true;
  tell(QStringLiteral("asking"));
  jobs()->run<SqlAnswer>(
      this, QStringLiteral("query"),
      [path = session()->path, sql = sql.toStdString()](const kit::Cancel& cancel) {
        session::QueryLimits limits;
        limits.rows = kShownRows;
        limits.text_bytes = size_t{1} << 16;
        limits.bytes = size_t{64} << 20;
        limits.cancelled = [&cancel] { return cancel.requested(); };
        return std::make_shared<Result<QueryResult>>(session::query(path, sql, limits));
      },
      [this](const SqlAnswer& answer) {
        asking_ = false;
        answered(*answer);
      });
}

void QueryView::answered(const Result<QueryResult>& answer) {
  if (!answer) {
    rows_->setItems({});
    csv_.clear();
    took_ms_ = kQuickMs;  // whatever it was, it is not asked again by itself
    return tell({}, QString::fromStdString(answer.error().what));
  }
  const QueryResult& result = answer.value();
  std::vector<kit::Column> columns;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    const bool thing = namesThings(result.columns[i]), number = isNumber(result, i) && !thing;
    columns.push_back(
        {kit::shown(QString::fromStdString(result.columns[i])), number || thing ? 90 : 140, number, !number});
    columns.back().whole = thing;  // "L2 …ion" names nothing
  }
  for (size_t i = columns.size(); i-- > 0;)  // what is left goes to the last text
    if (!columns[i].number && !namesThings(result.columns[i])) {
      columns[i].stretch = true;
      break;
    }
  std::vector<int> decimals;
  for (size_t i = 0; i < result.columns.size(); ++i) decimals.push_back(decimalsOf(result, i));
  std::vector<kit::Item> items;
  for (size_t row = 0; row < result.rows.size(); ++row) {
    kit::Item item;
    item.id = thing_of(result, row);
    for (size_t i = 0; i < result.columns.size(); ++i) {
      kit::Cell one = cell(result.rows[row][i], decimals[i]);
      if (namesThings(result.columns[i]) && session())
        if (const QString label = session()->label(result.rows[row][i].integer); !label.isEmpty()) {
          one.tooltip = one.text;
          one.text = label;
        }
      item.cells.push_back(std::move(one));
    }
    items.push_back(std::move(item));
  }
  csv_ = session::csv_text(result);
  took_ms_ = result.milliseconds;
  rows_->setColumns(std::move(columns));
  rows_->setItems(std::move(items));
  rows_->header()->setSortIndicator(-1, Qt::AscendingOrder);  // as they were asked for
  tell(QStringLiteral("%1 row%2 in %3")
           .arg(result.rows.size())
           .arg(result.rows.size() == 1 ? "" : "s")
           .arg(kit::timeText(result.milliseconds * 1e6)),
       QString::fromStdString(result.cut));
}

void QueryView::sessionChanged() {
  rows_->setItems({});
  csv_.clear();
  tell({});
  // What takes long is not asked again each time that a run has written more.
  if (session() && took_ms_ < kQuickMs) put(asked_);
}

void QueryView::selectionChanged(kit::ChangeMask mask) {
  if (mask & kit::ChangeActive) rows_->reveal(canShow(selection().active));
  rows_->viewport()->update();
}

void QueryView::forgetPlaces() {
  jobs()->cancel(QStringLiteral("query"), this);
  asking_ = false;
}

void QueryView::themeChanged() {
  field_->setFont(theme().mono(12));
  QPalette colours = field_->palette();
  colours.setColor(QPalette::Base, theme().bg1);
  field_->setPalette(colours);
  QPalette warning = problem_->palette();
  warning.setColor(QPalette::WindowText, theme().text1);
  problem_->setPalette(warning);
  update();
}

}  // namespace vitrine::views
