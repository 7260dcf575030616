// The window: menu row, stage strip, film, docks, the two panes, chain bar. It wires parts that do not know
// each other; what each does is in its own file.
#pragma once

#include <QActionGroup>
#include <QMainWindow>
#include <QStackedWidget>
#include <QTimer>

#include "app/jobs/job_runner.h"
#include "app/shell/bars/chain_bar.h"
#include "app/shell/bars/film_bar.h"
#include "app/shell/bars/menu_row.h"
#include "app/shell/bars/stage_strip.h"
#include "app/shell/commands/actions.h"
#include "app/shell/commands/note_field.h"
#include "app/shell/commands/palette.h"
#include "app/shell/document/document.h"
#include "app/shell/panes/centre.h"
#include "app/shell/panes/dock_set.h"
#include "app/shell/run/bisection.h"
#include "app/shell/run/kernel_rebuild.h"
#include "app/shell/run/partition_check.h"
#include "app/shell/run/run_controller.h"
#include "app/shell/welcome/welcome_page.h"
#include "core/base/result.h"

namespace vitrine::app {

class CompareWindow;
class RunDialog;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr, JobRunner::Mode jobs = JobRunner::Mode::Threads);
  ~MainWindow() override;

  void openFile(const QString& path);  // a session is opened, a Python file is run
  bool chooseLayout(const QString& name);
  QString layoutName() const { return layout_; }
  void keepLayout(const QString& name);  // what stands now, as a layout of the user's own
  void dropLayout();                     // forgets the one that is shown, if it is the user's own

  // For shots and tests: the same acts, finished on return.
  Status openSync(const QString& path);
  bool activateText(const QString& text);
  void hoverText(const QString& text);
  void settle();

  Document* document() { return document_; }
  StageStrip* strip() { return strip_; }
  Centre* centre() { return centre_; }
  ChainBar* chain() { return chain_; }
  DockSet* docks() { return docks_; }
  Actions* actions() { return actions_; }
  kit::Banner* banner() { return banner_; }
  void saveSharedCopy(const QString& to);                   // of the open session
  void exportTo(const QString& format, const QString& to);  // as `vitrine export --to`
  void exportRows(const QString& to);                       // of the view with the focus, as CSV
  void importPath(const QString& path);  // what another tool recorded: a session is made and opened
  RunController* runs() { return run_; }
  CompareWindow* compareWith(const QString& other);    // in a window of its own; null: nothing is open here
  RunDialog* openRunDialog(const QString& file = {});  // "": of what is open, or was run last
  KernelRebuild* rebuild() { return rebuild_; }
  PartitionCheck* check() { return check_; }
  Bisection* bisection() { return bisection_; }
  NoteField* noteField() { return note_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  // One act that can be taken back: a layout as it was, or a note (null: there was none).
  struct Undo {
    QString layout;
    QByteArray state;
    Id note = 0;
    QString text;
  };
  void build();
  void connectParts();
  void connectCommands();
  void connectRun();
  void addMenus();
  void addViewMenus(QMenu* menu);
  void showNamed(const QString& what, bool other);
  void addFilmMenu(QMenu* menu);
  void addLayoutMenu(QMenu* menu);
  void addCommands();
  void addStepCommands();
  void addViewCommands();
  void addWindowCommands();
  void addOwnCommands();
  void addFocusCommands();
  void addNoteCommands();
  void addKernelCommands();
  void addRunCommands();
  void addPartitionCommands();
  void addBisectCommands();
  void addExchangeCommands();
  void openOrImport(const QString& path);
  void lookAtDragged(const QString& path);
  void saveReproducer();
  void saveSharedCopy();
  void sessionChanged();
  void refreshStatus();
  void tellFailure(const kit::SessionData& session);
  void refreshEnabled();
  void showStage(const std::string& stage, bool other);
  void openIn(Id id, const QString& view, bool other);
  void chooseFile();
  void clearOne();  // Esc: search, then range, then selection
  void showKeys();
  void openAtCursor(bool other);
  void showContextMenu();
  void note(Id id, const QString& text);  // writes or takes away a note, so that it can be undone
  void remember(const Undo& before);
  void undo(QList<Undo>& from, QList<Undo>& to);
  Undo asItIs(const Undo& like) const;
  bool instead(const LayoutInfo& layout) const;  // its panes of a graph that has no halves
  std::vector<ColumnSpec> columnsOf(const LayoutInfo& layout) const;  // for the session that is open
  void arrange(const LayoutInfo& layout);
  void adaptLayout();  // to another session in the same layout
  void rememberLayout();
  void dockGrabbed();
  void dockLeft();
  void restoreLayout(const QByteArray& state, const QString& layout);
  ViewHost* host() const;  // of the focused view, else of the current pane
  void nextRelative(int by);

  JobRunner* jobs_;
  Document* document_;
  Actions* actions_;
  QActionGroup* of_session_;  // entries of menus that need an open one
  MenuRow* row_;
  StageStrip* strip_;
  FilmBar* film_;
  kit::Banner* banner_;
  bool dragged_is_none_ = false;  // what is over the window can be neither opened nor imported
  QString refused_;               // what the banner said of a run that was not started
  std::string told_;              // the session whose failure the banner told
  QStackedWidget* pages_;
  WelcomePage* welcome_;
  Centre* centre_;
  DockSet* docks_;
  ChainBar* chain_;
  Palette* palette_;
  RunController* run_;
  KernelRebuild* rebuild_;
  PartitionCheck* check_;
  Bisection* bisection_;
  NoteField* note_;
  QString layout_;
  std::vector<std::string> arranged_;  // what its panes are, by the layout and the session
  QList<Undo> undo_, redo_;
  QByteArray before_grab_;  // the docks when the user took hold of one
  QTimer grab_;             // until they let go of it
};

}  // namespace vitrine::app
