#include "core/codegen/cpp/epilogue_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "core/codegen/cpp/expr_text.h"
#include "core/codegen/cpp/prelude.h"
#include "core/fusion/space.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

namespace {

constexpr size_t kDims = 4;  // outer, inner, m, n
using Strides = std::array<ir::Sym, kDims>;

// Strides over `dims` as strides over outer, inner, m and n; nothing: the dims cannot be joined to these.
std::optional<Strides> over_product(const ir::Dims& dims, const ir::Dims& strides, const Strides& space) {
  ir::Dims target(space.begin(), space.end());
  auto finer = fusion::refine(dims, target);
  if (!finer) return {};
  auto joined = fusion::join_strides(fusion::split_strides(strides, dims, *finer), *finer, target);
  if (!joined) return {};
  Strides out{};
  std::copy(joined->begin(), joined->end(), out.begin());
  return out;
}

class EpilogueWriter {
 public:
  EpilogueWriter(const Schedule& s, ir::Ref product, const ProductSpace& p, int lanes, size_t first)
      : s_(s), product_(product), space_{p.outer, p.inner, p.m, p.n}, lanes_(lanes), first_(first) {}

  std::optional<Epilogue> write() {
    if (s_.reduces || s_.phases.size() != 1 || !place_arguments()) return {};
    line(
        "__attribute__((noinline)) static void after(void* const* args, const i64* e, i64 outer, i64 inner, "
        "i64 top, i64 bottom, i64 left, i64 columns, bool ahead) {");
    if (!pointers()) return {};
    fetch_ahead();
    find_numbers_of_rows();
    line("  for (i64 r = top; r < bottom; ++r) {");
    for (const std::string& text : row_pointers_) line("    " + text);
    for (const auto& [name, lane] : spread_)
      line("    const " + vector_type(lane) + " " + name + " = splat(rows_" + name + "[r - top]);");
    line("    auto step = [&](i64 c, auto n) INLINE {");
    body(false, "      ");
    line("    };");
    line("    i64 done = 0;");
    line("    for (; done + " + std::to_string(lanes_) + " <= columns; done += " + std::to_string(lanes_) +
         ") step(done, all);");
    line("    if (done < columns) step(done, Some{columns - done});");
    line("  }");
    line("}");
    finish();
    return std::move(out_);
  }

 private:
  const Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }
  void line(const std::string& text, ir::NodeId node = -1) {
    text_ += text + "\n";
    ++lines_;
    const auto from = static_cast<int32_t>(text.find_first_not_of(' '));
    if (node >= 0) out_.lines.push_back({lines_, lines_, from, static_cast<int32_t>(text.size()), node});
  }
  std::string type_text(ir::DType t) const {
    return t == ir::DType::b1 ? "bool" : std::string(ir::dtype_name(t));
  }
  std::string vector_type(ir::DType lane) const {
    const char letter = lane == ir::DType::f64   ? 'd'
                        : lane == ir::DType::i64 ? 'l'
                        : lane == ir::DType::f32 ? 'v'
                                                 : 'n';
    return letter + std::to_string(lanes_);
  }

  // Every argument but the product itself; the sums stand in the first f32 value that is written.
  bool place_arguments() {
    for (size_t i = 0; i < s_.arguments.size(); ++i) {
      const Argument& a = s_.arguments[i];
      if (a.root == product_) continue;
      const auto index = static_cast<int>(i);
      if (a.written && a.dtype == ir::DType::f32 && out_.accumulator < 0) out_.accumulator = index;
      out_.arguments.push_back(index);
    }
    return out_.accumulator >= 0;
  }
  // "args[5]" of an argument; the product's own output is where the sums stand.
  std::string place_of(int index) const {
    if (argument(index).root == product_) return "args[2]";
    const auto at = std::find(out_.arguments.begin(), out_.arguments.end(), index) - out_.arguments.begin();
    return "args[" + std::to_string(first_ + static_cast<size_t>(at)) + "]";
  }

