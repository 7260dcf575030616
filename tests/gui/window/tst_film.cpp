// The film of passes in the whole window: nodes keep their places over all of it, and single rewrites are
// steps.
#include <QTest>
#include <map>

#include "app/shell/main_window.h"
#include "tests/gui/window/window_test.h"
#include "views/graph/graph_view.h"

using namespace vitrine;
using app::MainWindow;
using views::GraphView;
using views::SceneItem;

class TestFilm : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { begin(); }

  void nodesStayWhereTheyAreOverAllPasses() {
    MainWindow window;
    open(window);
    app::Document& d = *window.document();
    std::map<int64_t, QPointF> places;
    int again = 0, frames = 0;
    double zoom = 0;
    QPointF origin;
    std::string stage;
    for (size_t i = 0; i < d.frames().size(); ++i) {
      const auto* graph = d.session()->graphs.find(d.frames()[i].entity);
      if (!graph || (graph->stage != "aten" && graph->stage != "decomposed" && graph->stage != "optimised"))
        continue;
      d.stepTo(static_cast<int>(i));
      window.settle();
      GraphView* view = graphIn(window);
      QVERIFY(view && view->picture().film);
      const auto& picture = view->picture();
      for (size_t k = 0; k < picture.scene.items.size(); ++k) {
        const SceneItem& item = picture.scene.items[k];
        const auto* node = d.session()->nodes.find(item.id);
        if (item.kind != SceneItem::Kind::Node || !node) continue;
        const QPointF at(picture.layout.nodes[k].x, picture.layout.nodes[k].y);
        const auto [known, first] = places.try_emplace(node->stable, at);
        QVERIFY2(known->second == at, node->name.c_str());
        again += !first;
      }
      // Within a stage the camera stays as well.
      ++frames;
      if (graph->stage == stage) {
        QCOMPARE(view->camera().zoom, zoom);
        QCOMPARE(view->camera().origin, origin);
      }
      stage = graph->stage;
      zoom = view->camera().zoom, origin = view->camera().origin;
    }
    QVERIFY(frames >= 4 && again > 20);
  }

  void withoutTheFilmAPictureHasALayoutOfItsOwn() {
    MainWindow window;
    open(window);
    window.settle();
    QVERIFY(!graphIn(window)->picture().film);
  }

  void eachRewriteIsAStepWithItsPlaceAndTime() {
    MainWindow window;
    open(window);
    app::Document& d = *window.document();
    d.setUnit(app::FilmUnit::Rewrite);
    QCOMPARE(d.frames().size(), size_t(3));
    QCOMPARE(d.frames()[0].name, QStringLiteral("split_addmm_bias"));
    QVERIFY2(d.frames()[0].sentence.startsWith("addmm_1 → mm, add, 1.50 µs, line "),
             qPrintable(d.frames()[0].sentence));
    d.stepTo(0);
    window.settle();
    // The first is done; what later ones change is as it was, and what they make is still to come.
    GraphView* view = graphIn(window);
    view->act("graph.open-all");
    window.settle();
    auto badges = [view] {
      std::map<QString, views::Badge> out;
      for (const SceneItem& item : view->picture().scene.items) out[item.name] = item.badge;
      return out;
    };
    QCOMPARE(badges()["mm"], views::Badge::Changed);
    QVERIFY(badges().contains("addmm_2") && !badges().contains("mm_2"));
    QCOMPARE(badges()["addmm_2"], views::Badge::None);
    QVERIFY2(view->counts().contains(" of "), qPrintable(view->counts()));
    d.stepTo(2);
    window.settle();
    QCOMPARE(badges()["mm_3"], views::Badge::Changed);
    QVERIFY2(!view->counts().contains(" of "), qPrintable(view->counts()));
    QCOMPARE(d.position(), 2);
  }

 private:
  void open(MainWindow& window) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(1440, 900);
    window.show();
    QVERIFY(!window.openSync(path_));
    window.settle();
  }
  static GraphView* graphIn(MainWindow& window) {
    auto* pane = window.centre()->pane('A');
    return pane && pane->host() ? qobject_cast<GraphView*>(pane->host()->view()) : nullptr;
  }
};

QTEST_MAIN(TestFilm)
#include "tst_film.moc"
