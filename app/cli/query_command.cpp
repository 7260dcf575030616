#include "app/cli/query_command.h"

#include <cstdio>
#include <iostream>
#include <iterator>

#include "app/cli/json_rows.h"
#include "app/cli/run_command.h"
#include "app/cli/text_table.h"
#include "core/session/abandoned.h"
#include "core/session/query/query.h"

namespace vitrine::cli {

using session::QueryResult;
using session::QueryValue;

namespace {

using Type = QueryValue::Type;

std::string shown(const QueryValue& value) {
  char number[32];
  switch (value.type) {
    case Type::Integer:
      return std::to_string(value.integer);
    case Type::Real:
      return std::snprintf(number, sizeof number, "%.6g", value.real), number;
    case Type::Text:
      return value.text;
    default:
      return "–";
  }
}

std::string table_text(const QueryResult& result, size_t width) {
  std::vector<std::string> titles;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    bool numbers = !result.rows.empty();
    for (const auto& row : result.rows) numbers = numbers && row[i].type != Type::Text;
    titles.push_back((numbers ? ">" : "") + result.columns[i]);
  }
  TextTable table(titles);
  for (const auto& row : result.rows) {
    std::vector<std::string> cells;
    for (const QueryValue& value : row) cells.push_back(shown(value));
    table.row(std::move(cells));
  }
  return table.text(width);
}

nlohmann::ordered_json json_of(const QueryResult& result) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& row : result.rows) {
    auto& object = out.emplace_back(nlohmann::ordered_json::object());
    for (size_t i = 0; i < row.size(); ++i) {
      nlohmann::ordered_json& cell = object[result.columns[i]];
      if (row[i].type == Type::Integer) cell = row[i].integer;
      if (row[i].type == Type::Real) cell = row[i].real;
      if (row[i].type == Type::Text) cell = row[i].text;
    }
  }
  return out;
}

std::string help_text() {
  std::string out = "Views:\n";
  for (const session::SqlView& view : session::query_views())
    out += std::string("  ") + view.name + ": " + view.about + "\n    " + view.columns + "\n";
  out +=
      "\nThe session's own tables (docs/SESSION.md) can be asked too. blob_text(n) is the text of a "
      "blob.\n\n";
  for (const session::QueryExample& example : session::query_examples())
    out += std::string("-- ") + example.title + "\n" + example.sql + ";\n\n";
  return out;
}

}  // namespace

int query_command(const QueryArguments& a) {
  if (a.json && a.csv)
    return fail(Error{"--json and --csv do not go together.", "Leave one of them out.", ""}, 2);
  if (a.sql.empty()) return print_text(help_text()), 0;
  session::close_if_abandoned(a.session);
  auto opened = session::Reader::open(a.session);
  if (!opened) return fail(opened.error());
  const std::string sql = a.sql == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : a.sql;
  session::QueryLimits limits;
  limits.rows = a.limit;
  limits.milliseconds = static_cast<int64_t>(a.seconds * 1000);
  limits.text_bytes = a.json || a.csv ? size_t{64} << 20 : 2000;
  const auto result = session::query(a.session, sql, limits);
  if (!result) return fail(result.error(), 2);
  const QueryResult& r = result.value();
  const std::string text = a.json  ? json_text(json_of(r))
                           : a.csv ? session::csv_text(r)
                                   : table_text(r, a.width);
  if (a.json || a.csv)
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    print_text(r.rows.empty() ? "No rows.\n" : text);
  if (!r.cut.empty()) std::fprintf(stderr, "vitrine: %s --limit N allows more.\n", r.cut.c_str());
  return 0;
}

}  // namespace vitrine::cli
