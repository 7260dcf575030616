#include "core/session/shared_copy.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/session/reader.h"
#include "core/session/writer.h"

namespace vitrine::session {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLeftOut = "…";

// What of a column of text stays.
enum class KeptText { Words, NoStrings, Json };

// Every column of text that stays; what is not named is left out. Words: all but folders of paths. NoStrings:
// neither what stands in quotes.
struct SharedRow {
  std::string_view table, column;
  KeptText keep = KeptText::Words;
};
constexpr SharedRow kShared[] = {
    {"run", "label"},
    {"run", "entry"},
    {"run", "inputs"},
    {"run", "device"},
    {"run", "mode"},
    {"run", "status"},
    {"file", "path"},
    {"file", "sha256"},
    {"code", "qualname"},
    {"instruction", "op"},
    {"instruction", "argrepr", KeptText::NoStrings},
    {"frame", "state"},
    {"frame", "reason", KeptText::NoStrings},
    {"compilation", "label"},
    {"compilation", "status"},
    {"compilation", "end"},
    {"step", "event"},
    {"step", "text", KeptText::NoStrings},
    {"step", "effect", KeptText::Json},
    {"guard", "source"},
    {"guard", "root"},
    {"guard", "kind"},
    {"guard", "expected", KeptText::NoStrings},
    {"symbol", "name"},
    {"symbol", "source"},
    {"symbol", "origin", KeptText::NoStrings},
    {"symbol", "fixed_by", KeptText::NoStrings},
    {"symbol_guard", "text", KeptText::NoStrings},
    {"symbol_guard", "place", KeptText::NoStrings},
    {"symbol_guard", "asked_by"},
    {"instance", "sizes"},
    {"instance", "how"},
    {"instance", "reason", KeptText::NoStrings},
    {"instance", "buffer_bytes"},
    {"sized_buffer", "name"},
    {"sized_buffer", "kind"},
    {"sized_buffer", "type"},
    {"sized_buffer", "size"},
    {"sized_buffer", "place"},
    {"cache", "state"},
    {"cache", "reason", KeptText::NoStrings},
    {"graph_break", "kind"},
    {"graph_break", "expression", KeptText::NoStrings},
    {"graph_break", "reason", KeptText::NoStrings},
    {"graph_break", "hint", KeptText::NoStrings},
    {"graph_break", "stack", KeptText::Json},
    {"recompilation", "failed", KeptText::NoStrings},
    {"recompilation", "call_site", KeptText::NoStrings},
    {"recompilation", "hint", KeptText::NoStrings},
    {"call", "kind"},
    {"stage", "name"},
    {"stage", "state"},
    {"stage", "note", KeptText::NoStrings},
    {"graph", "stage"},
    {"graph", "pass"},
    {"graph", "sentence"},
    {"node", "name"},
    {"node", "kind"},
    {"node", "op"},
    {"node", "family"},
    {"node", "type"},
    {"node", "shape"},
    {"node", "strides"},
    {"node", "detail", KeptText::NoStrings},
    {"node", "module"},
    {"node", "group_label"},
    {"crossing", "name"},
    {"crossing", "kind"},
    {"crossing", "type"},
    {"crossing", "reason"},
    {"backward", "tangents"},
    {"fusion_decision", "kind"},
    {"fusion_decision", "verdict"},
    {"fusion_decision", "reason"},
    {"kernel", "label"},
    {"kernel", "name"},
    {"kernel", "kind"},
    {"kernel", "family"},
    {"kernel", "language"},
    {"kernel", "space"},
    {"kernel", "isa"},
    {"gpu_kernel", "arch"},
    {"gpu_kernel", "limited_by"},
    {"gpu_kernel", "note"},
    {"counter", "function"},
    {"counter", "metric"},
    {"sample", "function"},
    {"sample", "reason"},
    {"cuda_graph", "state"},
    {"cuda_graph", "reason"},
    {"kernel_range", "text"},
    {"remark", "pass"},
    {"remark", "kind"},
    {"remark", "text"},
    {"choice", "candidate"},
    {"choice", "source"},
    {"buffer", "name"},
    {"buffer", "kind"},
    {"buffer", "type"},
    {"launch", "kind"},
    {"launch", "text"},
    {"launch", "args"},
    {"lane", "side"},
    {"lane", "kind"},
    {"lane", "label"},
    {"name", "text"},
    {"name", "family"},
    {"accuracy", "output"},
    {"accuracy", "type"},
    {"accuracy", "verdict"},
    {"numerics", "name"},
    {"numerics", "type"},
    {"numerics", "source"},
    {"numerics", "step"},
    {"numerics", "verdict"},
    {"numerics", "message"},
    {"numerics", "histogram"},
    {"numerics", "distribution"},
    {"timing", "side"},
    {"measurement", "kind"},
    {"measurement", "side"},
    {"allocation", "side"},
    {"rewrite", "rule"},
    {"rewrite", "text"},
    {"allocation", "op"},
    {"ceiling", "source"},
    {"ceiling", "machine"},
    {"ceiling", "kind"},
    {"ceiling", "type"},
    {"ceiling", "note"},
    {"message", "severity"},
    {"message", "origin"},
    {"message", "about"},
};

// Keys of `meta`: of the machine and its software, and what is needed to read the rest. Notes are the
// reader's own words, and stay.
constexpr std::string_view kSharedMeta[] = {
    "vitrine",
    "torch",
    "python",
    "system",
    "cpu",
    "isa",
    "cores",
    "threads",
    "file",
    "counter_passes",
    "sampling_period",
    "samples_dropped",
    "status",
    "created_unix_ns",
};
constexpr std::string_view kSharedMetaBegins[] = {"profiled_", "profiling_cost_", "note:"};

bool begins_path(std::string_view text, size_t at) {
  constexpr std::string_view kBefore = " \t\n\"'`(=[,:<";
  if (at > 0 && kBefore.find(text[at - 1]) == std::string_view::npos) return false;
  return at + 1 < text.size() && (std::isalnum(static_cast<unsigned char>(text[at + 1])) ||
                                  text[at + 1] == '_' || text[at + 1] == '.' || text[at + 1] == '~');
}

// The words of a recorded command line that the engine itself takes, without what names a file or is the
// script's.
std::string shared_arguments(const std::string& text) {
  const auto words = nlohmann::json::parse(text, nullptr, false);
  auto out = nlohmann::json::array();
  if (!words.is_array()) return "[]";
  for (const auto& word : words) {
    if (!word.is_string() || word == "--") break;
    if (!word.get<std::string>().starts_with("--edited"))
      out.push_back(without_folders(word.get<std::string>()));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void clean(nlohmann::json& value) {
  if (value.is_string())
    value = without_strings(without_folders(value.get<std::string>()));
  else if (value.is_structured())
    for (auto& inner : value) clean(inner);
}

std::string shared_json(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_structured()) return "";
  clean(json);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string shared_text(std::string_view table, std::string_view column, const std::string& text) {
  const auto row = std::find_if(std::begin(kShared), std::end(kShared),
                                [&](const SharedRow& r) { return r.table == table && r.column == column; });
  if (text.empty() || row == std::end(kShared)) return "";
  switch (row->keep) {
    case KeptText::Json:
      return shared_json(text);
    case KeptText::NoStrings:
      return without_strings(without_folders(text));
    case KeptText::Words:
      break;
  }
  return without_folders(text);
}

class SharedCopy {
 public:
  SharedCopy(const Reader& from, Writer& to) : from_(from), to_(to) {}

  template <class Row>
  void table() {
    for (Row row : from_.all<Row>()) {
      Row::each(row, [&](const char* column, auto& field) { share(Row::table, column, field); });
      to_.put(row);
    }
  }

 private:
  static void share(std::string_view, std::string_view, int64_t&) {}
  static void share(std::string_view, std::string_view, double&) {}
  static void share(std::string_view, std::string_view, Bytes&) {}
  static void share(std::string_view table, std::string_view column, std::string& text) {
    text = shared_text(table, column, text);
  }
  static void share(std::string_view table, std::string_view column, SharedText& text) {
    text = shared_text(table, column, text);
  }
  // The user's source and the columns of a timeline are the same byte for byte: places in them are counted.
  void share(std::string_view table, std::string_view, BlobRef& blob) {
    if (!blob.row) return;
    const std::string text = from_.text(blob);
    blob = to_.blob(table == "file" || table == "lane" ? text : without_folders(text));
  }

  const Reader& from_;
  Writer& to_;
};

// `blob` is filled by the rows that name its texts.
template <>
void SharedCopy::table<BlobRow>() {}

template <>
void SharedCopy::table<MetaRow>() {
  for (const MetaRow& row : from_.all<MetaRow>()) {
    const bool begins = std::any_of(std::begin(kSharedMetaBegins), std::end(kSharedMetaBegins),
                                    [&](std::string_view text) { return row.key.starts_with(text); });
    if (row.key == "arguments")
      to_.meta(row.key, shared_arguments(row.value));
    else if (begins ||
             std::find(std::begin(kSharedMeta), std::end(kSharedMeta), row.key) != std::end(kSharedMeta))
      to_.meta(row.key, row.key == "file" ? without_folders(row.value) : row.value);
  }
}

template <>
void SharedCopy::table<MessageRow>() {
  for (MessageRow row : from_.all<MessageRow>()) {
    row.hint.clear(), row.detail.clear();
    // What the user's code raised holds values; what Vitrine says of itself, names and places.
    row.text = row.origin == "user" ? "(left out)" : without_strings(without_folders(row.text));
    to_.put(row);
  }
}

}  // namespace

std::string without_folders(const std::string& text) {
  constexpr std::string_view kEnd = " \t\n\"'`()=[],:<>";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '/' || !begins_path(text, at)) {
      out += text[at++];
      continue;
    }
    const size_t end = std::min(text.find_first_of(kEnd, at), text.size());
    const size_t last = text.rfind('/', end - 1);
    if (last == at) {  // "/name": no folder to hide
      out += text.substr(at, end - at);
    } else {
      out += kLeftOut;
      out += text.substr(last, end - last);
    }
    at = end;
  }
  return out;
}

