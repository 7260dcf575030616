// Parts of the page that `vitrine export --to html` writes: one file that shows a whole run to somebody
// without Vitrine. It has no script and loads nothing. All that stands in a session is a stranger's and is
// escaped.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/cli/show_parts.h"
#include "core/session/reader.h"

namespace vitrine::cli::page {

// As text of an element or of an attribute in double quotes. What would steer the reader's display is written
// out.
std::string escaped(std::string_view text);
std::string tenths(double value);  // "12.3"

// Rows of an HTML table; a cell is escaped when it is added, or is an element already.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& titles);  // ">title": its column is of numbers
  HtmlTable& cell(std::string_view text);
  HtmlTable& element(const std::string& html);
  void end();  // of a row
  bool empty() const { return rows_ == 0; }
  std::string text() const;

 private:
  std::vector<bool> right_;
  std::string out_, row_;
  size_t at_ = 0, rows_ = 0;
};

std::string section(const std::string& id, const std::string& title, const std::string& body);
std::string folded(const std::string& summary, const std::string& body, bool open = false);

// A user's line as a link to where its file stands on the page: "block.py:32".
class Places {
 public:
  explicit Places(const session::Reader& session);
  std::string link(Id span) const;
  std::string link_of_instruction(Id instruction) const;
  std::string files() const;  // the files themselves, with an anchor a line

 private:
  const session::Reader& session_;
  std::map<Id, size_t> number_;  // of files of the user's
};

std::string graphs(const session::Reader& session, const EntityNames& names);
std::string timelines(const session::Reader& session);
std::string kernels(const session::Reader& session, const EntityNames& names, const Places& places);
std::string problems(const session::Reader& session);
std::string breaks(const session::Reader& session, const EntityNames& names, const Places& places);
std::string guards(const session::Reader& session, const EntityNames& names, const Places& places);
std::string recompilations(const session::Reader& session, const EntityNames& names);
std::string totals(const session::Reader& session, const EntityNames& names);

// The last snapshot of a stage ("": of any) that has nodes; id 0: none.
session::GraphRow last_graph(const session::Reader& session, Id compilation, std::string_view stage);

}  // namespace vitrine::cli::page
