#include "core/kernel_compiler/listing.h"

#include <charconv>
#include <string_view>
#include <unordered_map>

namespace vitrine::kernel_compiler {

namespace {

template <class F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    f(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

int32_t number_at(std::string_view text, size_t at) {
  int32_t value = 0;
  if (at < text.size()) std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Appends lines and joins neighbours of one source line.
class AssemblyLister {
 public:
  void add(std::string_view line, int32_t source_line) {
    out_.text.append(line).push_back('\n');
    ++count_;
    if (source_line <= 0) return;
    bool joins = !out_.lines.empty() && out_.lines.back().end_line == count_ - 1 &&
                 out_.lines.back().source_line == source_line;
    if (joins)
      out_.lines.back().end_line = count_;
    else
      out_.lines.push_back({count_, count_, source_line});
  }
  Listing take() { return std::move(out_); }

 private:
  Listing out_;
  int32_t count_ = 0;
};

bool is_debug_metadata(std::string_view line) {
  return starts(line, "!") && (line.find("!DI") != std::string_view::npos || starts(line, "!llvm.dbg") ||
                               line.find("!{}") != std::string_view::npos);
}

// Removes ", !dbg !12" from a line of IR; its number, or -1.
int32_t cut_attachment(std::string& text, std::string_view kind) {
  std::string mark = " " + std::string(kind) + " !";
  size_t at = text.find(mark);
  if (at == std::string::npos) return -1;
  size_t end = at + mark.size();
  int32_t number = number_at(text, end);
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  size_t begin = at > 0 && text[at - 1] == ',' ? at - 1 : at;
  text.erase(begin, end - begin);
  return number;
}

bool hides(std::string_view directive) {  // assembler directives that say nothing about the machine code
  for (std::string_view d : {".file", ".loc", ".cfi_", ".ident", ".addrsig", ".size", ".type", ".hidden"})
    if (starts(directive, d)) return true;
  return false;
}

}  // namespace

Listing list_ir(const std::string& printed) {
  std::unordered_map<int32_t, int32_t> line_of;  // metadata number -> source line
  each_line(printed, [&](std::string_view line) {
    size_t at = line.find("!DILocation(line: ");
    if (starts(line, "!") && at != std::string_view::npos)
      line_of[number_at(line, 1)] = number_at(line, at + 18);
  });
  AssemblyLister lister;
  each_line(printed, [&](std::string_view line) {
    if (is_debug_metadata(line) || starts(line, "; ModuleID") || starts(line, "source_filename")) return;
    std::string text(line);
    int32_t source_line = 0;
    if (int32_t place = cut_attachment(text, "!dbg"); place >= 0) {
      auto found = line_of.find(place);
      if (found != line_of.end()) source_line = found->second;
    }
    cut_attachment(text, "!tbaa");
    lister.add(text, source_line);
  });
  return lister.take();
}

Listing list_assembly(const std::string& printed) {
  AssemblyLister lister;
  int32_t source_line = 0;
  bool in_debug = false;
  each_line(printed, [&](std::string_view line) {
    std::string_view bare = line;
    while (!bare.empty() && (bare[0] == '\t' || bare[0] == ' ')) bare.remove_prefix(1);
    if (starts(bare, ".section")) in_debug = bare.find(".debug") != std::string_view::npos;
    if (in_debug || bare.empty()) return;
    if (starts(bare, ".loc")) {
      size_t line_number = bare.find(' ');  // "\t.loc\t1 12 3": after the file
      source_line = line_number == std::string_view::npos ? 0 : number_at(bare, line_number + 1);
      return;
    }
    if (starts(bare, ".cfi_endproc")) source_line = 0;
    if (hides(bare) || starts(bare, ".Ltmp") || starts(bare, ".Lfunc_")) return;
    bool instruction = bare[0] != '.' && bare[0] != '#' && bare.find(':') == std::string_view::npos;
    lister.add(line, instruction ? source_line : 0);
  });
  return lister.take();
}

int64_t count_spills(const std::string& assembly) {
  int64_t count = 0;
  for (std::string_view mark : {"-byte Spill", "-byte Folded Spill"})
    for (size_t at = assembly.find(mark); at != std::string::npos; at = assembly.find(mark, at + 1)) ++count;
  return count;
}

}  // namespace vitrine::kernel_compiler
