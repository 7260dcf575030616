// A session's rows by id and by owner, in whatever order the file has them; its links both ways.
#include <QTest>

#include "core/session/rows.h"
#include "views/kit/session/link_index.h"
#include "views/kit/session/table.h"

using namespace vitrine;
using kit::Table;
using session::NodeRow;

namespace {

NodeRow node(Id id, Id graph, const char* name) {
  NodeRow row;
  row.id = id, row.graph = graph, row.name = name;
  return row;
}

}  // namespace

class TestSessionTable : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rowsAreFoundInTheOrderOfTheirIds() {
    const Table<NodeRow> table({node(1, 7, "a"), node(2, 7, "b"), node(5, 8, "c")}, &NodeRow::graph);
    QCOMPARE(table.find(5)->name, std::string("c"));
    for (Id missing : {0, 3, 6}) QVERIFY(!table.find(missing));
    QCOMPARE(table.of(7).size(), size_t{2});
    QVERIFY(table.of(9).empty());
  }

  // Ids that do not ascend, or that stand twice: of those the first is found.
  void rowsAreFoundInAnyOrder() {
    const Table<NodeRow> table({node(9, 8, "z"), node(2, 7, "a"), node(9, 7, "b"), node(1, 7, "c")},
                               &NodeRow::graph);
    QCOMPARE(table.find(2)->name, std::string("a"));
    QCOMPARE(table.find(1)->name, std::string("c"));
    QCOMPARE(table.find(9)->name, std::string("b"));
    QCOMPARE(table.of(8).front().name, std::string("z"));
    QCOMPARE(Table<NodeRow>().find(1), nullptr);
  }

  void linksGoBothWays() {
    const kit::LinkIndex links({{1, 2}, {1, 3}, {2, 3}, {1, 2}, {4, 4}, {0, 5}});
    QCOMPARE(links.size(), size_t{3});
    QCOMPARE(links.derived(1).size(), size_t{2});
    QCOMPARE(links.origins(3).size(), size_t{2});
    QCOMPARE(links.origins(3)[1], Id(2));
    for (Id none : {0, 4, 5, 9}) QVERIFY(links.derived(none).empty() && links.origins(none).empty());
    QVERIFY(kit::LinkIndex().derived(1).empty());
  }
};

QTEST_MAIN(TestSessionTable)
#include "tst_session_table.moc"
