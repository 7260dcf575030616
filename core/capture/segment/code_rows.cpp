#include "core/capture/segment/code_rows.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/once.h"
#include "core/capture/objects/values.h"

namespace vitrine::capture {

namespace {

// linecache knows files, notebook cells and doctests.
std::string read_source(const std::string& path) {
  const PyRef lines = call(Name::linecache_getlines, "s", path.c_str());
  PyRef empty(PyUnicode_FromString(""));
  PyRef text(lines && empty ? PyUnicode_Join(empty.get(), lines.get()) : nullptr);
  PyErr_Clear();
  return text_of(text.get());
}

std::string sha256(const std::string& text) {
  const PyRef bytes(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  const PyRef hash = bytes ? call(Name::sha256, "O", bytes.get()) : PyRef();
  PyRef hex(hash ? PyObject_CallMethod(hash.get(), "hexdigest", nullptr) : nullptr);
  PyErr_Clear();
  return text_of(hex.get());
}

Id find_in(const std::unordered_map<int32_t, Id>& ids, int32_t pc) {
  auto it = ids.find(pc);
  return it == ids.end() ? 0 : it->second;
}

}  // namespace

Id CodeIds::instruction(int32_t pc) const {
  return find_in(instructions, pc);
}
Id CodeIds::span(int32_t pc) const {
  return find_in(spans, pc);
}

std::string folder_of(Name module) {
  const PyRef m = find(module);
  PyRef file(m ? PyObject_GetAttrString(m.get(), "__file__") : nullptr);
  PyErr_Clear();
  const std::string path = text_of(file.get());
  return path.substr(0, path.rfind('/') + 1);
}

// Of Vitrine itself.
static bool is_own_file(const std::string& path) {
  static constinit Once<std::string> kept_folder;
  const std::string& folder = kept_folder.get([] { return folder_of(Name::vitrine); });
  return !folder.empty() && path.starts_with(folder);
}

bool is_user_file(const std::string& path) {
  if (is_own_file(path)) return false;
  static constexpr const char* kOthers[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                            "<frozen ",        "<string>",        "<attrs generated"};
  return std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](const char* part) { return path.find(part) != std::string::npos; });
}

bool is_package_file(const std::string& path) {
  static constinit Once<std::string> kept_torch;
  const std::string& torch = kept_torch.get([] { return folder_of(Name::torch); });
  if (is_own_file(path) || (!torch.empty() && path.starts_with(torch))) return false;
  return path.find("/site-packages/") != std::string::npos ||
         path.find("/dist-packages/") != std::string::npos;
}

std::string json_quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string expression_text(const Bytecode& bytecode, int32_t pc) {
  const Instruction* in = bytecode.find(pc);
  const Position p = in ? bytecode.position(*in) : Position{};
  if (p.line < 1) return "";
  const std::string path = text_of(reinterpret_cast<PyCodeObject*>(bytecode.code())->co_filename);
  const PyRef line = call(Name::linecache_getline, "si", path.c_str(), p.line);
  PyErr_Clear();
  std::string text = text_of(line.get());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto begin = static_cast<size_t>(std::max(p.column, 0));
  if (begin >= text.size()) return "";
  const bool one_line = p.end_line == p.line && p.end_column > p.column;
  return one_line ? text.substr(begin, p.end_column - p.column) : text.substr(begin) + " ...";
}

std::string argument_text(const Bytecode& bytecode, const Instruction& in) {
  switch (in.op) {
    case Op::LoadConst:
    case Op::ReturnConst:
      return describe(bytecode.constant(in.arg));
    case Op::MakeCell:
    case Op::LoadFast:
    case Op::LoadFastAndClear:
    case Op::StoreFast:
    case Op::DeleteFast:
    case Op::LoadClosure:
    case Op::LoadDeref:
    case Op::StoreDeref:
    case Op::DeleteDeref:
      return text_of(bytecode.local_name(in.arg));
    case Op::LoadFastLoadFast:
    case Op::StoreFastLoadFast:
    case Op::StoreFastStoreFast:
      return text_of(bytecode.local_name(in.arg)) + ", " + text_of(bytecode.local_name(in.aux));
    case Op::LoadGlobal:
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
    case Op::LoadAttr:
    case Op::LoadMethod:
    case Op::LoadSuperAttr:
    case Op::StoreAttr:
    case Op::DeleteAttr:
    case Op::ImportName:
    case Op::ImportFrom:
      return text_of(bytecode.name(in.arg));
    case Op::Binary:
      return std::string(binary_symbol(in.arg));
    case Op::Compare:
      return std::string(compare_symbol(in.arg));
    case Op::Call:
      return in.aux < 0 ? "" : describe(bytecode.constant(in.aux));
    default:
      return in.target >= 0 ? "to " + std::to_string(in.target) : "";
  }
}

Id CodeRows::file(const std::string& path) {
  auto [it, added] = files_.try_emplace(path, 0);
  if (!added) return it->second;
  const std::string text = read_source(path);
  session::FileRow row;
  row.id = it->second = writer_.next(Kind::File);
  row.path = path;
  row.sha256 = sha256(text);
  row.text = writer_.blob(text);
  row.user = is_user_file(path);
  writer_.put(row);
  return row.id;
}

Id CodeRows::span(Id file, const Position& p) {
  if (p.line < 1) return 0;
  const std::string key = std::to_string(file) + ":" + std::to_string(p.line) + ":" +
                          std::to_string(p.column) + ":" + std::to_string(p.end_line) + ":" +
                          std::to_string(p.end_column);
  auto [it, added] = spans_.try_emplace(key, 0);
  if (!added) return it->second;
  it->second = writer_.next(Kind::Span);
  writer_.put(session::SpanRow{it->second, file, p.line, std::max(p.column, 0), std::max(p.end_line, p.line),
                               std::max(p.end_column, 0)});
  return it->second;
}

void CodeRows::write_instructions(CodeIds& ids, const Bytecode& bytecode) {
  for (const Instruction& in : bytecode.instructions()) {
    session::InstructionRow row;
    row.id = writer_.next(Kind::Instruction);
    row.code = ids.id;
    row.pc = in.pc;
    row.op = op_name(in.op);
    row.arg = in.arg;
    row.argrepr = argument_text(bytecode, in);
    row.span = span(ids.file, bytecode.position(in));
    row.target = in.target;
    writer_.put(row);
    writer_.link(row.span, row.id);
    ids.instructions.emplace(in.pc, row.id);
    ids.spans.emplace(in.pc, row.span);
  }
}

const CodeIds& CodeRows::of(PyObject* code) {
  auto [it, added] = codes_.try_emplace(code);
  CodeIds& ids = it->second;
  if (!added) return ids;
  ids.code = share(code);
  const auto* c = reinterpret_cast<PyCodeObject*>(code);
  const Bytecode bytecode(code);
  ids.id = writer_.next(Kind::Code);
  ids.file = file(text_of(c->co_filename));
  ids.user = is_user_file(text_of(c->co_filename));
  session::CodeRow row{ids.id, ids.file, text_of(c->co_qualname), c->co_firstlineno, c->co_firstlineno};
  for (const Instruction& in : bytecode.instructions())
    row.last_line = std::max<int64_t>(row.last_line, bytecode.position(in).end_line);
  writer_.put(row);
  write_instructions(ids, bytecode);
  return ids;
}

}  // namespace vitrine::capture
