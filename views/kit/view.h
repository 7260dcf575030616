// What every view is. A view gets a constant session, the selection with what changed in it, and a stage when
// it stands in a pane; it tells what the user did by signals. It never sees another view, a thread or a file.
// Adding a view: a folder under views/ and one row in views/registry.cpp.
#pragma once

#include <QImage>
#include <QWidget>

#include "views/kit/code/kernel_edits.h"
#include "views/kit/selection/jobs.h"
#include "views/kit/selection/selection.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/session_data.h"

namespace vitrine::kit {

enum class Zoom { In, Out, Reset, Fit, FitSelection };
enum class CopyAs { Text, Csv };

class View : public QWidget {
  Q_OBJECT
 public:
  explicit View(Jobs* jobs, QWidget* parent = nullptr);

  // --- called by the shell; a hidden view hears of everything at once when it is shown
  void setSession(SessionPtr session);
  void setSelection(const Selection& selection, ChangeMask mask);
  void setCovered(bool covered);            // by another tab: it waits as a hidden one does
  void setEdits(KernelEdits* edits);        // the window's; outlives the view
  void setStage(const std::string& stage);  // a name of session/stages.h, for views that stand for a stage

  // --- what the header shows; emit headerChanged() when one changes
  virtual QString title() const = 0;
  virtual QString subtitle() const { return {}; }
  virtual QList<QWidget*> headerControls() {
    return {};
  }  // at most four; the view owns them until it is asked
  virtual QString searchPlaceholder() const { return {}; }  // "" = the view has no find

  // --- commands of the keys; the default does nothing
  virtual int find(const QString& text) { return 0; }  // number of matches; "" clears
  virtual void findNext(bool forward) {}
  virtual void zoom(Zoom how) {}
  virtual QString copy(CopyAs as) const { return {}; }
  virtual QString copyPython() const { return {}; }  // "" = nothing here is Python or can be written as it
  // A command of the table that only some views have ("graph.open"); false = not one of this view.
  virtual bool act(std::string_view command) { return false; }
  virtual Id canShow(Id id) const { return 0; }         // the thing this view would show for `id`, 0 = none
  virtual void reveal(Id id) {}                         // scrolls to it
  virtual std::vector<Id> shown() const { return {}; }  // in order, for the next/previous relative (N)
  // What the view paints itself and is in sight, in reading order. Widgets in it speak for themselves.
  virtual std::vector<Thing> things() const { return {}; }
  QString spoken(Id id) const;  // "gelu, pointwise, f32[8,128,3072], in kernel K2, active"
  bool isActive(Id id) const { return id && id == selection_.active; }
  bool isMarked(Id id) const { return selection_.mark(id) != Emphasis::None; }

  QImage grabTo(const QSize& size, double dpr);  // renders offscreen at that logical size

  // Two views of one arrangement, as before and after fusion, are looked at together: where the one was moved
  // to by hand is told (looksAt), and the other moves there.
  virtual void lookAt(double top, double zoom) {}

 Q_SIGNALS:
  void looksAt(double top, double zoom);
  void activate(vitrine::Id id);                        // clicked; 0 = ground
  void toggle(vitrine::Id id);                          // Ctrl+click
  void selectAll(const std::vector<vitrine::Id>& ids);  // a frame of nodes, a legend entry
  void hover(vitrine::Id id);                           // 0 = left
  void openIn(vitrine::Id id, const QString& view,
              bool other);  // view "" = its best view; other: the other pane
  void filmWanted(const vitrine::kit::Film& film);
  void rangeWanted(const vitrine::kit::TimeRange& range);
  void onlyRelativesWanted(bool on);
  void headerChanged();
  void commandRequested(const QString& id);  // a link of an empty state: "file.open", "run.start"

 protected:
  // What the link of an empty view does: a command of the shell, or one of the view's own that follow()
  // knows.
  virtual NextAct nextAct() const;
  virtual void follow(const QString& command) { Q_EMIT commandRequested(command); }
  // Of a view with nothing to show: why, and below it the next act as a link.
  void paintEmpty(QPainter& painter, const QRect& box, const QString& why);

  // The session was replaced; selection() is already valid for it.
  virtual void sessionChanged() = 0;
  virtual void selectionChanged(ChangeMask mask) = 0;
  // Before another session comes: where the view stood, and what was open in it, was of the one that goes.
  virtual void forgetPlaces() {}
  virtual void stageChanged() { sessionChanged(); }
  virtual void themeChanged() { update(); }
  virtual void editsChanged(Id kernel) {}        // of one kernel
  KernelEdits* edits() const { return edits_; }  // null outside of a window

  const SessionPtr& session() const { return session_; }  // may be null
  const Selection& selection() const { return selection_; }
  const std::string& stage() const { return stage_; }
  Jobs* jobs() const { return jobs_; }
  // The compilation all views show: the film's, else the session's first; 0 = none.
  Id compilation() const;
  // The snapshot this view's stage stands at: the film's when it is of that stage, else the stage's last.
  const session::GraphRow* graph() const;
  // Gives the text at once when it is known, else later; dropped when the session is replaced meanwhile.
  void withText(const QString& tag, session::BlobRef ref, std::function<void(Text)> done);

  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;  // Enter: go.open

 private:
  void deliver();
  bool link_event(const QEvent& event);
  Jobs* jobs_;
  KernelEdits* edits_ = nullptr;
  QRect link_;  // of the next act, where the last painting has one
  QString link_command_;
  SessionPtr session_;
  Selection selection_;
  std::string stage_;
  std::string shown_path_;  // of the session that was delivered last
  bool session_pending_ = false, stage_pending_ = false, covered_ = false;
  ChangeMask pending_ = 0;
};

// One row of the registry.
enum class ViewPlace { Pane, Left, Right, Bottom };
struct ViewInfo {
  const char* id;      // "graph"; stable: in saved layouts and on the command line
  const char* title;   // "Graph"
  const char* icon;    // of resources/icons
  ViewPlace place;     // where it stands first
  const char* stages;  // the stages it can show in a pane: "captured aten optimised"; "" = none
  View* (*factory)(Jobs* jobs, QWidget* parent);
};

}  // namespace vitrine::kit
