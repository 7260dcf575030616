#include "app/cli/exports/exports.h"
#include "app/cli/exports/page.h"
#include "core/base/words.h"

namespace vitrine::cli {

using namespace session;

namespace {

// Nothing is loaded and nothing runs, whatever stood in the session.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang=en><head><meta charset=utf-8>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name=viewport content="width=device-width">
)";

constexpr const char* kStyle = R"(<style>
:root{--bg:#fff;--bg2:#f5f6f8;--line:#d9dee4;--t1:#1b2129;--t2:#56606d;--accent:#2f5fd0;--hull:#eff1f4}
:root{--pointwise:#4a7dd6;--reduction:#b5762a;--matmul:#7c55c9;--view:#8a94a1;--memory:#2f8f83;--random:#b0509a;--opaque:#6d7683;--collective:#3a8f4d;--other:#8a94a1}
@media(prefers-color-scheme:dark){:root{--bg:#15181c;--bg2:#1b1f24;--line:#2b3038;--t1:#e4e8ee;--t2:#98a1ad;--accent:#7fa6f8;--hull:#1d2228}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--t1);font:13px/1.5 Inter,"Noto Sans",sans-serif}
header,nav,section{padding:12px 24px;border-bottom:1px solid var(--line)}header{background:var(--bg2)}
h1{font-size:18px;margin:0 0 4px}h2{font-size:15px;margin:4px 0 10px}h3{font-size:13px;margin:10px 0 4px}
nav{position:sticky;top:0;background:var(--bg2);z-index:1;display:flex;gap:16px;flex-wrap:wrap}a{color:var(--accent);text-decoration:none}
code,pre,svg text{font-family:"JetBrains Mono","DejaVu Sans Mono",monospace}code{font-size:12px}
pre{margin:6px 0;padding:8px 12px;background:var(--bg2);overflow:auto;max-height:70vh;font-size:12px;line-height:18px}
pre.code i{display:inline-block;width:44px;color:var(--t2);font-style:normal;user-select:none}pre.code span{display:block}pre.code span:target{background:#7fa6f833}
.scroll{overflow:auto;max-width:100%}.graph{max-height:80vh;background:var(--bg2)}
table{border-collapse:collapse;font-size:12px}th{text-align:left;color:var(--t2);font-weight:500}th,td{padding:3px 14px 3px 0;vertical-align:top;border-bottom:1px solid var(--line)}
.n{text-align:right;font-family:"JetBrains Mono","DejaVu Sans Mono",monospace;white-space:nowrap}.quiet{color:var(--t2)}
summary{cursor:pointer;padding:4px 0}ul{margin:0;padding-left:18px}li{margin:2px 0}
svg text{font-size:11px;fill:var(--t1)}svg text.quiet{fill:var(--t2)}svg text.label{fill:var(--t2)}polyline{fill:none;stroke:var(--t2);stroke-opacity:.55}
rect.hull{fill:var(--hull);stroke:var(--line)}rect.node{fill:var(--bg);stroke:var(--t2);stroke-opacity:.6}
rect.pointwise{stroke:var(--pointwise)}rect.reduction{stroke:var(--reduction)}rect.matmul{stroke:var(--matmul)}rect.view{stroke:var(--view);stroke-dasharray:3 2}rect.memory{stroke:var(--memory)}rect.random{stroke:var(--random)}rect.opaque{stroke:var(--opaque)}rect.collective{stroke:var(--collective)}
rect.slice{stroke:none;fill:var(--other);fill-opacity:.5}rect.slice.pointwise{fill:var(--pointwise)}rect.slice.reduction{fill:var(--reduction)}rect.slice.matmul{fill:var(--matmul)}rect.slice.memory{fill:var(--memory)}rect.slice.random{fill:var(--random)}rect.slice.collective{fill:var(--collective)}
</style>
)";

struct Part {
  const char *id, *title;
  std::string body;
};

std::string machine(const Reader& s) {
  std::string out;
  for (const char* key : {"vitrine", "torch", "python", "cpu", "gpu", "system", "threads"})
    if (const std::string value = s.meta(key); !value.empty())
      out += (out.empty() ? "" : " · ") + std::string(key) + " " + page::escaped(value.substr(0, 200));
  return out;
}

std::string lacks(const Reader& s) {
  const std::string text = s.meta("imported");
  return text.empty() ? "" : "<p>" + page::escaped(text.substr(0, 2000)) + "</p>";
}

}  // namespace

std::string html_page(const Reader& s) {
  const EntityNames names(s);
  const page::Places places(s);
  const std::vector<Part> parts = {{"problems", "Problems", page::problems(s)},
                                   {"summary", "Summary", page::totals(s, names)},
                                   {"breaks", "Graph breaks", page::breaks(s, names, places)},
                                   {"recompilations", "Recompilations", page::recompilations(s, names)},
                                   {"guards", "Guards", page::guards(s, names, places)},
                                   {"graphs", "Graphs", page::graphs(s, names)},
                                   {"kernels", "Kernels", page::kernels(s, names, places)},
                                   {"timeline", "Timeline", page::timelines(s)},
                                   {"source", "Source", places.files()}};
  const std::string title = page::escaped(file_name(s.meta("file").empty() ? s.path() : s.meta("file")));
  std::string out = std::string(kHead) + "<title>" + title + "</title>\n" + kStyle +
                    "</head><body>\n<header><h1>" + title + "</h1><div class=quiet>" + machine(s) + "</div>" +
                    lacks(s) + "</header>\n<nav>";
  for (const Part& part : parts)
    if (!part.body.empty()) out += std::string("<a href=\"#") + part.id + "\">" + part.title + "</a>";
  out += "</nav>\n<main>\n";
  for (const Part& part : parts) out += page::section(part.id, part.title, part.body);
  return out + "</main></body></html>\n";
}

}  // namespace vitrine::cli
