// Where the graph view looks: what stays in sight when modules open and close, and when another session
// comes.
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/kit/painting/theme.h"

using namespace vitrine;
using fixture::Rig;
using views::GraphView;

class TestGraphCamera : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(true);
    loaded_ = std::make_unique<fixture::Loaded>();
    deep_ = std::make_unique<fixture::Loaded>(60);
  }

  // A graph of a thousand nodes is a hundred times as long open as closed.
  void somethingIsInSightWhateverIsOpened() {
    Rig<GraphView> rig(deep_->session, "captured", {400, 460});
    for (const char* act : {"graph.open-all", "fit", "graph.open-all", "fit", "graph.open-all", "out",
                            "graph.open-all", "end", "graph.open-all", "graph.groups", "graph.groups"}) {
      if (act == std::string("fit"))
        rig.view.zoom(kit::Zoom::Fit);
      else if (act == std::string("out"))
        for (int i = 0; i < 4; ++i) rig.view.zoom(kit::Zoom::Out);
      else if (act == std::string("end"))
        rig.view.reveal(rig.view.picture().scene.items.back().id);
      else
        rig.view.act(act);
      rig.settle();
      QVERIFY2(rig.view.painted() > 0, act);
    }
  }

  void whatDoesNotFitIsShownFromItsBeginning() {
    Rig<GraphView> rig(deep_->session, "captured", {400, 4000});
    for (size_t i = 0; i < rig.view.picture().scene.items.size(); ++i)
      QVERIFY(seen(rig.view, static_cast<int>(i)));
    rig.view.act("graph.open-all");
    rig.settle();
    QVERIFY(rig.view.picture().layout.height > 4000);
    QVERIFY(seen(rig.view, 0));
    rig.view.resize(400, 460);
    rig.settle();
    rig.view.zoom(kit::Zoom::Fit);
    rig.settle();
    QVERIFY(rig.view.picture().layout.height * rig.view.camera().zoom > 460);
    QVERIFY(seen(rig.view, 0));
    QVERIFY(!rig.view.minimap().isEmpty());
  }

  // Where its first node is in sight from the left, nothing at the left is cut.
  void aWidePictureBeginsAtItsLeft() {
    int wide = 0;
    for (const char* stage : {"captured", "aten", "optimised"})
      for (int width = 130; width <= 400; width += 30) {
        Rig<GraphView> rig(loaded_->session, stage, {width, 460});
        const std::vector<kit::Box>& nodes = rig.view.picture().layout.nodes;
        const QRectF map = rig.view.minimap();
        const double zoom = rig.view.camera().zoom, right = map.isEmpty() ? width : map.left() - 40;
        double left = 1e9;
        for (const kit::Box& each : nodes) left = std::min(left, each.x);
        const bool fits = rig.view.picture().layout.width * zoom <= right;
        if (fits || (nodes[0].right() - left + 24) * zoom > right) continue;
        ++wide;
        QVERIFY(seen(rig.view, 0));
        QVERIFY2(rig.view.camera().to_view({left, 0}).x() >= 0, qPrintable(QString::number(width)));
      }
    QVERIFY(wide > 0);
  }

  // Whatever of the graph stands where the map's strip is cannot be clicked, and is not painted.
  void theMapLiesOverNothing() {
    Rig<GraphView> rig(deep_->session, "captured", {700, 420});
    rig.view.act("graph.open-all");
    for (int i = 0; i < 6; ++i) {
      rig.settle();
      const QRectF map = rig.view.minimap();
      QVERIFY(!map.isEmpty());
      for (const kit::Thing& thing : rig.view.things()) QVERIFY(thing.box.left() < map.left());
      const QImage image = rig.view.grab().toImage();
      for (const double y : {map.top() - 40, map.top() - 4, 10.0})  // over the map
        for (int x = static_cast<int>(map.left()) - 8; x < 700; ++x)
          QCOMPARE(image.pixelColor(x, static_cast<int>(y)), kit::theme().canvas);
      QTest::mouseMove(&rig.view, QPoint(map.center().x(), map.top() - 30));
      rig.settle();
      QCOMPARE(rig.model.selection().hover, Id(0));
      rig.view.zoom(kit::Zoom::In);
    }
  }

  void namesFromAfarDoNotLieOverEachOther() {
    Rig<GraphView> rig(deep_->session, "captured", {700, 460});
    size_t most = 0;
    for (int step = 0; step < 9; ++step) {
      if (step % 3 == 0) rig.view.act("graph.open-all");
      rig.view.zoom(step % 3 ? kit::Zoom::Out : kit::Zoom::Fit);
      rig.settle();
      const std::vector<QRectF>& titles = rig.view.titles();
      most = std::max(most, titles.size());
      for (size_t i = 0; i < titles.size(); ++i)
        for (size_t k = i + 1; k < titles.size(); ++k) QVERIFY(!titles[i].intersects(titles[k]));
    }
    QVERIFY(most > 1);
  }

  // What is in the middle of the view is where the eye is.
  void whatIsInTheMiddleStaysThereWhenModulesOpen() {
    Rig<GraphView> rig(deep_->session, "captured", {400, 460});
    for (int time = 0; time < 2; ++time) {
      rig.view.reveal(rig.view.picture().scene.items[rig.view.picture().scene.items.size() * 2 / 3].id);
      const auto [id, was] = nearestToMiddle(rig.view);
      rig.view.act("graph.open-all");
      rig.settle();
      QVERIFY(id);
      QCOMPARE(box(rig.view, rig.view.picture().scene.item_of.at(id)).topLeft(), was);
    }
  }

  void anotherSessionIsSeenFromItsBeginning() {
    Rig<GraphView> rig(deep_->session, "captured", {700, 460});
    rig.view.act("graph.open-all");
    rig.settle();
    rig.view.reveal(rig.view.picture().scene.items.back().id);
    for (int i = 0; i < 3; ++i) rig.view.zoom(kit::Zoom::In);
    Rig<GraphView> fresh(loaded_->session, "captured", {700, 460});
    rig.model.setSession(loaded_->session);
    rig.view.setSession(loaded_->session);
    rig.settle();
    QCOMPARE(rig.view.camera().zoom, fresh.view.camera().zoom);
    QCOMPARE(rig.view.camera().origin, fresh.view.camera().origin);
    QCOMPARE(rig.view.picture().scene.items.size(), fresh.view.picture().scene.items.size());
    // The same one, loaded again while it is being written, stays where it is.
    rig.view.zoom(kit::Zoom::In);
    const double zoom = rig.view.camera().zoom;
    rig.view.setSession(kit::SessionData::load(loaded_->session->path).value());
    rig.settle();
    QCOMPARE(rig.view.camera().zoom, zoom);
  }

 private:
  static QRectF box(const GraphView& view, int item) {
    const kit::Box& b = view.picture().layout.nodes[static_cast<size_t>(item)];
    return {view.camera().to_view({b.x, b.y}), view.camera().to_view({b.x + b.w, b.y + b.h})};
  }
  static bool seen(const GraphView& view, int item) { return box(view, item).intersects(view.rect()); }
  // The first of what it stands for, and its corner on the screen.
  static std::pair<Id, QPointF> nearestToMiddle(const GraphView& view) {
    QRectF seen(view.rect());
    seen.setBottom(seen.bottom() - kit::theme().header());
    if (!view.minimap().isEmpty()) seen.setRight(view.minimap().left() - 10);
    std::pair<Id, QPointF> out{0, {}};
    double least = 1e9;
    for (size_t i = 0; i < view.picture().scene.items.size(); ++i) {
      const QRectF at = box(view, static_cast<int>(i));
      const double away = (at.center() - seen.center()).manhattanLength();
      if (away >= least || view.picture().scene.items[i].members.empty()) continue;
      least = away;
      out = {view.picture().scene.items[i].members.front(), at.topLeft()};
    }
    return out;
  }
  std::unique_ptr<fixture::Loaded> loaded_, deep_;
};

QTEST_MAIN(TestGraphCamera)
#include "tst_graph_camera.moc"
