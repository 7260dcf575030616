#include "views/kernel/kernel_view.h"

#include <QPainter>
#include <algorithm>
#include <set>

#include "core/session/stages.h"
#include "profiler/analysis/counters.h"
#include "profiler/analysis/stalls.h"
#include "views/kit/painting/paint.h"
#include "views/kit/selection/link_letters.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/missing.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

constexpr int kKeyText = 20;  // letters of an expression in the key

// A recorded prelude stands between these comments of the generated text.
constexpr const char* kPreludeBegin = "// prelude";
constexpr const char* kPreludeEnd = "// end of prelude";

std::vector<CodeFold> folds_of(const QString& text) {
  int line = 0, from = -1;
  std::vector<CodeFold> out;
  for (const QString& row : text.split('\n')) {
    const QString trimmed = row.trimmed();
    if (from < 0 && trimmed.startsWith(QLatin1String(kPreludeBegin))) from = line;
    if (from >= 0 && trimmed.startsWith(QLatin1String(kPreludeEnd))) {
      out.push_back({from, line, text.split('\n')[from].trimmed().mid(3)});
      from = -1;
    }
    ++line;
  }
  return out;
}

}  // namespace

KernelView::KernelView(Jobs* jobs, QWidget* parent) : View(jobs, parent), pane_(new CodePane(this)) {
  connect(pane_, &CodePane::activate, this, &KernelView::activate);
  connect(pane_, &CodePane::toggle, this, &KernelView::toggle);
  connect(pane_, &CodePane::hover, this, &KernelView::hover);
  connect(pane_, &CodePane::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, QString(), other); });
  pane_->setMarks(&selection());
  setFocusProxy(pane_);
}

const char* KernelView::form() const {
  return stage() == "ir" ? "ir" : stage() == "assembly" ? "assembly" : "source";
}

const GpuKernelRow* KernelView::gpu() const {
  if (!session()) return nullptr;
  auto found = session()->gpu_kernels.find(kernel_);
  return found == session()->gpu_kernels.end() ? nullptr : &found->second;
}

Language KernelView::language() const {
  if (stage() == "kernels") return Language::Cpp;
  return gpu() ? Language::Ptx : stage() == "ir" ? Language::LlvmIr : Language::Assembly;
}

QString KernelView::title() const {
  for (const StageInfo& info : kStages)
    if (info.name == stage()) {
      const std::string_view title = stage_title(info, session() && session()->isGpu(compilation()));
      return vitrine::s(title);
    }
  return QStringLiteral("Kernel");
}

// "K0 softmax  sm_90, 32 registers, 128 × 96 threads, occupancy 100 %"
QString KernelView::subtitle() const {
  const KernelRow* k = session() ? session()->kernels.find(kernel_) : nullptr;
  if (!k) return {};
  QString text = QString::fromStdString(k->label + " " + k->name);
  if (const KernelEdit* changed = edit(); changed && changed->changed()) text += QStringLiteral("  edited");
  if (!k->isa.empty()) text += QStringLiteral("  ") + QString::fromStdString(k->isa);
  if (const GpuKernelRow* g = gpu()) {
    if (g->registers) text += QStringLiteral(", %1 registers").arg(g->registers);
    if (g->spill_bytes)
      text += QStringLiteral(", %1 spilled").arg(bytesText(static_cast<double>(g->spill_bytes)));
    text += QStringLiteral(", %1 × %2 threads").arg(g->blocks).arg(g->threads);
    if (g->occupancy > 0) text += QStringLiteral(", occupancy ") + percentText(g->occupancy);
    return text + sampled();
  }
  if (stage() == "assembly" && k->spills > 0) text += ", " + countText(k->spills, "spill");
  return text;
}

QList<QWidget*> KernelView::headerControls() {
  key_ = new LinkKey(this);
  key_->setEntries(key());
  begin_ = iconButton("pencil", "Edit the kernel's text; F7 rebuilds it", this);
  connect(begin_, &QToolButton::clicked, this, [this] { act("kernel.edit"); });
  begin_->setVisible(canEdit());
  return {key_, begin_};
}

