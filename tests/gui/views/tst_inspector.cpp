// The Inspector: all that is known of the active thing, with links along its chain.
#include <QToolButton>

#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/inspector/inspector_view.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;
using fixture::Rig;
using views::InspectorView;

class TestInspector : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(false);
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void whileNothingIsActiveItTellsOfTheRun() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    const QString text = said(rig);
    for (const char* word :
         {"transformer_block.py", "Result", "speed-up", "eager", "compiled", "Compilation"})
      QVERIFY2(text.contains(word), qPrintable(text));
  }

  void anOperatorTellsItsTypeAndWhatBecameOfIt() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    rig.activate(ids().captured_gelu);
    QTRY_VERIFY(said(rig).contains("Became"));
    const QString text = said(rig);
    QVERIFY2(text.startsWith("gelu"), qPrintable(text));
    for (const char* word : {"f32[8,128,3072]", "Came from", "K2"})
      QVERIFY2(text.contains(word), qPrintable(text));
  }

  void aBreakTellsWhyAndWhatToDo() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    rig.activate(ids().break_item);
    const QString text = said(rig);
    for (const char* word : {"item() hands Python a number", "keep the mean as a tensor", "Price"})
      QVERIFY2(text.contains(word), qPrintable(text));
  }

  void aRecompilationTellsOldAndNew() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    rig.activate(ids().recompilation);
    const QString text = said(rig);
    for (const char* word : {"old 128", "new 96", "train.py:22"})
      QVERIFY2(text.contains(word), qPrintable(text));
  }

  void twoSelectedThingsAreToldWhyTheyAreNotOneKernel() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    const auto decisions = session()->decisions.of(session()->main);
    const auto apart = std::find_if(decisions.begin(), decisions.end(),
                                    [](const session::DecisionRow& row) { return row.verdict != "fused"; });
    QVERIFY(apart != decisions.end());
    rig.activate(apart->a);
    QVERIFY(!said(rig).contains("One kernel with"));
    rig.model.toggle(apart->b);
    rig.settle();
    QTRY_VERIFY2(said(rig).contains("One kernel with " + session()->label(apart->b)), qPrintable(said(rig)));
    QVERIFY2(said(rig).contains(QString::fromStdString(apart->reason), Qt::CaseInsensitive),
             qPrintable(said(rig)));
    QVERIFY(said(rig).contains("No") && said(rig).contains("would save"));
    rig.model.toggle(ids().k2);  // three are no pair
    rig.settle();
    QVERIFY(!said(rig).contains("One kernel with"));
  }

  // Words that have no room beside their key go on below, and so does what is said of them; a name is cut.
  void wordsAreNotCutAndNamesTakeOneLine() {
    views::InspectorSheet sheet;
    auto heightOf = [&](const QString& value, const QString& note, int width) {
      sheet.set({kit::NodeFamily::None, "file", "a.py", "", "", {{"Result", {{"speed-up", value, note}}}}},
                nullptr);
      return sheet.heightFor(width);
    };
    const QString words = QStringLiteral("no difference seen: 0.87 to 5.17×");
    const int line = heightOf("1.00 ms", {}, 288);
    QCOMPARE(heightOf(words, {}, 600), line);
    QVERIFY(heightOf(words, {}, 288) > line);
    QVERIFY(heightOf(words, {}, 200) > heightOf(words, {}, 288));
    QCOMPARE(heightOf(QString(words).remove(' '), {}, 288), line);
    QCOMPARE(heightOf("20 a side", "half of them beside", 600), line);
    QVERIFY(heightOf("20 a side", "half of them beside", 260) > line);
    sheet.resize(288, heightOf(words, "half of them beside", 288));
    const QImage image = sheet.grab().toImage();
    for (int y = 0; y < image.height(); ++y)  // nothing is painted where it would be cut
      for (int x = 288 - 8; x < 288; ++x)
        if (image.pixelColor(x, y) != kit::theme().line) QCOMPARE(image.pixelColor(x, y), kit::theme().bg1);
  }

  void aClickOnALinkWalksTheChain() {
    Rig<InspectorView> rig(session(), "", {360, 900});
    rig.activate(ids().captured_gelu);
    QTRY_VERIFY(said(rig).contains("Became"));
    auto* sheet = rig.view.findChild<views::InspectorSheet*>();
    const auto origins = session()->links.origins(ids().captured_gelu);
    const auto derived = session()->links.derived(ids().captured_gelu);
    bool walked = false;
    for (int y = 50; y < sheet->height() && !walked; y += 6) {
      QTest::mouseClick(sheet, Qt::LeftButton, {}, QPoint(60, y));
      rig.settle();
      const Id now = rig.model.selection().active;
      if (now == ids().captured_gelu) continue;
      walked = true;
      QVERIFY2(now && !session()->label(now).isEmpty(), qPrintable(QString::number(now)));
    }
    QVERIFY(walked && (!origins.empty() || !derived.empty()));
  }

  void aPinKeepsWhatIsShown() {
    Rig<InspectorView> rig(session(), "", {360, 700});
    rig.activate(ids().captured_gelu);
    const QList<QWidget*> controls = rig.view.headerControls();
    QCOMPARE(controls.size(), 1);
    auto* pin = qobject_cast<QToolButton*>(controls[0]);
    pin->click();
    QVERIFY(rig.view.pinned());
    rig.activate(ids().break_item);
    QVERIFY2(said(rig).startsWith("gelu"), qPrintable(said(rig)));
    QVERIFY(rig.view.act("view.pin"));  // the key
    QVERIFY(!rig.view.pinned() && !pin->isChecked());
    QVERIFY2(!said(rig).startsWith("gelu"), qPrintable(said(rig)));
  }

  // What is longer than the view scrolls; nothing is cut.
  void aLowInspectorScrolls() {
    Rig<InspectorView> rig(session(), "", {260, 160});
    rig.activate(ids().k2);
    auto* sheet = rig.view.findChild<views::InspectorSheet*>();
    QVERIFY(sheet->height() > rig.view.height());
    QVERIFY(sheet->height() >= sheet->heightFor(sheet->width()));
    QVERIFY(sheet->width() <= rig.view.width());
  }

  void withoutASessionItSaysNothing() {
    Rig<InspectorView> rig(nullptr, "", {360, 200});
    QVERIFY(said(rig).isEmpty());
  }

 private:
  static QString said(Rig<InspectorView>& rig) { return rig.view.copy(kit::CopyAs::Text); }
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestInspector)
#include "tst_inspector.moc"