  Strides contiguous() const {
    return {space_[1] * space_[2] * space_[3], space_[2] * space_[3], space_[3], 1};
  }
  bool is_contiguous(const Strides& strides) const {
    const Strides wanted = contiguous();
    for (size_t d = 0; d < kDims; ++d)
      if (!space_[d].same(1) && !strides[d].same(wanted[d])) return false;
    return true;
  }
  // Declares a pointer to the row: its strides are numbers of the kernel.
  void pointer(const std::string& name, int index, const Strides& strides, const ir::Sym& offset,
               bool written) {
    const std::string type = (written ? "" : "const ") + type_text(argument(index).dtype) + "*";
    auto number = [&](const ir::Sym& value) {
      out_.numbers.push_back(value);
      return "e[" + std::to_string(kProductNumbers + out_.numbers.size() - 1) + "]";
    };
    std::string text = "  " + type + " b_" + name + " = (" + type + ")" + place_of(index) + " + " +
                       number(offset) + " + outer * " + number(strides[0]) + " + inner * " +
                       number(strides[1]);
    if (!strides[3].same(0)) text += " + left";
    line(text + ";");
    const std::string by_row = number(strides[2]);
    if (!written && strides[3].same(0)) {
      by_row_[name] = by_row;
      return;
    }
    row_pointers_.push_back(type + " " + (written ? "q_" : "p_") + name + " = b_" + name + " + r * " +
                            by_row + ";");
    if (!written && argument(index).root != product_) ahead_.push_back({name, by_row, index});
  }
  bool pointers() {
    columns_.assign(s_.loads.size(), false);
    for (size_t i = 0; i < s_.loads.size(); ++i) {
      const Load& l = s_.loads[i];
      if (!l.affine()) return false;
      auto strides = over_product(s_.dims, l.strides, space_);
      if (!strides) return false;
      if (space_[3].same(1)) (*strides)[3] = 1;
      if (!(*strides)[3].same(0) && !(*strides)[3].same(1)) return false;
      if (argument(l.argument).root == product_ && (!l.offset.same(0) || !is_contiguous(*strides)))
        return false;
      columns_[i] = !(*strides)[3].same(0);
      pointer(l.name, l.argument, *strides, l.offset, false);
    }
    for (int i : s_.phases[0].values) {
      const ScheduledValue& v = s_.values[static_cast<size_t>(i)];
      if (v.per_row || v.kept() || v.statement->reduce != fusion::Statement::Reduce::none) return false;
      if (fusion::has_size(*v.statement->expr)) return false;  // the text has no names for such
      if (v.store < 0) continue;
      auto strides = over_product(s_.dims, v.store_strides, space_);
      if (!strides || !is_contiguous(*strides)) return false;
      pointer(v.name, v.store, contiguous(), 0, true);
    }
    return true;
  }

