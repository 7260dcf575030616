// The reader's notes and bookmarks: which thing, and what was said of it.
#include "core/session/notes.h"

#include "views/kit/text/numbers.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;

namespace {

std::vector<Column> note_columns(const TableScope&) {
  return {{"thing", 120, false, true}, {"note", 160, false, false, true}};
}

std::vector<Item> note_rows(const TableScope& s) {
  std::vector<Item> out;
  for (const auto& [id, text] : session::notes_of(s.data.meta)) {
    const QString label = s.data.label(id);
    if (label.isEmpty()) continue;  // of a thing that this session does not have
    const QString words = QString::fromStdString(text);
    Cell thing{label}, note{words.section('\n', 0, 0)};
    thing.icon = text.empty() ? "pin" : "note";
    if (text.empty()) {
      note.text = QStringLiteral("bookmark");
      note.quiet = true;
    }
    Item item;
    item.id = id;
    item.cells = {thing, note};
    if (words.size() > 24)
      item.detail = QStringLiteral("<p>%1</p>").arg(words.toHtmlEscaped().replace('\n', "<br>"));
    out.push_back(std::move(item));
  }
  return out;
}

QString note_subtitle(const TableScope& s) {
  const auto count = static_cast<int64_t>(session::notes_of(s.data.meta).size());
  return count ? QString::number(count) : QString();
}

}  // namespace

const TableSpec kNotesTable{.id = "notes",
                            .title = "Notes",
                            .columns = note_columns,
                            .rows = note_rows,
                            .subtitle = note_subtitle,
                            .empty = "No notes: Ctrl+M writes one on the active thing, Ctrl+D marks it.",
                            .of_compilations = false};

}  // namespace vitrine::views
