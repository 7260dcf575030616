// The graph view: modules, search, keys, marks, ghosts of the capture, brackets and traffic, large graphs.

#include <QAccessible>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <map>
#include <set>

#include <QWheelEvent>

#include "core/session/writer.h"
#include "tests/gui/fixture/still_theme.h"
#include "tests/gui/views/view_rig.h"
#include "views/graph/graph_view.h"
#include "views/graph/modules.h"
#include "views/graph/operators.h"
#include "views/graph/traffic.h"
#include "views/kit/accessible.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"
#include "views/kit/text/numbers.h"

using namespace vitrine;
using fixture::Rig;
using views::GraphView;
using views::SceneItem;

class TestGraph : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    fixture::applyStillTheme(true);
    loaded_ = std::make_unique<fixture::Loaded>();
  }

  void aSmallGraphStandsWithItsModulesOpen() {
    Rig<GraphView> rig(session(), "captured", {700, 900});
    QVERIFY(named(rig.view, "gelu") >= 0);
    QVERIFY(named(rig.view, "scaled_dot_product_attention") >= 0);
    QVERIFY(std::any_of(rig.view.picture().scene.groups.begin(), rig.view.picture().scene.groups.end(),
                        [](const auto& g) { return g.path == "attn"; }));
  }

  void aNarrowLegendTellsWhatItsGlyphsStandFor() {
    Rig<GraphView> rig(session(), "optimised", {260, 900});
    rig.view.grab();
    std::set<QString> told;
    const int rows = views::legend_rows(rig.view.picture(), rig.view.size());
    for (int x = 2; x < rows * rig.view.width(); x += 4) {
      const int row = x / rig.view.width();
      const QPoint at(x % rig.view.width(), rig.view.height() - 10 - row * kit::theme().header());
      QToolTip::hideText();
      QHelpEvent help(QEvent::ToolTip, at, rig.view.mapToGlobal(at));
      QApplication::sendEvent(&rig.view, &help);
      if (QToolTip::text().contains("selects all")) told.insert(QToolTip::text());
    }
    QCOMPARE(told.size(), rig.view.picture().scene.families.size());
  }

  // A narrow pane has a second row for the names rather than glyphs alone; a wide one keeps to one row.
  void aNarrowLegendHasTwoRows() {
    Rig<GraphView> narrow(session(), "optimised", {375, 500}), wide(session(), "optimised", {900, 500});
    const auto& families = narrow.view.picture().scene.families;
    QVERIFY(families.size() > 3);
    QCOMPARE(views::legend_rows(narrow.view.picture(), narrow.view.size()), 2);
    QCOMPARE(views::legend_rows(wide.view.picture(), wide.view.size()), 1);
    QImage image(375, 500, QImage::Format_RGB32);
    QPainter painter(&image);
    const double header = kit::theme().header();
    const auto places =
        views::paint_legend(painter, QRectF(0, 500 - 2 * header, 375, 2 * header), narrow.view.picture(), 1);
    QCOMPARE(places.size(), families.size());
    for (const auto& [family, place] : places)
      QVERIFY(place.width() > 20 + kit::textWidth(kit::theme().ui(12), kit::familyTitle(family)));
  }

  // Where two rows are not enough for the names there is a third, if the graph keeps its room.
  void aLegendThatIsNarrowerStillHasThreeRows() {
    Rig<GraphView> rig(session(), "optimised", {375, 500});
    const auto& picture = rig.view.picture();
    int width = 375;
    while (width > 150 && views::legend_rows(picture, QSizeF(width, 500)) < 3) --width;
    QCOMPARE(views::legend_rows(picture, QSizeF(width, 500)), 3);
    QCOMPARE(views::legend_rows(picture, QSizeF(width, 350)), 2);
    QCOMPARE(views::legend_rows(picture, QSizeF(width, 250)), 1);
    QImage image(width, 500, QImage::Format_RGB32);
    QPainter painter(&image);
    const double header = kit::theme().header();
    const QRectF box(0, 500 - 3 * header, width, 3 * header);
    const auto places = views::paint_legend(painter, box, picture, 1);
    QCOMPARE(places.size(), picture.scene.families.size());
    for (const auto& [family, place] : places) {
      QVERIFY(place.width() > 20 + kit::textWidth(kit::theme().ui(12), kit::familyTitle(family)));
      QVERIFY(box.contains(place));
    }
  }

  void aModuleClosesToACardAndOpensAgain() {
    Rig<GraphView> rig(session(), "captured", {700, 900});
    const size_t open = rig.view.picture().scene.items.size();
    rig.activate(node("captured", "view"));
    rig.view.act("graph.open");
    rig.settle();
    const auto& items = rig.view.picture().scene.items;
    QVERIFY(items.size() < open);
    auto card = std::find_if(items.begin(), items.end(),
                             [](const SceneItem& it) { return it.kind == SceneItem::Kind::Module; });
    QVERIFY(card != items.end());
    QCOMPARE(card->name, QStringLiteral("attn"));
    QVERIFY(card->line.contains("nodes"));
    // A click on it is about the node that does the work.
    for (Id id : card->members) {
      const session::NodeRow &member = *session()->nodes.find(id), &main = *session()->nodes.find(card->id);
      QVERIFY(member.flops <= main.flops && kit::familyOf(main.family) != kit::NodeFamily::View);
    }
    // A node inside is still found: its card shows it.
    QCOMPARE(rig.view.canShow(node("captured", "view")), node("captured", "view"));
    QTest::mouseDClick(&rig.view, Qt::LeftButton, {},
                       middle(rig.view, static_cast<int>(card - items.begin())));
    rig.settle();
    QCOMPARE(rig.view.picture().scene.items.size(), open);
  }

  // The map has a ground of its own over the picture, and what is revealed stands beside it.
  void theMapHidesNothingThatIsRevealed() {
    Rig<GraphView> rig(session(), "optimised", {700, 420});
    QVERIFY(!rig.view.minimap().isEmpty());
    for (int i = 0; i < 3; ++i) rig.view.zoom(kit::Zoom::In);
    for (const session::NodeRow& each :
         session()->nodes.of(rig.view.picture().scene.items.empty()
                                 ? 0
                                 : session()->lastGraph(ids().compilation, "optimised")->id)) {
      rig.activate(each.id);
      const auto it = rig.view.picture().scene.item_of.find(each.id);
      if (it == rig.view.picture().scene.item_of.end()) continue;
      const QPoint at = middle(rig.view, it->second);
      QVERIFY2(!rig.view.minimap().contains(at), each.name.c_str());
    }
  }

  void colourTellsTimeAndSaysItsNumber() {
    Rig<GraphView> rig(session(), "optimised", {700, 900});
    QVERIFY(rig.view.picture().scene.keys.empty());
    const QList<QWidget*> controls = rig.view.headerControls();
    QCOMPARE(controls.size(), 3);
    for (QWidget* each : controls) QVERIFY(!each->accessibleName().isEmpty());
    rig.view.colourBy(views::Colour::Memory);
    rig.settle();
    const auto& items = rig.view.picture().scene.items;
    const auto gelu = std::find_if(items.begin(), items.end(), [](auto& it) { return it.name == "gelu"; });
    QVERIFY(gelu != items.end());
    QVERIFY(gelu->shade.isValid());
    const auto at = static_cast<size_t>(gelu - items.begin());
    QCOMPARE(gelu->right, kit::bytesText(static_cast<double>(session()->nodes.find(gelu->id)->bytes)));
    rig.view.colourBy(views::Colour::Kernel);
    rig.settle();
    const auto& again = rig.view.picture().scene.items;
    QCOMPARE(again[at].right, QStringLiteral("K2"));
    QVERIFY(!rig.view.picture().scene.keys.empty());
  }

  // The name of a kernel that reaches beyond the view stands in the middle of what is seen of it.
  void namesOfTallKernelsStayInSight() {
    const QRectF seen(0, 100, 400, 200);
    QCOMPARE(views::middle_in_sight(120, 160, seen), 140.0);
    QCOMPARE(views::middle_in_sight(0, 1000, seen), 200.0);
    QCOMPARE(views::middle_in_sight(250, 900, seen), 275.0);
    QCOMPARE(views::middle_in_sight(0, 50, seen), 25.0);  // out of sight it stays
  }

  // However wide a graph is, its first picture shows names that can be read: what is beside it is a pan away.
  void theFirstPictureCanBeRead() {
    for (int width : {90, 160, 320, 420, 700}) {
      Rig<GraphView> rig(session(), "captured", {width, 900});
      QVERIFY2(rig.view.camera().zoom >= 0.5, "names can be read");
    }
  }

  // Layers that do the same stand as one card, until it is opened; one of them is shown from within.
  void equalLayersAreOneCard() {
    std::vector<views::ModuleNode> nodes{{"embed", 1}, {"embed", 2}};
    for (int layer = 0; layer < 12; ++layer)
      for (size_t work : {1, 2, 3, 4, 5}) nodes.push_back({"encoder.layer." + std::to_string(layer), work});
    nodes.push_back({"head", 1});
    nodes.push_back({"head", 2});
    const auto open = views::open_modules(nodes, {}, {});
    QVERIFY(open.contains("encoder.layer"));
    QVERIFY(open.contains("encoder.layer.0") && !open.contains("encoder.layer.1"));
    const auto runs = views::equal_runs(nodes, open, {});
    QCOMPARE(runs.size(), size_t(11));
    QCOMPARE(runs.at("encoder.layer.11"), std::string("encoder.layer.1"));
    const std::set<std::string> split{std::string("encoder.layer.1") + views::kRunMark};
    QVERIFY(views::equal_runs(nodes, views::open_modules(nodes, split, {}), split).empty());
    nodes[20].work = 99;  // of layer 3: no longer like the others
    const auto parted = views::equal_runs(nodes, open, {});
    QVERIFY(!parted.contains("encoder.layer.3"));
    QCOMPARE(parted.at("encoder.layer.11"), std::string("encoder.layer.4"));
  }

  // A list whose layers have other work between them is no card: it would read what it makes.
  void aListWithWorkBetweenItsLayersStandsOpen() {
    std::vector<views::ModuleNode> nodes, whole;
    for (int layer = 0; layer < 10; ++layer) {
      for (size_t work : {1, 2, 3}) {
        nodes.push_back({"l." + std::to_string(layer), work});
        whole.push_back(nodes.back());
      }
      nodes.push_back({"", 7});
    }
    for (int i = 0; i < 20; ++i) whole.push_back({"", 7});
    QVERIFY(views::open_modules(nodes, {}, {}).contains("l"));
    QVERIFY(!views::open_modules(nodes, {}, {"l"}).contains("l"));  // as the user wants it
    QVERIFY(!views::open_modules(whole, {}, {}).contains("l"));
  }

  void aClickMakesTheNodeActiveAndGroundNone() {
    Rig<GraphView> rig(session(), "optimised", {700, 1400});
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, middle(rig.view, named(rig.view, "gelu")));
    QCOMPARE(rig.model.selection().active, ids().optimised_gelu);
    const auto& items = rig.view.picture().scene.items;
    int other = 0;
    while (items[size_t(other)].kind != SceneItem::Kind::Node ||
           items[size_t(other)].id == ids().optimised_gelu)
      ++other;
    QTest::mouseClick(&rig.view, Qt::LeftButton, Qt::ControlModifier, middle(rig.view, other));
    QVERIFY(rig.model.selection().isSelected(items[size_t(other)].id));
    QCOMPARE(rig.model.selection().active, ids().optimised_gelu);
    QTest::mouseClick(&rig.view, Qt::LeftButton, {}, QPoint(4, 4));
    QCOMPARE(rig.model.selection().active, Id(0));
  }

  void relativesWearTheRing() {
    Rig<GraphView> rig(session(), "captured", {700, 900});
    rig.activate(ids().optimised_gelu);
    QCOMPARE(rig.model.selection().mark(ids().captured_gelu), kit::Emphasis::Ring);
    QCOMPARE(rig.view.canShow(ids().optimised_gelu), ids().captured_gelu);
    QVERIFY(ringPixels(rig.view) > 100);
    rig.activate(0);
    QCOMPARE(ringPixels(rig.view), 0);
  }

  void arrowsWalkAlongEdges() {
    Rig<GraphView> rig(session(), "captured", {700, 900});
    rig.activate(ids().captured_gelu);
    QTest::keyClick(&rig.view, Qt::Key_Up);
    rig.settle();
    QCOMPARE(rig.model.selection().active, node("captured", "linear_2"));
    QTest::keyClick(&rig.view, Qt::Key_Down);
    rig.settle();
    QCOMPARE(rig.model.selection().active, ids().captured_gelu);
    QTest::keyClick(&rig.view, Qt::Key_Down);
    QCOMPARE(rig.model.selection().active, node("captured", "linear_3"));
  }

  void searchFindsNamesShapesAndPatterns() {
    Rig<GraphView> rig(session(), "captured", {700, 300});
    QCOMPARE(rig.view.find("linear"), 4);
    QCOMPARE(rig.view.find("/^linear_[12]$/"), 0);  // patterns see all words of a node
    QCOMPARE(rig.view.find("8,128,3072"), 2);
    QCOMPARE(rig.view.find("nothing of the kind"), 0);
    rig.view.find("gelu");
    rig.view.findNext(true);
    QCOMPARE(rig.model.selection().active, ids().captured_gelu);
    QCOMPARE(rig.view.find(""), 0);
  }

  void whatCaptureHasYetToMakeIsAGhost() {
    Rig<GraphView> rig(session(), "captured", {700, 900});
    QVERIFY(rig.view.ghosts().step_of.empty());
    kit::Film film;
    film.compilation = ids().compilation;
    film.step = ids().gelu_step;
    rig.film(film);
    QVERIFY(!rig.view.ghosts().step_of.contains(ids().captured_gelu));
    QVERIFY(rig.view.ghosts().step_of.contains(node("captured", "linear_3")));
    QVERIFY(rig.view.ghosts().step_of.contains(node("captured", "add_1")));
    QVERIFY(!rig.view.ghosts().step_of.contains(node("captured", "linear_2")));
    QCOMPARE(rig.view.ghosts().newest, ids().captured_gelu);
    QCOMPARE(rig.view.subtitle(), QStringLiteral("13 of 15 nodes"));
    // Other stages know nothing of it.
    rig.view.setStage("optimised");
    rig.settle();
    QVERIFY(rig.view.ghosts().step_of.empty());
  }

  void loopsSayWhichKernelTheyBecome() {
    Rig<GraphView> loops(session(), "loops", {700, 900});
    const views::Beside& before = loops.view.picture().scene.beside;
    QCOMPARE(before.brackets.size(), size_t(4));
    QCOMPARE(before.brackets[2].title, QStringLiteral("to be K2"));
    QCOMPARE(before.brackets[2].items.size(), size_t(2));
    QCOMPARE(before.bars.size(), size_t(10));  // not of library calls
    Rig<GraphView> fused(session(), "fused", {700, 900});
    const views::Beside& after = fused.view.picture().scene.beside;
    QCOMPARE(after.bars.size(), size_t(4));
    QCOMPARE(after.largest, before.largest);  // both panes on one scale
    QCOMPARE(after.total_before, before.total);
    QVERIFY(after.total < before.total);
    QCOMPARE(loops.view.subtitle().section(';', 0, 0), QStringLiteral("10 loop nests, 5 other operators"));
    QCOMPARE(fused.view.subtitle(),
             QStringLiteral("4 kernels, 5 library calls, 9 launches; times: launches of a call, added"));
  }

  // The same weight beside what reads it in both halves: backward's own input has the program's name.
  void aWeightIsCalledTheSameInBackward() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("weight.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id c = fixture::bareCompilation(*w, run), joint = w->next(Kind::Graph), back = w->next(Kind::Graph),
             weight = w->next(Kind::Node), left = w->next(Kind::Node), op = w->next(Kind::Node);
    w->put(GraphRow{joint, c, "joint"});
    w->put(GraphRow{back, c, "backward"});
    NodeRow row{weight, joint, 0, 1, "layers_0_norm_weight", "parameter"};
    row.detail = "L['self'].layers.0.norm.weight";
    w->put(row);
    row = {left, back, 0, 7, "layers_0_norm_weight", "placeholder"};
    row.detail = "saved layers_0_norm_weight";
    w->put(row);
    w->put(NodeRow{op, back, 1, 8, "mul", "op", "aten.mul.Tensor", "pointwise", "f32[4]"});
    w->put(EdgeRow{back, left, op});
    w->put(CrossingRow{c, 0, "layers_0_norm_weight", "input", "f32[4]", 0, weight, left, "an input"});
    w->finish("finished");
    w.reset();
    Rig<GraphView> rig(kit::SessionData::load(path).value(), "backward", {400, 300});
    QCOMPARE(rig.view.picture().scene.items.at(0).pills.at(0).text, QStringLiteral("norm.weight"));
  }

  // Earlier recordings label a copy with the launch that it was to be before its kernel wrote it at once.
  void launchesThatDoNotRunAreNotCounted() {
    using namespace session;
    QTemporaryDir folder;
    const std::string path = folder.filePath("copy.vitrine").toStdString();
    auto w = Writer::create(path).take();
    RunRow run{0, "model.py", "model(*inputs)", "", "cpu", "default", "finished"};
    const Id c = fixture::bareCompilation(*w, run), graph = w->next(Kind::Graph);
    w->put(GraphRow{graph, c, "fused"});
    for (int i = 0; i < 2; ++i) {
      NodeRow node{w->next(Kind::Node), graph, i, i, i ? "copy_" : "mul", "op"};
      node.group_label = i ? "O0" : "K0";
      w->put(node);
    }
    KernelRow kernel{w->next(Kind::Kernel), c, 0, "K0", "mul", "generated"};
    w->put(kernel);
    w->put(LaunchRow{w->next(Kind::Launch), c, 0, "kernel", "K0 mul", "x, buf0", kernel.id});
    w->finish("finished");
    w.reset();
    Rig<GraphView> rig(kit::SessionData::load(path).value(), "fused", {400, 300});
    QVERIFY2(rig.view.subtitle().startsWith("1 kernel, 1 launch"), qPrintable(rig.view.subtitle()));
  }

  // What a later pass makes of a node, as the product of an addmm, is at work for it.
  void decomposedNodesHaveTheTimesOfWhatIsMadeOfThem() {
    QStringList known[2];
    for (const int later : {0, 1}) {
      Rig<GraphView> rig(session(), later ? "optimised" : "decomposed", {900, 900});
      for (const views::SceneItem& it : rig.view.picture().scene.items)
        if (!it.right.isEmpty()) known[later] << it.right;
    }
    QVERIFY(!known[0].filter("3.74").isEmpty());  // of addmm_2, which becomes mm_2 and add_2
    QCOMPARE(known[0], known[1]);
  }

  // The first row of what begins with no input stands below the head of the traffic's column, and that stays
  // while the rows are scrolled.
  void theHeadOfTheTrafficCoversNoNumber() {
    Rig<GraphView> rig(session(), "fused", {700, 300});
    const views::Camera& camera = rig.view.camera();
    QVERIFY(camera.to_view({0, rig.view.picture().layout.nodes[0].y}).y() >= views::kBesideHead);
    const double x = camera.to_view({rig.view.picture().layout.width, 0}).x() - 2;
    const QRect head(static_cast<int>(x), 0, 700 - static_cast<int>(x), int(views::kBesideHead));
    const QImage before = rig.view.grab(head).toImage();
    QWheelEvent down(QPointF(300, 150), rig.view.mapToGlobal(QPointF(300, 150)), {}, {0, -600}, Qt::NoButton,
                     {}, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&rig.view, &down);
    QCOMPARE(rig.view.grab(head).toImage(), before);
  }

  void aDecisionsDiscOpensThePair() {
    Rig<GraphView> rig(session(), "loops", {700, 1200});
    const auto& scene = rig.view.picture().scene;
    for (size_t e = 0; e < scene.edges.size(); ++e) {
      if (scene.edges[e].decision != ids().fused_pair) continue;
      const auto& points = rig.view.picture().layout.edges[e].points;
      const QPointF disc(points.back().x, (points[points.size() - 2].y + points.back().y) / 2);
      QTest::mouseClick(&rig.view, Qt::LeftButton, {}, rig.view.camera().to_view(disc).toPoint());
      QCOMPARE(rig.model.selection().active, ids().fused_pair);
      return;
    }
    QFAIL("no edge carries the pair");
  }

  void aPassMarksWhatItChanged() {
    Rig<GraphView> rig(session(), "optimised", {700, 1400});
    int added = 0, changed = 0;
    for (const auto& graph : session()->graphs.of(ids().compilation)) {
      if (graph.stage != "optimised" || graph.pass.empty()) continue;
      kit::Film film;
      film.compilation = ids().compilation;
      film.graph = graph.id;
      rig.film(film);
      int here = 0;
      for (const SceneItem& it : rig.view.picture().scene.items) {
        here += it.badge != views::Badge::None;
        added += it.badge == views::Badge::Added;
        changed += it.badge == views::Badge::Changed;
        if (it.badge == views::Badge::Changed && it.kind == SceneItem::Kind::Node) QVERIFY(!it.old.isEmpty());
      }
      if (!graph.changed) QCOMPARE(here, 0);
    }
    QVERIFY(added + changed > 0);
  }

  // One column, kernels together, the same in both pictures, nothing beside a row's number.
  void rowsStandAtTheSamePlaceBeforeAndAfter() {
    Rig<GraphView> loops(session(), "loops", {800, 900}), fused(session(), "fused", {800, 900});
    const auto& before = loops.view.picture();
    const auto& after = fused.view.picture();
    QCOMPARE(before.scene.items.size(), after.scene.items.size());
    std::map<std::string, int> runs;  // of neighbouring rows, by kernel
    std::string last;
    for (size_t i = 0; i < before.scene.items.size(); ++i) {
      QCOMPARE(before.scene.items[i].name, after.scene.items[i].name);
      QCOMPARE(before.layout.nodes[i].x, after.layout.nodes[i].x);
      QCOMPARE(before.layout.nodes[i].y, after.layout.nodes[i].y);
      if (i) QVERIFY(before.layout.nodes[i].y >= before.layout.nodes[i - 1].bottom());
      const auto* row = session()->nodes.find(after.scene.items[i].id);
      if (row->group_label != last && row->group_label.starts_with("K")) ++runs[row->group_label];
      last = row->group_label;
    }
    QVERIFY(!runs.empty());
    for (const auto& [label, count] : runs) QCOMPARE(count, 1);
    QCOMPARE(loops.view.camera().zoom, fused.view.camera().zoom);
  }

  void aNodeThatAPassRemovedStaysAtItsPlace() {
    Rig<GraphView> rig(session(), "optimised", {700, 1400});
    int removed = 0;
    for (const auto& graph : session()->graphs.of(ids().compilation)) {
      if (graph.stage != "optimised" || !graph.changed) continue;
      kit::Film film;
      film.compilation = ids().compilation;
      film.graph = graph.id;
      rig.film(film);
      std::set<Id> here;
      for (const auto& node : session()->nodes.of(graph.id)) here.insert(node.id);
      for (const SceneItem& it : rig.view.picture().scene.items) {
        if (it.kind == SceneItem::Kind::Module) continue;
        QCOMPARE(it.badge == views::Badge::Removed, !here.contains(it.id));
        removed += it.badge == views::Badge::Removed;
      }
    }
    QVERIFY(removed > 0);
  }

  // Many nodes that no module holds stand together by the line they came from; a line that is run once a
  // layer does not, for its card would be before and behind the layers.
  void looseNodesStandByTheirLine() {
    const Id graph = make_id(Kind::Graph, 1);
    std::vector<session::SpanRow> spans(2);
    for (int i : {0, 1}) spans[size_t(i)].id = make_id(Kind::Span, i + 1), spans[size_t(i)].line = i ? 12 : 5;
    std::vector<session::NodeRow> nodes;
    std::vector<session::EdgeRow> edges;
    for (int i = 0; i < 80; ++i) {
      session::NodeRow node;
      node.id = make_id(Kind::Node, i + 1), node.graph = graph, node.kind = "op";
      const bool layer = i < 20 && i % 2;  // 20 of line 5 and of layers in turn, then 60 of line 12
      node.module = layer ? "layer" : "";
      node.span = layer ? 0 : spans[i < 20 ? 0 : 1].id;
      nodes.push_back(node);
      if (i) edges.push_back({graph, make_id(Kind::Node, i), node.id});
    }
    kit::SessionData data;
    data.spans = kit::Table<session::SpanRow>(spans);
    data.edges = kit::Pages<session::EdgeRow>([edges](Id) { return edges; });
    const views::LooseLines lines = views::lines_of_loose(data, nodes);
    QCOMPARE(lines.path.size(), size_t(60));
    QCOMPARE(lines.path.at(nodes.back().id), std::string("line 12"));
    nodes.resize(40);  // few enough to be seen one by one
    QVERIFY(views::lines_of_loose(data, nodes).path.empty());
  }

  // A backward that reads every weight would be as high as all their pills: the last one counts the rest.
  void aNodeOfManyWeightsStaysANode() {
    const Id graph = make_id(Kind::Graph, 1), reader = make_id(Kind::Node, 1000);
    std::vector<session::NodeRow> nodes;
    std::vector<session::EdgeRow> edges;
    for (int i = 0; i < 40; ++i) {
      session::NodeRow weight;
      weight.id = make_id(Kind::Node, i + 1), weight.graph = graph, weight.kind = "parameter";
      weight.name = "self_w" + std::to_string(i);
      weight.detail = "L['self'].w" + std::to_string(i);
      nodes.push_back(weight);
      edges.push_back({graph, weight.id, reader});
    }
    session::NodeRow node;
    node.id = reader, node.graph = graph, node.kind = "op", node.name = "backward";
    nodes.push_back(node);
    kit::SessionData data;
    data.nodes = kit::Table<session::NodeRow>(nodes, &session::NodeRow::graph);
    data.edges = kit::Pages<session::EdgeRow>([edges](Id) { return edges; });
    const views::Scene scene = views::build_scene(data, graph, {views::Grouping::None});
    const auto item = static_cast<size_t>(scene.item_of.at(reader));
    QVERIFY(scene.items[item].pills.size() < 10);
    QCOMPARE(scene.items[item].pills.front().text, QStringLiteral("w0"));  // without its root
    QCOMPARE(scene.items[item].pills.back().text, QStringLiteral("35 more"));
    QVERIFY(scene.layout.nodes[item].height < 200);
  }

  // Only what is in view is painted, whatever the size of the graph.
  void tenThousandNodesCostWhatIsInView() {
    fixture::Loaded large(700);
    const auto* graph = large.session->lastGraph(large.ids.compilation, "captured");
    QVERIFY(large.session->nodes.of(graph->id).size() > 10'000);
    Rig<GraphView> rig(large.session, "captured", {1200, 800});
    QVERIFY(!rig.view.picture().empty());
    rig.view.act("graph.open-all");  // every module open
    rig.settle();
    QVERIFY(rig.view.picture().scene.items.size() > 8'000);
    QVERIFY(rig.view.painted() > 0);
    QVERIFY2(rig.view.painted() < 300, qPrintable(QString::number(rig.view.painted())));
    rig.activate(large.ids.captured_gelu);  // comes into view
    QVERIFY(rig.view.painted() < 300);
    QVERIFY(ringPixels(rig.view) > 50);
  }

  // Such a snapshot has no nodes of its own: those of the one before it are shown.
  void aPassThatChangedNothingShowsTheGraph() {
    const session::GraphRow* unchanged = nullptr;
    for (const auto& graph : session()->graphs.of(ids().compilation))
      if (graph.stage == "optimised" && session()->nodes.of(graph.id).empty()) unchanged = &graph;
    QVERIFY(unchanged);
    Rig<GraphView> rig(session(), "optimised", {500, 500});
    kit::Film film;
    film.compilation = ids().compilation;
    film.graph = unchanged->id;
    rig.film(film);
    QVERIFY(!rig.view.picture().empty());
    const auto* with_nodes = session()->withNodes(*unchanged);
    QVERIFY(with_nodes->ordinal < unchanged->ordinal);
    QCOMPARE(with_nodes->stage, unchanged->stage);
  }

  // A screen reader hears of the nodes in sight, and can press them.
  void nodesAreChildrenForScreenReaders() {
    kit::installAccessible();
    Rig<GraphView> rig(session(), "optimised", {700, 1400});
    rig.activate(ids().optimised_gelu);
    QAccessibleInterface* view = QAccessible::queryAccessibleInterface(&rig.view);
    QVERIFY(view && view->childCount() > 5);
    QCOMPARE(view->text(QAccessible::Name), rig.view.title());
    QAccessibleInterface *gelu = nullptr, *other = nullptr;
    for (int i = 0; i < view->childCount(); ++i) {
      QAccessibleInterface* child = view->child(i);
      QCOMPARE(view->indexOfChild(child), i);
      (child->text(QAccessible::Name).startsWith("gelu,") ? gelu : other) = child;
    }
    QVERIFY(gelu && other);
    QVERIFY2(
        gelu->text(QAccessible::Name).startsWith("gelu, pointwise, f32[8,128,3072], in kernel K2, active"),
        qPrintable(gelu->text(QAccessible::Name)));
    QVERIFY(gelu->state().focused && !other->state().focused);
    QVERIFY(QRect(rig.view.mapToGlobal(QPoint()), rig.view.size()).intersects(gelu->rect()));
    QCOMPARE(view->childAt(gelu->rect().center().x(), gelu->rect().center().y()), gelu);
    other->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    rig.settle();
    QVERIFY(rig.model.selection().active != ids().optimised_gelu);
    QVERIFY(other->state().focused);
  }

  void withoutAGraphItSaysSo() {
    Rig<GraphView> rig(session(), "joint", {500, 300});
    QVERIFY(rig.view.picture().empty());
    Rig<GraphView> none(nullptr, "captured", {500, 300});
    QVERIFY(none.view.picture().empty());
  }

 private:
  const kit::SessionPtr& session() const { return loaded_->session; }
  const fixture::Ids& ids() const { return loaded_->ids; }
  Id node(const char* stage, const char* name) const {
    for (const auto& row : session()->nodes.of(session()->lastGraph(ids().compilation, stage)->id))
      if (row.name == name) return row.id;
    return 0;
  }
  static int named(const GraphView& view, const char* name) {
    const auto& items = view.picture().scene.items;
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].name == QLatin1String(name)) return static_cast<int>(i);
    return -1;
  }
  static QPoint middle(const GraphView& view, int item) {
    const kit::Box& box = view.picture().layout.nodes[static_cast<size_t>(item)];
    return view.camera().to_view({box.x + box.w / 2, box.y + box.h / 2}).toPoint();
  }
  // Pixels in exactly the ring's colour: nothing else in a dark graph is white.
  static int ringPixels(GraphView& view) {
    const QImage image = view.grab().toImage();
    int n = 0;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) n += image.pixelColor(x, y) == kit::theme().ring;
    return n;
  }
  std::unique_ptr<fixture::Loaded> loaded_;
};

QTEST_MAIN(TestGraph)
#include "tst_graph.moc"
