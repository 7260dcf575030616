// The view that others are copied from: it says what is active, and of what.
#include "tests/gui/views/view_rig.h"
#include "views/kit/painting/theme.h"
#include "views/skeleton/skeleton_view.h"

using namespace vitrine;
using fixture::Rig;
using views::SkeletonView;

class TestSkeleton : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    kit::applyTheme(*qApp, kit::Theme::make(false));
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void theHeaderNamesStageAndCompilation() {
    Rig<SkeletonView> rig(session(), "bytecode", {300, 100});
    QCOMPARE(rig.view.title(), QStringLiteral("Bytecode"));
    QCOMPARE(rig.view.subtitle(), session()->label(ids().compilation));
    Rig<SkeletonView> other(session(), "", {300, 100});
    QCOMPARE(other.view.title(), QStringLiteral("Skeleton"));
  }

  void itPaintsWhatIsActive() {
    Rig<SkeletonView> rig(session(), "", {300, 100});
    const QImage nothing = rig.view.grabTo({300, 100}, 1);
    rig.activate(ids().k2);
    const QImage kernel = rig.view.grabTo({300, 100}, 1);
    QVERIFY(kernel != nothing);
    rig.activate(ids().captured_gelu);
    QVERIFY(rig.view.grabTo({300, 100}, 1) != kernel);
    rig.activate(0);
    QCOMPARE(rig.view.grabTo({300, 100}, 1), nothing);
  }

  void withoutASessionNothingIsActive() {
    Rig<SkeletonView> rig(session(), "", {300, 100});
    Rig<SkeletonView> none(nullptr, "", {300, 100});
    QVERIFY(none.view.subtitle().isEmpty());
    QCOMPARE(none.view.grabTo({300, 100}, 1), rig.view.grabTo({300, 100}, 1));
  }

 private:
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestSkeleton)
#include "tst_skeleton.moc"
