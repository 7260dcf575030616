#include "core/runtime/cuda/listing.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace vitrine::runtime::cuda {

namespace {

class GpuCodeLister {
 public:
  explicit GpuCodeLister(const std::vector<bool>& body) : body_(body) {}

  // Where the next instruction stands: then called() with its line and the lines it is inlined at, outwards.
  void begin_place() {
    before_ = found_;
    found_ = 0;
  }
  void called(int line) {
    if (!found_ && line > 0 && static_cast<size_t>(line) < body_.size() && body_[static_cast<size_t>(line)])
      found_ = line;
  }
  // PTX leaves out the outer calls where they are those of the instruction before.
  void as_before() {
    if (!found_) found_ = before_;
  }
  bool in_prelude(int line) const {
    return std::find(body_.begin(), body_.end(), true) - body_.begin() > line;
  }
  // A line of the listing; an instruction has the place that was told last.
  void line(std::string_view text, bool instruction) {
    out_.text.append(text).push_back('\n');
    ++at_;
    if (!instruction || !found_) return;
    if (!out_.lines.empty() && out_.lines.back().source_line == found_ &&
        out_.lines.back().end_line == at_ - 1)
      out_.lines.back().end_line = at_;
    else
      out_.lines.push_back({at_, at_, found_});
  }
  Listing take() { return std::move(out_); }

 private:
  const std::vector<bool>& body_;
  Listing out_;
  int at_ = 0, found_ = 0, before_ = 0;
};

template <class F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  return from == std::string_view::npos ? std::string_view() : text.substr(from);
}

int number_at(std::string_view text) {
  return std::atoi(std::string(trimmed(text).substr(0, 12)).c_str());
}

// `.loc FILE LINE COLUMN[, function_name ..., inlined_at FILE LINE COLUMN]`
void ptx_place(std::string_view loc, GpuCodeLister& out, bool outermost) {
  loc = trimmed(loc.substr(4));
  const auto line_of = [](std::string_view place) {
    const size_t file = place.find_first_of(" \t");
    return file == std::string_view::npos ? 0 : number_at(place.substr(file));
  };
  out.called(line_of(loc));
  constexpr std::string_view kInlined = "inlined_at ";
  const size_t at = loc.find(kInlined);
  if (at == std::string_view::npos) return;
  const int caller = line_of(trimmed(loc.substr(at + kInlined.size())));
  out.called(caller);
  if (outermost && out.in_prelude(caller)) out.as_before();
}

}  // namespace

Listing read_ptx(const std::string& ptx, const std::vector<bool>& body) {
  GpuCodeLister out(body);
  // A chain of calls is a run of .loc lines, outermost first; each names where it is inlined too. The last
  // says where the instruction itself stands, so that the chain is read from its end.
  std::vector<std::string_view> chain;
  bool debug = false, blank = true;
  each_line(ptx, [&](std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.starts_with(".loc")) return chain.push_back(text);
    if (text.starts_with(".section") && text.find(".debug") != std::string_view::npos) debug = true;
    if (debug) {
      if (text.starts_with("}")) debug = false;
      return;
    }
    if (text.starts_with(".file") || (text.empty() && blank)) return;
    blank = text.empty();
    const bool instruction =
        !text.empty() && line.front() == '\t' && text.front() != '.' && text.front() != '/';
    if (instruction && !chain.empty()) {
      out.begin_place();
      for (size_t i = chain.size(); i-- > 0;) ptx_place(chain[i], out, i == 0);
      chain.clear();
    }
    out.line(line, instruction);
  });
  return out.take();
}

Listing read_sass(const std::string& sass, const std::vector<bool>& body) {
  GpuCodeLister out(body);
  constexpr std::string_view kPlace = "//## File ", kLine = "\", line ";
  bool in_place = false, code = false;
  each_line(sass, [&](std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.starts_with("//----")) {  // a section's title
      code = text.find(".text.") != std::string_view::npos;
      return;
    }
    if (!code) return;
    if (text.starts_with(kPlace)) {  // innermost first, a line each
      if (!in_place) out.begin_place();
      in_place = true;
      if (size_t at = text.find(kLine); at != std::string_view::npos)
        out.called(number_at(text.substr(at + kLine.size())));
      return;
    }
    in_place = false;
    if (text.empty() || text.starts_with(".section") || text.starts_with(".align") ||
        text.starts_with(".global") || text.starts_with(".type") || text.starts_with(".size") ||
        text.starts_with(".other") || text.starts_with(".sectioninfo") || text.starts_with(".text."))
      return;
    const bool instruction = text.starts_with("/*");
    if (!instruction) return out.line(text, false);
    // "        /*0140*/                   LDG.E R7, ... ;"
    const size_t end = text.find("*/");
    std::string shown = "  ";
    shown.append(text.substr(0, end == std::string_view::npos ? text.size() : end + 2));
    if (end != std::string_view::npos) shown.append("  ").append(trimmed(text.substr(end + 2)));
    out.line(shown, true);
  });
  return out.take();
}

}  // namespace vitrine::runtime::cuda
