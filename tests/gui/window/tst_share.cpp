// "Save a copy to share": the command asks where, writes a copy without what the run met besides, and leaves
// the session as it is. What cannot be written is told in one sentence.
#include <QApplication>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QTest>
#include <QTimer>

#include <unistd.h>

#include "app/shell/main_window.h"
#include "core/session/reader.h"
#include "core/session/writer.h"
#include "tests/gui/window/window_test.h"

using namespace vitrine;
using app::MainWindow;

namespace {

const char* const kSecrets[] = {"hunter2", "--token", "/home/user/plans", "ValueError: of the user"};

void writeSecrets(const std::string& path) {
  using namespace session;
  auto w = Writer::create(path).take();
  w->put(RunRow{w->next(Kind::Run), "model.py"});
  w->meta("file", "/home/user/plans/model.py");
  w->meta("arguments", R"(["--repeats=3","--","--token","hunter2"])");
  GuardRow guard;
  guard.id = w->next(Kind::Guard), guard.source = "L['key']", guard.kind = "value";
  guard.expected = "== 'hunter2'";
  w->put(guard);
  MessageRow message;
  message.id = w->next(Kind::Message), message.origin = "user", message.severity = "error";
  message.text = "ValueError: of the user";
  w->put(message);
  w->finish("finished");
}

// Every text of a session that can be read.
QString textsOf(const QString& path) {
  using namespace session;
  auto r = Reader::open(path.toStdString()).take();
  std::string out;
  for (const char* key : {"file", "arguments", "environment", "status"}) out += r->meta(key) + "\n";
  auto add = [&](auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_convertible_v<Field, std::string_view>) out += field + "\n";
    if constexpr (std::is_same_v<Field, BlobRef>) out += r->text(field) + "\n";
  };
#define X(Row) \
  for (Row & row : r->all<Row>()) Row::each(row, [&](const char*, auto& field) { add(field); });
  VITRINE_TABLES(X)
#undef X
  return QString::fromStdString(out);
}

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class TestShare : public fixture::WindowTest {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    qputenv("XDG_STATE_HOME", folder_.filePath("state").toUtf8());
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    begin();
    secret_ = folder_.filePath("secret.vitrine");
    writeSecrets(secret_.toStdString());
  }

  void theCommandAsksAndWritesACopyWithoutSecrets() {
    const QByteArray before = bytesOf(secret_);
    for (const char* secret : kSecrets) QVERIFY2(textsOf(secret_).contains(secret), secret);
    MainWindow window;
    openIn(window, secret_);
    const QString to = folder_.filePath("given.vitrine");
    QCOMPARE(answered(window, to), folder_.filePath("secret.shared.vitrine"));
    QTRY_VERIFY(!window.banner()->text().isEmpty());
    QVERIFY2(window.banner()->text().contains(to), qPrintable(window.banner()->text()));
    const QString copied = textsOf(to);
    for (const char* secret : kSecrets) QVERIFY2(!copied.contains(secret), secret);
    for (const char* secret : kSecrets) QVERIFY2(!bytesOf(to).contains(secret), secret);
    QVERIFY(copied.contains("L['key']"));
    QCOMPARE(QFileInfo(to).permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
    QCOMPARE(bytesOf(secret_), before);
    QCOMPARE(window.document()->session()->path, secret_.toStdString());
  }

  void whoCancelsTheQuestionWritesNothing() {
    MainWindow window;
    openIn(window, secret_);
    const QStringList before = QDir(folder_.path()).entryList();
    answered(window, {});
    QTest::qWait(50);
    QVERIFY(window.banner()->text().isEmpty());
    QCOMPARE(QDir(folder_.path()).entryList(), before);
  }

  void whatCannotBeWrittenIsOneSentence_data() {
    QTest::addColumn<QString>("to");
    QTest::addColumn<QString>("says");
    QTest::addColumn<bool>("asRoot");
    QTest::newRow("the session itself") << secret_ << "take the place of the session itself" << true;
    QTest::newRow("a link to it") << folder_.filePath("link.vitrine")
                                  << "take the place of the session itself" << true;
    QTest::newRow("no session") << folder_.filePath("other.vitrine") << "is not a Vitrine session" << true;
    QTest::newRow("no folder") << folder_.filePath("nowhere/a.vitrine") << "cannot be written" << true;
    QTest::newRow("no permission") << folder_.filePath("closed/a.vitrine") << "cannot be written" << false;
  }

  void whatCannotBeWrittenIsOneSentence() {
    QFETCH(QString, to);
    QFETCH(QString, says);
    QFETCH(bool, asRoot);
    if (!asRoot && geteuid() == 0) QSKIP("root may write everywhere");
    prepare();
    const QByteArray session = bytesOf(secret_), other = bytesOf(folder_.filePath("other.vitrine"));
    MainWindow window;
    openIn(window, secret_);
    window.saveSharedCopy(to);
    QTRY_VERIFY(!window.banner()->text().isEmpty());
    const QString text = window.banner()->text();
    QVERIFY2(text.contains(says), qPrintable(text));
    QVERIFY2(!text.contains('\n'), qPrintable(text));
    QCOMPARE(bytesOf(secret_), session);
    QCOMPARE(bytesOf(folder_.filePath("other.vitrine")), other);
    QVERIFY(QDir(folder_.path()).entryList({".vitrine-copy-*"}, QDir::Files | QDir::Hidden).isEmpty());
  }

  void anEarlierCopyIsReplaced() {
    MainWindow window;
    openIn(window, secret_);
    const QString to = folder_.filePath("again.vitrine");
    writeSecrets(to.toStdString());
    window.saveSharedCopy(to);
    QTRY_VERIFY(!window.banner()->text().isEmpty());
    QVERIFY(!textsOf(to).contains("hunter2"));
  }

 private:
  void prepare() {
    QFile::link(secret_, folder_.filePath("link.vitrine"));
    QFile other(folder_.filePath("other.vitrine"));
    QVERIFY(other.open(QIODevice::WriteOnly));
    other.write("mine");
    QDir(folder_.path()).mkpath("closed");
    QFile::setPermissions(folder_.filePath("closed"), QFile::ReadOwner | QFile::ExeOwner);
  }

  // What the dialog proposes; answers it with `to`, or cancels it.
  QString answered(MainWindow& window, const QString& to) {
    QString proposed;
    QTimer ask;
    connect(&ask, &QTimer::timeout, this, [&] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog || !proposed.isEmpty()) return;
      proposed = dialog->selectedFiles().value(0);
      if (to.isEmpty()) return dialog->reject();
      dialog->findChild<QLineEdit*>("fileNameEdit")->setText(to);  // as typed
      static_cast<QDialog*>(dialog)->accept();
    });
    ask.start(20);
    (*window.actions())["file.share"]->trigger();
    return proposed;
  }

  void openIn(MainWindow& window, const QString& path) {
    window.resize(1200, 800);
    window.show();
    QVERIFY(!window.openSync(path));
  }

  QString secret_;
};

QTEST_MAIN(TestShare)
#include "tst_share.moc"
