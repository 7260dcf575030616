// `vitrine show S numerics`: each value of the compiled graphs against eager's and against float64.
#include <array>
#include <cstdio>
#include <unordered_map>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"

namespace vitrine::cli {

using namespace session;

namespace {

std::string error_text(double v) {
  if (v < 0) return "–";
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.2g", v);
  return out.data();
}

std::string marks(const NumericsRow& row) {
  std::string out = row.first ? "first divergence" : "";
  if (row.makes) out += out.empty() ? "makes NaN or inf" : ", makes NaN or inf";
  if (row.nan + row.inf) {
    const std::string counts = (row.nan ? std::to_string(row.nan) + " NaN" : "") +
                               (row.nan && row.inf ? ", " : "") +
                               (row.inf ? std::to_string(row.inf) + " inf" : "");
    out += (out.empty() ? "" : ": ") + counts;
  }
  return out;
}

// By node: the expression that it came from, its own or the nearest of those before it.
class Spans {
 public:
  explicit Spans(const Reader& s) {
    for (const NodeRow& node : s.all<NodeRow>()) spans_[node.id] = node.span;
    for (const LinkRow& link : s.all<LinkRow>()) origins_.emplace(link.derived, link.origin);
  }
  Id span_of(Id id) const {
    constexpr int kMostLinks = 64;  // a stranger's session may have a circle
    for (int i = 0; i < kMostLinks && id; ++i) {
      if (kind_of(id) == Kind::Span) return id;
      if (const auto own = spans_.find(id); own != spans_.end() && own->second) return own->second;
      const auto before = origins_.find(id);
      id = before == origins_.end() ? 0 : before->second;
    }
    return 0;
  }

 private:
  std::unordered_map<Id, Id> spans_, origins_;  // of several origins the first
};

std::string got_by(const NumericsRow& row) {
  return row.source == "buffer" ? row.step : row.source;
}

}  // namespace

std::string show_numerics(const Reader& s, const ShowOptions& options, std::string_view) {
  auto rows = s.all<NumericsRow>("ORDER BY compilation, ordinal");
  const EntityNames names(s);
  std::erase_if(rows, [&](const NumericsRow& row) { return !names.shown(row.compilation, options); });
  if (options.json) return json_table(s, rows);
  if (rows.empty())
    return nothing("numerics", "record with `vitrine run --numerics`, or `vitrine check FILE -o SESSION`");
  const Spans spans(s);
  std::string out;
  for (size_t i = 0; i < rows.size();) {
    const Id compilation = rows[i].compilation;
    TextTable table({"value", "type", "by", "verdict", ">max |Δ|", ">mean |Δ|", ">ulp", ">eager off",
                     ">compiled off", "place", ""});
    table.least({"mean |Δ|", "type", "by", "ulp", "place", "eager off"});
    for (; i < rows.size() && rows[i].compilation == compilation; ++i) {
      const NumericsRow& row = rows[i];
      table.row({row.name, row.type, got_by(row), row.verdict, error_text(row.max_abs),
                 error_text(row.mean_abs), std::to_string(row.max_ulp), error_text(row.eager_error),
                 error_text(row.compiled_error), names.place(spans.span_of(row.node)), marks(row)});
    }
    out += (out.empty() ? "# " : "\n# ") + names.compilation(compilation) + "\n" + table.text(options.width);
  }
  return out +
         "Off: from float64. By: the launch whose memory held it; output, alone: fused away, and got by "
         "compiling with "
         "others or it alone as a further result.\n";
}

}  // namespace vitrine::cli
