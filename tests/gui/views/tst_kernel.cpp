// A generated kernel: which one is shown in which form, and how its lines are linked.
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/kernel/kernel_view.h"
#include "views/kit/code/code_pane.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;
using fixture::Rig;
using views::KernelView;

class TestKernel : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(true);
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void operandsOfAssemblyStandInOneColumn() {
    for (const char* line : {"\tvmovups\t%ymm4, (%r8)", "\taddq\t%ymm4, (%r8)"})
      QCOMPARE(kit::tabsExpanded(line, kit::Language::Assembly).indexOf("%ymm4"), 12);
    QCOMPARE(kit::tabsExpanded(".LBB0_2:\t# loop", kit::Language::Assembly).indexOf('#'), 16);
    QCOMPARE(kit::tabsExpanded("\treturn", kit::Language::Python), QStringLiteral("    return"));
  }

  void theHeaderNamesFormAndKernel() {
    const std::pair<const char*, const char*> forms[] = {
        {"kernels", "C++"}, {"ir", "LLVM IR"}, {"assembly", "Assembly"}};
    for (const auto& [stage, title] : forms) {
      Rig<KernelView> rig(session(), stage, {600, 400});
      rig.activate(ids().k2);
      QCOMPARE(rig.view.title(), QString::fromLatin1(title));
      QCOMPARE(rig.view.kernel(), ids().k2);
      QVERIFY2(rig.view.subtitle().startsWith("K2 add_gelu"), qPrintable(rig.view.subtitle()));
    }
  }

  void whatIsActiveElsewhereIsItsKernel() {
    Rig<KernelView> rig(session(), "kernels", {600, 400});
    rig.activate(ids().fused_gelu);
    QTRY_COMPARE(rig.view.kernel(), ids().k2);
    QTRY_COMPARE(rig.view.canShow(ids().fused_gelu), ids().k2_gelu_lines);
    rig.activate(ids().gelu_span);
    QTRY_COMPARE(rig.view.canShow(ids().gelu_span), ids().k2_gelu_lines);
  }

  void aClickOnALineActivatesWhatItIsOf() {
    Rig<KernelView> rig(session(), "kernels", {800, 700});
    rig.activate(ids().k2);
    rig.view.reveal(ids().k2_add_lines);
    rig.settle();
    const QRect box = boxOf(rig, ids().k2_add_lines);
    QVERIFY(box.isValid());
    QWidget* viewport = rig.view.pane()->viewport();
    QTest::mouseClick(viewport, Qt::LeftButton, {},
                      viewport->mapFrom(&rig.view, QPoint(box.left() + 3, box.center().y())));
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().k2_add_lines);
  }

  // What every kernel begins with is folded away: the first thing in sight is the kernel itself.
  void thePreludeIsFolded() {
    Rig<KernelView> rig(session(), "kernels", {800, 700});
    rig.activate(ids().k2);
    QTRY_VERIFY(rig.view.pane()->lineCount() > 20);
    QCOMPARE(rig.view.find("vector_size(64)"), 1);  // it is there, and can be found
    rig.view.find("");
    rig.view.pane()->scrollToLine(0);
    rig.settle();
    QVERIFY(boxOf(rig, ids().k2_gelu_lines).isValid());
  }

  void theKeyNamesTheExpressions() {
    Rig<KernelView> rig(session(), "kernels", {800, 700});
    rig.activate(ids().k2);
    QTRY_VERIFY(!rig.view.key().empty());
    QStringList texts;
    for (const kit::LinkEntry& entry : rig.view.key()) texts << entry.text;
    QVERIFY2(!texts.filter("F.gelu").isEmpty(), qPrintable(texts.join('\n')));
    for (size_t i = 1; i < rig.view.key().size(); ++i)
      QVERIFY(rig.view.key()[i - 1].letter < rig.view.key()[i].letter);
  }

  void onlyAGeneratedTextCanBeEdited() {
    Rig<KernelView> rig(session(), "kernels", {800, 700});
    rig.activate(library());
    QCOMPARE(rig.view.kernel(), library());
    QVERIFY(!rig.view.pane()->isVisible());  // it says why there is no text
    rig.activate(ids().k2);
    QTRY_VERIFY(rig.view.pane()->isVisible());
  }

  void withoutASessionNoTextIsShown() {
    Rig<KernelView> rig(nullptr, "kernels", {400, 200});
    QVERIFY(rig.view.subtitle().isEmpty());
    QVERIFY(!rig.view.pane()->isVisible());
    QVERIFY(rig.view.key().empty());
  }

 private:
  static QRect boxOf(Rig<KernelView>& rig, Id id) {
    for (const kit::Thing& thing : rig.view.things())
      if (thing.id == id && rig.view.rect().intersects(thing.box)) return thing.box;
    return {};
  }
  Id library() const {
    for (const auto& kernel : session()->kernels.of(ids().compilation))
      if (kernel.kind != "generated") return kernel.id;
    return 0;
  }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestKernel)
#include "tst_kernel.moc"
