// The open session: its constant data, the selection, the film and the history. One a window.
#pragma once

#include <QObject>
#include <QTimer>
#include <vector>

#include "app/jobs/job_runner.h"
#include "app/shell/document/film.h"
#include "core/base/result.h"
#include "views/kit/code/kernel_edits.h"
#include "views/kit/selection/selection.h"

namespace vitrine::app {

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(JobRunner* jobs, QObject* parent = nullptr);

  // By a job; opened() or openFailed(). One that is still being written is followed to its end.
  void open(const QString& path);
  Status openNow(const QString& path);  // for shots and tests
  void show(kit::SessionPtr session);   // that was loaded elsewhere, and is not followed
  void close();
  // Keeps a note on a thing in the session file, null takes it away; then the session is loaded again.
  void note(Id id, const QString& text);
  void follow(const QString& path);  // a run in progress: replaced whenever it has written more
  void stopFollowing();              // one last load

  const kit::SessionPtr& session() const { return session_; }
  kit::SelectionModel& model() { return model_; }
  const kit::Selection& selection() const { return model_.selection(); }
  Id compilation() const;
  // When the compilation that is shown has no graph of that stage, the largest one that has.
  void wantStage(const std::string& stage);
  JobRunner* jobs() const { return jobs_; }
  kit::KernelEdits& edits() { return edits_; }  // of the open session's kernels

  // Film
  FilmUnit unit() const { return unit_; }
  void setUnit(FilmUnit unit);
  const std::vector<FilmFrame>& frames() const { return frames_; }
  int position() const { return position_; }
  void stepTo(int index);
  void step(int by);
  void stepChanged(int direction);  // to the next frame that changed something

  // Selection with history
  void activate(Id id);
  void goBack();
  void goForward();
  bool canGoBack() const { return at_ > 0; }
  bool canGoForward() const { return at_ + 1 < static_cast<int>(history_.size()); }
  void alongChain(int by);  // previous, next link

 Q_SIGNALS:
  void sessionChanged(const vitrine::kit::SessionPtr& session);
  void opened();
  void openFailed(const vitrine::Error& error);
  void opening(const QString& text);  // how far it is, from 150 ms on; "": it has ended
  void filmChanged();
  void stageWanted(const std::string& stage);  // the film moved to another stage
  void historyChanged();

 private:
  void replace(kit::SessionPtr session);
  void refreshFilm();
  void followLater();
  void tellOpening();

  JobRunner* jobs_;
  kit::SelectionModel model_;
  kit::KernelEdits edits_;
  kit::SessionPtr session_;
  FilmUnit unit_ = FilmUnit::Pass;
  std::vector<FilmFrame> frames_;
  int position_ = -1;
  Id frames_of_ = 0;
  std::vector<Id> history_;
  int at_ = -1;
  QString following_;
  bool by_another_ = false;  // it is not this window's run, whose end would be told
  QTimer follow_timer_;
  QString opening_;  // the file's name
  std::shared_ptr<kit::Loading> loading_;
  QTimer opening_timer_;
};

}  // namespace vitrine::app