// Expressions of a file that no view has shown yet are read first.
void KernelView::fillKey() {
  if (key_) key_->setEntries(key());
  for (const auto& [id, letter] : lettersOf(*session(), kernel_).by_span) {
    const SpanRow* span = session()->spans.find(id);
    const FileRow* file = span ? session()->files.find(span->file) : nullptr;
    if (!key_ || !file || !file->text.row || session()->texts->cached(file->text)) continue;
    withText(QStringLiteral("key of file %1").arg(file->id), file->text,
             [this, kernel = kernel_](const Text&) {
               if (key_ && kernel == kernel_) key_->setEntries(key());
               Q_EMIT headerChanged();
             });
  }
}

std::vector<LinkEntry> KernelView::key() const {
  std::vector<LinkEntry> out;
  if (!session() || pane_->isHidden()) return out;
  const LinkLetters letters = lettersOf(*session(), kernel_);
  std::set<int> here;
  for (const CodeSpan& span : spans()) here.insert(span.letter);
  for (const auto& [span, letter] : letters.by_span)
    if (here.contains(letter)) {
      const QString text = spanText(*session(), span, kKeyText);
      out.push_back({letter, text.isEmpty() ? session()->place(span) : text});
    }
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.letter < b.letter; });
  return out;
}

void KernelView::zoom(Zoom how) {
  pane_->zoom(how == Zoom::In ? 1.1 : how == Zoom::Out ? 1 / 1.1 : 0);
}

void KernelView::forgetPlaces() {
  kernel_ = 0;
  closeEditor();
}

void KernelView::sessionChanged() {
  const Id before = kernel_;
  kernel_ = session() ? kernelInFocus(*session(), selection(), compilation()) : 0;
  if (kernel_ != before) closeEditor();
  const KernelRow* k = session() ? session()->kernels.find(kernel_) : nullptr;
  const BlobRef ref = !k                      ? BlobRef{}
                      : stage() == "ir"       ? k->ir
                      : stage() == "assembly" ? k->assembly
                                              : k->source;
  if (!ref.row) {
    pane_->setText({});
    closeEditor();
    pane_->hide();
    if (key_) key_->setEntries({});
    if (begin_) begin_->hide();
    Q_EMIT headerChanged();
    return update();
  }
  withText(QStringLiteral("kernel"), ref, [this, id = kernel_](Text text) {
    if (id != kernel_) return;
    CodeText code;
    code.text = QString::fromStdString(*text);
    code.language = language();
    code.spans = spans();
    code.remarks = remarks();
    code.shares = shares();
    if (stage() == "kernels") code.folds = folds_of(code.text);
    pane_->setText(std::move(code));
    pane_->show();
    if (Id shown = canShow(selection().active)) {
      pane_->reveal(shown);
    } else if (!pane_->shown().empty()) {
      int first = pane_->lineOf(pane_->shown().front());
      for (Id id : pane_->shown()) first = std::min(first, pane_->lineOf(id));
      pane_->scrollToLine(first);
    }
    fillKey();
    showEdit();
    update();
  });
}

std::vector<CodeSpan> KernelView::spans() const {
  std::vector<CodeSpan> out;
  const LinkLetters letters = lettersOf(*session(), kernel_);
  for (const KernelRangeRow& range : session()->ranges.of(kernel_)) {
    if (range.text != form()) continue;
    CodeSpan s{range.id, static_cast<int>(range.line) - 1,
               0,        static_cast<int>(std::max(range.line, range.end_line)) - 1,
               -1,       -1};
    if (auto it = letters.by_range.find(range.id); it != letters.by_range.end()) s.letter = it->second;
    out.push_back(s);
  }
  return out;
}