std::string without_strings(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char quote = text[at];
    // An apostrophe within a word quotes nothing.
    const bool inside = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) &&
                        !(at > 1 && std::isalnum(static_cast<unsigned char>(text[at - 2]))) &&
                        std::strchr("bBrRuUfF", text[at - 1]) == nullptr;
    const bool word = at > 1 && std::isalnum(static_cast<unsigned char>(text[at - 1])) &&
                      std::isalnum(static_cast<unsigned char>(text[at - 2]));
    if ((quote != '\'' && quote != '"') || inside || word) {
      out += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    out += quote;
    if (end > at + 1) out += kLeftOut;
    if (end < text.size()) out += quote;
    at = end + 1;
  }
  return out;
}

Status write_shared_copy(const std::string& from, const std::string& to) {
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored))
    return Error{"The copy would take the place of the session itself.", "Name another file.", to};
  if (fs::exists(to, ignored) && !Reader::open(to).ok())
    return Error{to + " exists and is not a Vitrine session; it is left as it is.", "Name another file.", to};
  auto opened = Reader::open(from);
  if (!opened) return opened.error();
  if (opened.value()->meta("status") == "running")
    return Error{"A copy waits until the run has ended: its engine still records.", "", from};
  std::string name = (fs::absolute(to, ignored).parent_path() / ".vitrine-copy-XXXXXX").string();
  const int made = mkstemp(name.data());
  if (made < 0)
    return Error{std::string("The copy cannot be written: ") + std::strerror(errno), "Name another place.",
                 to};
  close(made);
  auto remove = [&] { fs::remove(name, ignored); };
  auto created = Writer::create(name);
  if (!created) return remove(), Error{created.error().what, "Name another place.", to};
  try {
    SharedCopy copy(*opened.value(), *created.value());
#define X(Row) copy.table<Row>();
    VITRINE_TABLES(X)
#undef X
    created.value()->meta("writer", "");  // tells of this machine
    created.value()->finish(opened.value()->meta("status"), opened.value()->trusted());
  } catch (const InternalError& error) {  // the disk is full
    created = Error{error.what(), "", to};
    remove();
    return Error{"The copy cannot be written: the disk may be full.", "Name another place.", to};
  }
  created = Error{"", "", ""};
  fs::rename(name, to, ignored);
  if (!ignored) return std::nullopt;
  const std::string why = ignored.message();
  remove();
  return Error{"The copy cannot be written: " + why + ".", "Name another place.", to};
}

Status keep_shared_copy_only(const std::string& path) {
  const std::string copy = path + ".shared";
  if (Status bad = write_shared_copy(path, copy)) return bad;
  std::error_code failed;
  fs::rename(copy, path, failed);
  if (!failed) return std::nullopt;
  fs::remove(copy, failed);
  return Error{"The session could not be replaced by its copy.", "", path};
}

}  // namespace vitrine::session
