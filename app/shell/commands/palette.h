// The command palette: names of the session and commands in one list. ">" commands, "@" names, ":" line,
// "#" problems.
#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QPointer>
#include <optional>
#include <vector>

#include "app/shell/commands/actions.h"
#include "app/shell/document/document.h"
#include "app/shell/document/find_entity.h"

namespace vitrine::app {

struct PaletteRow {
  QString icon, name, context, key;
  bool enabled = true;
  Id id = 0;        // a thing of the session, or
  QString command;  // a command, or
  QString find;     // what is looked for in the view, or
  QString named;    // "view:kernels", "stage:aten", "layout:Fusion"
};

// The rows for a text, best first. A pure function of its arguments, for tests.
std::vector<PaletteRow> paletteRows(const kit::SessionData* session, const Actions* actions,
                                    const QString& text, const std::string& stage, size_t most);

// The things of a session that a text names, by a job: a large session has a million of them.
std::vector<FoundEntity> paletteThings(const kit::SessionData& session, const QString& text,
                                       const std::string& stage);
// The same rows, of things that were found already.
std::vector<PaletteRow> paletteRowsOf(const kit::SessionData* session, const Actions* actions,
                                      const QString& text, const std::vector<FoundEntity>& things,
                                      size_t most);

class Palette : public QFrame {
  Q_OBJECT
 public:
  Palette(Document* document, Actions* actions, QWidget* parent);
  void open(const QString& text = {}, const std::string& stage = {});
  const std::vector<PaletteRow>& rows() const { return rows_; }
  bool searching() const { return searching_; }

 Q_SIGNALS:
  void openIn(vitrine::Id id, const QString& view, bool other);
  void namedWanted(const QString& named, bool other);
  void findWanted(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void take(size_t row, bool other);
  void leave();  // the focus goes back to where it was
  Document* document_;
  Actions* actions_;
  QLineEdit* field_;
  QPointer<QWidget> before_;  // had the focus
  std::string stage_;
  std::vector<PaletteRow> rows_;
  size_t current_ = 0;
  bool searching_ = false;                   // things are yet to come
  std::optional<Qt::KeyboardModifiers> go_;  // Enter was pressed meanwhile
};

}  // namespace vitrine::app