  Typed operand(const ScheduledValue& v, int i) const {
    const OperandSource& s = v.sources[static_cast<size_t>(i)];
    if (s.kind == OperandSource::Kind::load) {
      const Load& l = s_.loads[static_cast<size_t>(s.index)];
      return {l.name, fusion::lane_dtype(argument(l.argument).dtype), true};
    }
    const ScheduledValue& from = s_.values[static_cast<size_t>(s.index)];
    return {from.name, fusion::lane_dtype(from.statement->dtype), true};
  }
  // What stands beside the product, perhaps far away, is on its way while the product is computed.
  void fetch_ahead() {
    line("  if (ahead) {");
    for (const auto& [name, by_row, index] : ahead_) {
      const int64_t of_a_line = 64 / ir::dtype_bytes(argument(index).dtype);
      line("    for (i64 r = top; r < bottom; ++r)");
      line("      for (i64 c = 0; c < columns; c += " + std::to_string(of_a_line) +
           ") __builtin_prefetch(b_" + name + " + r * " + by_row + " + c);");
    }
    line("    return;");
    line("  }");
  }
  // What is one number for a row of the product is computed ahead of the columns, a lane for each row.
  void find_numbers_of_rows() {
    of_row_.assign(s_.values.size(), false);
    each_value([&](size_t i) {
      const ScheduledValue& v = s_.values[i];
      of_row_[i] = v.store < 0;
      for (const OperandSource& from : v.sources)
        of_row_[i] =
            of_row_[i] && (from.kind == OperandSource::Kind::load ? !columns_[static_cast<size_t>(from.index)]
                                                                  : of_row_[static_cast<size_t>(from.index)]);
    });
    body(true, "  ");
    each_value([&](size_t i) {
      if (of_row_[i]) return;
      for (const OperandSource& from : s_.values[i].sources) {
        const auto at = static_cast<size_t>(from.index);
        if (from.kind != OperandSource::Kind::load) {
          if (of_row_[at]) spread(s_.values[at].name, fusion::lane_dtype(s_.values[at].statement->dtype));
        } else if (!columns_[at]) {
          spread(s_.loads[at].name, fusion::lane_dtype(argument(s_.loads[at].argument).dtype));
        }
      }
    });
  }
  // Each row's number is to stand in every lane.
  void spread(const std::string& name, ir::DType lane) {
    if (!spread_.emplace(name, lane).second) return;
    const ir::DType kept =
        lane == ir::DType::f32 || lane == ir::DType::f64 || lane == ir::DType::i64 ? lane : ir::DType::i32;
    line("  " + type_text(kept) + " rows_" + name + "[" + std::to_string(lanes_) + "];");
    line("  store(rows_" + name + ", " + name + ", all);");
  }
  template <class F>
  void each_value(F&& visit) const {
    for (size_t i = 0; i < s_.values.size(); ++i)
      if (s_.values[i].per_row) visit(i);
    for (int i : s_.phases[0].values) visit(static_cast<size_t>(i));
  }
  void body(bool of_row, const std::string& indent) {
    for (size_t i = 0; i < s_.loads.size(); ++i) {
      const Load& l = s_.loads[i];
      if (of_row == columns_[i]) continue;
      line(indent + vector_type(fusion::lane_dtype(argument(l.argument).dtype)) + " " + l.name + " = " +
               (columns_[i] ? "load(p_" + l.name + " + c, n);"
                            : "load_rows(b_" + l.name + " + top * " + by_row_[l.name] + ", " +
                                  by_row_[l.name] + ", bottom - top);"),
           l.node);
    }
    each_value([&](size_t i) {
      if (of_row_[i] == of_row) value(s_.values[i], indent);
    });
  }
  void value(const ScheduledValue& v, const std::string& indent) {
    const fusion::Statement& st = *v.statement;
    const ir::DType lane = fusion::lane_dtype(st.dtype);
    std::string text = expr_text(st.expr, st.compute, lane, [&](int k) { return operand(v, k); }).text;
    if (st.is_result()) text = narrowed(text, st.dtype);
    line(indent + vector_type(lane) + " " + v.name + " = " + text + ";", v.node);
    if (v.store >= 0) line(indent + "store(q_" + v.name + " + c, " + v.name + ", n);", v.node);
  }

  void finish() {
    const std::string head =
        "// What follows the product, on a block of it that is still in the cache.\n// prelude: vectors of " +
        std::to_string(lanes_) + " lanes, loads and stores, functions\n" + prelude_text(text_, lanes_) +
        "// end of prelude\n\n";
    const auto before = static_cast<int32_t>(std::count(head.begin(), head.end(), '\n'));
    for (LineOrigin& o : out_.lines) o.line += before, o.end_line += before;
    out_.text = head + text_;
  }

  const Schedule& s_;
  ir::Ref product_;
  Strides space_;
  int lanes_;
  size_t first_;
  Epilogue out_;
  std::string text_;
  int32_t lines_ = 0;
  std::vector<bool> columns_;  // by load: it moves from column to column
  std::vector<bool> of_row_;   // by value: the same in all columns
  std::vector<std::string> row_pointers_;
  struct Ahead {
    std::string name, by_row;  // the latter is its stride from row to row
    int index;
  };
  std::vector<Ahead> ahead_;                   // loads of other tensors than the product
  std::map<std::string, std::string> by_row_;  // of loads that are one number for a row
  std::map<std::string, ir::DType> spread_;    // by name: lane type
};

}  // namespace

std::optional<Epilogue> make_epilogue(const Schedule& schedule, ir::Ref product, const ProductSpace& space,
                                      int lanes, size_t first) {
  return EpilogueWriter(schedule, product, space, lanes, first).write();
}

}  // namespace vitrine::codegen::cpp
