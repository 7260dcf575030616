#include <algorithm>
#include <cstdio>

#include "app/cli/exports/page.h"
#include "core/base/visible.h"
#include "core/base/words.h"

namespace vitrine::cli::page {

using namespace session;

namespace {
constexpr size_t kMostFileBytes = 2'000'000;
}

std::string tenths(double value) {
  char out[32];
  return std::snprintf(out, sizeof out, "%.1f", value), out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : visible(text, Keep::Lines)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

HtmlTable::HtmlTable(const std::vector<std::string>& titles) {
  out_ = "<table><thead><tr>";
  for (const std::string& title : titles) {
    right_.push_back(title.starts_with('>'));
    out_ += right_.back() ? "<th class=n>" + escaped(title.substr(1)) : "<th>" + escaped(title);
  }
  out_ += "</thead><tbody>\n";
}

HtmlTable& HtmlTable::cell(std::string_view text) {
  return element(escaped(text));
}

HtmlTable& HtmlTable::element(const std::string& html) {
  row_ += (at_ < right_.size() && right_[at_] ? "<td class=n>" : "<td>") + html;
  ++at_;
  return *this;
}

void HtmlTable::end() {
  out_ += "<tr>" + row_ + "\n";
  row_.clear();
  at_ = 0;
  ++rows_;
}

std::string HtmlTable::text() const {
  return "<div class=scroll>" + out_ + "</tbody></table></div>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return body.empty()
             ? ""
             : "<section id=\"" + id + "\"><h2>" + escaped(title) + "</h2>\n" + body + "</section>\n";
}

std::string folded(const std::string& summary, const std::string& body, bool open) {
  return std::string("<details") + (open ? " open" : "") + "><summary>" + summary + "</summary>\n" + body +
         "</details>\n";
}

Places::Places(const Reader& session) : session_(session) {
  for (const FileRow& file : session.all<FileRow>())
    if (file.user && file.text.row) number_.emplace(file.id, number_.size() + 1);
}

std::string Places::link(Id span) const {
  const SpanRow row = session_.row<SpanRow>(span);
  if (!row.id) return "–";
  const std::string text =
      escaped(file_name(session_.row<FileRow>(row.file).path) + ":" + std::to_string(row.line));
  const auto found = number_.find(row.file);
  if (found == number_.end()) return text;
  return "<a href=\"#f" + std::to_string(found->second) + "-" + std::to_string(row.line) + "\">" + text +
         "</a>";
}

std::string Places::link_of_instruction(Id instruction) const {
  return link(session_.row<InstructionRow>(instruction).span);
}

std::string Places::files() const {
  std::string out;
  for (const FileRow& file : session_.all<FileRow>()) {
    const auto found = number_.find(file.id);
    if (found == number_.end()) continue;
    const std::string text = session_.text(file.text).substr(0, kMostFileBytes);
    std::string lines;
    size_t from = 0;
    for (int64_t line = 1; from < text.size(); ++line) {
      const size_t end = std::min(text.find('\n', from), text.size());
      lines += "<span id=\"f" + std::to_string(found->second) + "-" + std::to_string(line) + "\"><i>" +
               std::to_string(line) + "</i>" + escaped(std::string_view(text).substr(from, end - from)) +
               "</span>\n";
      from = end + 1;
    }
    out += folded(escaped(file.path), "<pre class=code>" + lines + "</pre>", true);
  }
  return out;
}

GraphRow last_graph(const Reader& s, Id compilation, std::string_view stage) {
  for (GraphRow& graph : s.rows<GraphRow>("compilation = ?1", {compilation}, "ORDER BY ordinal DESC"))
    if ((stage.empty() || graph.stage == stage) &&
        !s.rows<NodeRow>("graph = ?1", {graph.id}, "LIMIT 1").empty())
      return graph;
  return {};
}

}  // namespace vitrine::cli::page
