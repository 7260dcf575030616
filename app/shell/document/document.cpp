#include "app/shell/document/document.h"

#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "core/session/abandoned.h"
#include "core/session/notes.h"
#include "views/kit/selection/chain.h"

namespace vitrine::app {

namespace {
constexpr int kFollowMs = 250;
constexpr int kTellMs = 150;
constexpr size_t kHistory = 200;
bool recording(const kit::SessionData& session) {
  const auto status = session.meta.find("status");
  return status != session.meta.end() && status->second == "running";
}

using Loaded = std::shared_ptr<Result<kit::SessionPtr>>;
}  // namespace

Document::Document(JobRunner* jobs, QObject* parent) : QObject(parent), jobs_(jobs), model_(jobs) {
  connect(&model_, &kit::SelectionModel::changed, this, [this](const kit::Selection&, unsigned mask) {
    if (mask & kit::ChangeFilm) refreshFilm();
  });
  follow_timer_.setInterval(kFollowMs);
  // A reading that takes longer than the interval is waited for: a newer one would drop it, each time again.
  connect(&follow_timer_, &QTimer::timeout, this, [this] {
    if (!jobs_->running(this, "follow")) followLater();
  });
  opening_timer_.setInterval(kTellMs);
  connect(&opening_timer_, &QTimer::timeout, this, &Document::tellOpening);
}

void Document::tellOpening() {
  if (!jobs_->running(this, "open")) {  // it failed, or another one replaced it
    opening_timer_.stop();
    Q_EMIT opening({});
    return;
  }
  const int64_t all = loading_->all, rows = std::min<int64_t>(loading_->rows, all);
  Q_EMIT opening(QStringLiteral("Opening %1").arg(opening_) +
                 (all ? QStringLiteral(", %1 %").arg(rows * 100 / all) : QString()));
}

void Document::open(const QString& path) {
  following_.clear();
  follow_timer_.stop();
  opening_ = QFileInfo(path).fileName();
  loading_ = std::make_shared<kit::Loading>();
  opening_timer_.start();
  jobs_->run<Loaded>(
      this, "open",
      [path, loading = loading_](const kit::Cancel&) {
        session::close_if_abandoned(path.toStdString());
        return std::make_shared<Result<kit::SessionPtr>>(
            kit::SessionData::load(path.toStdString(), session::Whose::Found, loading.get()));
      },
      [this](const Loaded& loaded) {
        tellOpening();
        if (!loaded->ok()) {
          Q_EMIT openFailed(loaded->error());
          return;
        }
        replace(loaded->value());
        Q_EMIT opened();
        if (!recording(*session_)) return;
        follow(QString::fromStdString(session_->path));
        by_another_ = true;
      });
}

Status Document::openNow(const QString& path) {
  session::close_if_abandoned(path.toStdString());
  auto loaded = kit::SessionData::load(path.toStdString());
  if (!loaded) return loaded.error();
  replace(loaded.take());
  Q_EMIT opened();
  return std::nullopt;
}

void Document::show(kit::SessionPtr session) {
  following_.clear();
  follow_timer_.stop();
  replace(std::move(session));
  Q_EMIT opened();
}

void Document::close() {
  following_.clear();
  follow_timer_.stop();
  replace(nullptr);
}

void Document::note(Id id, const QString& text) {
  if (!session_ || !id) return;
  jobs_->run<Loaded>(
      this, "note",
      [path = session_->path, id, text](const kit::Cancel&) {
        const Status bad = text.isNull() ? session::remove_note(path, id)
                                         : session::write_note(path, id, text.toStdString());
        return std::make_shared<Result<kit::SessionPtr>>(bad ? Result<kit::SessionPtr>(*bad)
                                                             : kit::SessionData::load(path));
      },
      [this](const Loaded& loaded) {
        if (!loaded->ok())
          Q_EMIT openFailed(loaded->error());
        else
          replace(loaded->value());
      });
}

void Document::follow(const QString& path) {
  by_another_ = false;
  following_ = path;
  follow_timer_.start();
}

void Document::stopFollowing() {
  follow_timer_.stop();
  if (!following_.isEmpty()) followLater();
}

// Loads again only when the file has grown; the newest constant replaces the one shown.
void Document::followLater() {
  const bool first = !session_ || session_->path != following_.toStdString();
  const int64_t known = first ? -1 : session_->stamp;
  jobs_->run<Loaded>(
      this, "follow",
      [path = following_.toStdString(), known, by_another = by_another_](const kit::Cancel&) -> Loaded {
        if (by_another) session::close_if_abandoned(path);
        if (kit::SessionData::stampOf(path) == known) return nullptr;
        const auto whose = by_another ? session::Whose::Found : session::Whose::Mine;
        return std::make_shared<Result<kit::SessionPtr>>(kit::SessionData::load(path, whose));
      },
      [this, first](const Loaded& loaded) {
        // While the engine is starting there is no file yet; that is no error.
        if (!loaded || !loaded->ok() || loaded->value()->path != following_.toStdString()) return;
        replace(loaded->value());
        if (first) Q_EMIT opened();
        if (by_another_ && !recording(*session_)) {
          following_.clear();
          follow_timer_.stop();
        }
      });
}

Id Document::compilation() const {
  if (selection().film.compilation) return selection().film.compilation;
  return session_ ? session_->main : 0;
}

void Document::wantStage(const std::string& stage) {
  if (!session_ || stage.empty() || session_->lastGraph(compilation(), stage)) return;
  kit::Film film;
  size_t most = 0;
  for (const session::CompilationRow& row : session_->compilations) {
    const auto all = session_->snapshots(row.id, stage);
    const size_t nodes = all.empty() ? 0 : session_->nodes.of(session_->withNodes(*all.back())->id).size();
    if (nodes > most) std::tie(most, film.compilation) = std::pair(nodes, row.id);
  }
  if (film.compilation) model_.setFilm(film);
}

void Document::replace(kit::SessionPtr session) {
  const bool same = session && session_ && session->path == session_->path;
  const kit::SessionPtr before = std::exchange(session_, std::move(session));
  if (!same) {
    history_.clear();
    at_ = -1;
    edits_.clear();
    unit_ = FilmUnit::Pass;
    Q_EMIT historyChanged();
  }
  model_.setSession(session_);
  frames_of_ = 0;
  refreshFilm();
  Q_EMIT sessionChanged(session_);
  // Freeing the rows of a large session takes as long as a frame or five: whoever drops it last is a job.
  if (before)
    jobs_->run<bool>(
        this, "release", [before](const kit::Cancel&) { return before != nullptr; }, [](bool) {});
}

void Document::refreshFilm() {
  const Id compilation = this->compilation();
  if (compilation != frames_of_ || unit_ == FilmUnit::Compilation || !compilation) {
    frames_ = session_ && compilation ? filmFrames(*session_, compilation, unit_) : std::vector<FilmFrame>();
    frames_of_ = compilation;
  }
  kit::Film film = selection().film;
  film.compilation = compilation;
  position_ = filmIndex(frames_, film, unit_);
  Q_EMIT filmChanged();
}

void Document::setUnit(FilmUnit unit) {
  unit_ = unit;
  frames_of_ = 0;
  refreshFilm();
  if (unit != FilmUnit::Instruction || selection().film.step || !session_) return;
  // Nothing was stepped to yet: the last node that was made tells more than the end of the function.
  kit::Film film = selection().film;
  film.compilation = compilation();
  for (const session::StepRow& step : session_->steps.of(film.compilation))
    if (kind_of(step.entity) == Kind::Node) film.step = step.id;
  if (film.step) model_.setFilm(film);
}

void Document::stepTo(int index) {
  if (frames_.empty()) return;
  const FilmFrame& frame =
      frames_[static_cast<size_t>(std::clamp(index, 0, static_cast<int>(frames_.size()) - 1))];
  kit::Film film = filmAt(selection().film, frame, unit_);
  if (!film.compilation) film.compilation = compilation();
  model_.setFilm(film);
  if (frame.activates) activate(frame.activates);
  if (!frame.stage.empty()) Q_EMIT stageWanted(frame.stage);
}

void Document::step(int by) {
  stepTo(position_ + by);
}

void Document::stepChanged(int direction) {
  for (int i = position_ + direction; i >= 0 && i < static_cast<int>(frames_.size()); i += direction)
    if (frames_[static_cast<size_t>(i)].changed) return stepTo(i);
}

void Document::activate(Id id) {
  if (id && id != selection().active) {
    history_.resize(static_cast<size_t>(at_ + 1));
    history_.push_back(id);
    if (history_.size() > kHistory) history_.erase(history_.begin());
    at_ = static_cast<int>(history_.size()) - 1;
    Q_EMIT historyChanged();
  }
  // A thing of another compilation moves the film there, so that every view can show it.
  if (const Id owner = session_ ? session_->compilationOf(id) : 0; owner && owner != compilation()) {
    kit::Film film;
    film.compilation = owner;
    model_.setFilm(film);
  }
  model_.setActive(id);
}

void Document::goBack() {
  if (canGoBack()) model_.setActive(history_[static_cast<size_t>(--at_)]);
  Q_EMIT historyChanged();
}

void Document::goForward() {
  if (canGoForward()) model_.setActive(history_[static_cast<size_t>(++at_)]);
  Q_EMIT historyChanged();
}

void Document::alongChain(int by) {
  if (!session_) return;
  const auto chain = kit::chainOf(*session_, selection());
  for (size_t i = 0; i < chain.size(); ++i) {
    const auto next = static_cast<int>(i) + by;
    if (chain[i].ring && next >= 0 && next < static_cast<int>(chain.size()))
      return activate(chain[static_cast<size_t>(next)].id);
  }
}

}  // namespace vitrine::app