std::vector<CodeRemark> KernelView::remarks() const {
  std::vector<CodeRemark> out;
  if (stage() != "kernels") return out;
  for (const RemarkRow& r : session()->remarks.of(kernel_)) {
    const bool passed = r.kind == "passed", missed = r.kind == "missed";
    out.push_back({static_cast<int>(r.line) - 1,
                   passed   ? QStringLiteral("check")
                   : missed ? QStringLiteral("warning")
                            : QStringLiteral("info"),
                   passed   ? Tone::Ok
                   : missed ? Tone::Warn
                            : Tone::Info,
                   QString::fromStdString(r.text)});
  }
  return out;
}

// ", waits mostly for memory (63 % of 1204 samples)"
QString KernelView::sampled() const {
  const profiler::LineSamples all = profiler::samples_of(session()->samples.of(kernel_));
  if (!all.samples || all.reason.empty()) return {};
  return QStringLiteral(", waits mostly for %1 (%2 of %3)")
      .arg(s(profiler::stall_label(all.reason)),
           percentText(static_cast<double>(all.of_reason) / static_cast<double>(all.samples)),
           countText(all.samples, "sample"));
}

std::vector<CodeShare> KernelView::shares() const {
  std::vector<CodeShare> out;
  const auto rows = session()->samples.of(kernel_);
  if (rows.empty() || stage() == "ir") return out;
  const double all = static_cast<double>(profiler::samples_of(rows).samples);
  const auto text = stage() == "assembly" ? profiler::SampleText::assembly : profiler::SampleText::source;
  for (const profiler::LineSamples& line : profiler::samples_by_line(rows, text)) {
    if (line.line < 1) continue;
    const double part = static_cast<double>(line.samples) / all;
    QString told = QStringLiteral("%1 of this kernel's samples: %2")
                       .arg(percentText(part), countText(line.samples, "sample"));
    for (const profiler::Stall& stall : profiler::kStalls)
      if (stall.reason == line.reason)
        told += QStringLiteral("\nmostly %1 (%2): %3")
                    .arg(s(stall.label))
                    .arg(line.of_reason)
                    .arg(s(stall.about));
    out.push_back({static_cast<int>(line.line) - 1, part, s(profiler::stall_label(line.reason)), told});
  }
  return out;
}

void KernelView::selectionChanged(ChangeMask mask) {
  if (!session()) return;
  if (mask & (ChangeActive | ChangeRelatives | ChangeFilm)) {
    if (kernelInFocus(*session(), selection(), compilation()) != kernel_) return sessionChanged();
    if (Id id = canShow(selection().active)) pane_->reveal(id);
  }
  pane_->viewport()->update();
}

Id KernelView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived,
                      [this](Id wanted) { return pane_->lineOf(wanted) >= 0; });
}

void KernelView::reveal(Id id) {
  if (Id shown = canShow(id)) pane_->reveal(shown);
}

void KernelView::resizeEvent(QResizeEvent*) {
  arrange();
}

QString KernelView::whyEmpty() const {
  if (!session()) return QStringLiteral("Generated kernels stand here.");
  const KernelRow* k = session()->kernels.find(kernel_);
  if (!k) {
    const QString why = whyMissing(*session(), compilation(), stage());
    return why.isEmpty() ? QStringLiteral("No generated kernel: PyTorch's own operators run.")
                         : QStringLiteral("No generated kernel. ") + why;
  }
  if (!k->error.empty())
    return QStringLiteral("%1 was not compiled: %2")
        .arg(QString::fromStdString(k->label), QString::fromStdString(k->error));
  if (k->kind != "generated")
    return QStringLiteral("%1 runs as PyTorch's own kernel; there is no generated code.")
        .arg(QString::fromStdString(k->label + " " + k->name));
  if (const GpuKernelRow* g = gpu(); g && !g->note.empty())
    return QStringLiteral("There is %1").arg(QString::fromStdString(g->note));
  return QStringLiteral("%1 of %2 was not recorded.").arg(title(), QString::fromStdString(k->label));
}

void KernelView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  paintEmpty(painter, rect(), whyEmpty());
}

}  // namespace vitrine::views
