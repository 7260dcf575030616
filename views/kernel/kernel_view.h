// A generated kernel: its C++, LLVM IR or assembly, of a GPU its CUDA C++, PTX or SASS, with linked colours
// and the kernel compiler's remarks; beside the lines where the GPU was sampled, how often a warp was met
// there and what it waited for.
#pragma once

#include <QPointer>

#include "views/kit/code/code_editor.h"
#include "views/kit/code/code_pane.h"
#include "views/kit/view.h"
#include "views/kit/widgets/link_key.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

class KernelView : public kit::View {
  Q_OBJECT
 public:
  explicit KernelView(kit::Jobs* jobs, QWidget* parent = nullptr);

  QString title() const override;
  QString subtitle() const override;
  QList<QWidget*> headerControls() override;
  QString searchPlaceholder() const override { return QStringLiteral("Find in kernel"); }
  int find(const QString& text) override { return pane_->find(text); }
  void findNext(bool forward) override { pane_->findNext(forward); }
  void zoom(kit::Zoom how) override;
  QString copy(kit::CopyAs) const override { return pane_->selectedText(); }
  Id canShow(Id id) const override;
  void reveal(Id id) override;
  std::vector<kit::Thing> things() const override { return pane_->things(); }
  std::vector<Id> shown() const override { return pane_->shown(); }
  kit::CodePane* pane() { return pane_; }
  std::vector<kit::LinkEntry> key() const;  // of the letters that stand in the text, in their order
  Id kernel() const { return kernel_; }
  bool act(std::string_view command) override;         // kernel.edit
  kit::CodeEditor* editor() const { return editor_; }  // null while nothing is changed here
  const kit::KernelEdit* edit() const;                 // of the kernel that is shown, null = none

 protected:
  void sessionChanged() override;
  void forgetPlaces() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void themeChanged() override;
  void editsChanged(Id kernel) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void fillKey();
  void arrange();  // editor and what was said of it, or the text that is only read
  void showEdit();
  void closeEditor();
  const char* form() const;  // source | ir | assembly, by stage
  const session::GpuKernelRow* gpu() const;
  kit::Language language() const;
  std::vector<kit::CodeSpan> spans() const;
  std::vector<kit::CodeRemark> remarks() const;
  std::vector<kit::CodeShare> shares() const;
  QString sampled() const;
  QString whyEmpty() const;
  bool canEdit() const;  // a generated text is shown

  kit::CodePane* pane_;
  QPointer<kit::LinkKey> key_;  // the header that shows it owns it
  kit::CodeEditor* editor_ = nullptr;
  kit::Banner* told_ = nullptr;
  QToolButton* begin_ = nullptr;
  Id kernel_ = 0;
};

}  // namespace vitrine::views
