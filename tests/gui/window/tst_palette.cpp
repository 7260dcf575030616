// The palette while it is typed into: commands at once, a session's things as they are found, and Enter waits
// for them.
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/commands/palette.h"
#include "app/shell/main_window.h"
#include "tests/gui/fixture/fixture_session.h"
#include "tests/gui/fixture/still_theme.h"

using namespace vitrine;

class TestPalette : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(true);
    ids_ = fixture::writeSession(folder_.filePath("a.vitrine").toStdString());
    window_ = std::make_unique<app::MainWindow>(nullptr, app::JobRunner::Mode::Threads);
    QVERIFY(!window_->openSync(folder_.filePath("a.vitrine")));
    window_->QWidget::show();
    palette_ = window_->findChild<app::Palette*>();
    field_ = palette_->findChild<QLineEdit*>();
  }

  void thingsStreamIn() {
    palette_->open("swap");
    QVERIFY(!palette_->rows().empty());  // the command, before anything was searched
    field_->setText("add_gelu");
    const auto things = [&] {
      return std::any_of(palette_->rows().begin(), palette_->rows().end(),
                         [](const app::PaletteRow& row) { return row.id != 0; });
    };
    QVERIFY(!things());
    QTRY_VERIFY(things());
    QTest::keyClick(field_, Qt::Key_Escape);
    QVERIFY(!palette_->isVisible());
  }

  void enterWaitsForWhatIsStillSearched() {
    palette_->open("@K2");
    QTest::keyClick(field_, Qt::Key_Return);
    QTRY_COMPARE(window_->document()->selection().active, ids_.k2);
    QVERIFY(!palette_->isVisible());
  }

  void whatIsNotFoundIsSaidOnceAllWasSearched() {
    palette_->open("no such thing");
    QVERIFY(palette_->rows().empty());
    QTRY_COMPARE(palette_->rows().size(), size_t{1});
    QVERIFY(!palette_->rows()[0].enabled);
    QTest::keyClick(field_, Qt::Key_Escape);
  }

 private:
  QTemporaryDir folder_;
  fixture::Ids ids_;
  std::unique_ptr<app::MainWindow> window_;
  app::Palette* palette_ = nullptr;
  QLineEdit* field_ = nullptr;
};

QTEST_MAIN(TestPalette)
#include "tst_palette.moc"
