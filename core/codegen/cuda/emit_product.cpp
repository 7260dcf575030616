#include "core/codegen/cuda/emit_product.h"

#include "core/codegen/cuda/card.h"
#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kStep = 32;  // a warp multiplies so many numbers of a row at once

class ProductEmitter : ThreadText {
 public:
  ProductEmitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
                 const FewRows& product, const LaunchShape& shape, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, 0, sizes),
        product_(product),
        warps_(shape.threads / kWarp),
        eights_(product.eights()) {}

  Kernel emit() { return kernel(); }

 private:
  void content() override {
    line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, at = lane % 4 * 8;");
    line(std::string("const ") + index_type() + " first = (" + index_type() + ")blockIdx.x * " +
         num(shape_.product) + ";");
    for (const FewRows::Sum& sum : product_.sums)
      line("f32 acc_" + value(sum.value).name + "[" + num(eights_) + "][4] = {};", value(sum.value).node);
    walk();
    leave();
    line("__syncthreads();");
    elements();
  }

  // Each lane copies what it will multiply into slots of its own, some steps ahead: nobody waits for others.
  void walk() {
    const std::string steps = num(ceil_div(s_.columns().hint(), int64_t{kStep} * warps_)),
                      ahead = num(shape_.items - 1), type = run_type(load(product_.sums[0].matrix));
    line("extern __shared__ __align__(16) char kept[];");
    line(type + "* slots = reinterpret_cast<" + type + "*>(kept) + threadIdx.x;");
    fetch();
    each("s", shape_.items - 1, [&] {
      line("if (s < " + steps + ") fetch(s);");
      line("end_copies();");
    });
    open("for (int s = 0; s < " + steps + "; ++s) {");
    line("await_copies<" + num(shape_.items - 2) + ">();");
    line("if (s + " + ahead + " < " + steps + ") fetch(s + " + ahead + ");");
    line("end_copies();");
    line("const " + type + "* at_s = slots + s % " + num(shape_.items) + " * " + num(stage()) + ";");
    each("e", eights_, [&] {
      for (size_t i = 0; i < product_.sums.size(); ++i) {
        const ScheduledValue& v = value(product_.sums[i].value);
        const int64_t matrix = 2 * static_cast<int64_t>(i) * shape_.threads;
        line("multiply_tile(acc_" + v.name + "[e], at_s[" + num(matrix) + "], at_s[" +
                 num(matrix + shape_.threads) + "], at_s[(" +
                 num(product_.first_run_of(product_.sums[i].few)) + " + e) * " + num(shape_.threads) + "]);",
             v.node);
      }
    });
    close();
  }
  // A step's copies: two rows of each matrix, and each eight of the few rows.
  void fetch() {
    const std::string type = index_type();
    open("auto fetch = [&](int s) {");
    line("const " + type + " c = (s * " + num(warps_) + " + warp) * 32 + at;");
    line(run_type(load(product_.sums[0].matrix)) + "* to = slots + s % " + num(shape_.items) + " * " +
         num(stage()) + ";");
    each("h", 2, [&] {
      line("const " + type + " n = first + h * 8 + row;");
      for (size_t i = 0; i < product_.sums.size(); ++i) {
        const Load& l = load(product_.sums[i].matrix);
        copy("(" + num(2 * static_cast<int64_t>(i)) + " + h)", l,
             begin(l) + " + n * " + sized(l.strides[1]) + " + c",
             whole() ? "" : "n < " + sized(product_.columns));
      }
    });
    each("e", eights_, [&] {
      line("const int i = e * 8 + row;");
      for (size_t few = 0; few < product_.fews.size(); ++few) {
        const Load& l = load(product_.fews[few]);
        copy("(" + num(product_.first_run_of(few)) + " + e)", l,
             begin(l) + " + i * " + sized(l.strides[0]) + " + c",
             product_.rows % 8 ? "i < " + num(product_.rows) : "");
      }
    });
    close("};");
  }
  // To a slot, if the test says so, and the place is not behind the end of a row; else zeros.
  void copy(const std::string& slot, const Load& l, const std::string& from, std::string test) {
    if (!ir::divides(int64_t{kStep} * warps_, s_.columns()))
      test += (test.empty() ? "" : " && ") + ("c < " + sized(s_.columns()));
    line("copy_ahead<aligned>(to + " + slot + " * " + num(shape_.threads) + ", " + from + ", " +
             (test.empty() ? "true" : test) + ");",
         l.node);
  }
  static std::string run_type(const Load& l) { return "Pack<" + memory_type(l.dtype) + ", 8>"; }
  // Runs of a step of all threads.
  int64_t stage() const { return shape_.threads * product_.runs(); }

  // Each warp's sums, where all threads find them: in the slots, which nobody reads any more.
  void leave() {
    line("await_copies<0>();");
    line("__syncthreads();");
    int64_t before = 0;
    for (const FewRows::Sum& sum : product_.sums) {
      const ScheduledValue& v = value(sum.value);
      const std::string type = "[" + num(eights_ * 8) + "][" + num(shape_.product + 1) + "]";
      line("f32 (*all_" + v.name + ")" + type + " = reinterpret_cast<f32 (*)" + type + ">(kept + " +
               num(before) + ");",
           v.node);
      before += few_rows_sum_bytes(product_, shape_);
    }
    each("e", eights_, [&] {
      each("q", 4, [&] {
        for (const FewRows::Sum& sum : product_.sums) {
          const ScheduledValue& v = value(sum.value);
          line("all_" + v.name + "[warp][e * 8 + lane % 4 * 2 + q % 2][row + q / 2 * 8] = acc_" + v.name +
                   "[e][q];",
               v.node);
        }
      });
    });
  }

  // An element of the product and what is computed of it.
  void elements() {
    const std::string type = index_type(), tile = num(shape_.product), columns = sized(product_.columns);
    open("for (int i = threadIdx.x; i < " + num(product_.rows * shape_.product) +
         "; i += " + num(shape_.threads) + ") {");
    line("const " + type + " n = first + i % " + tile + ";");
    if (!whole()) line("if (n >= " + columns + ") break;");
    line("const " + type + " r = " + "i / " + tile + " * " + columns + " + n;");
    decode_row(s_.rows);
    for (int p = 0; p <= static_cast<int>(s_.phases.size()); ++p) {
      if (p == 1)
        for (const FewRows::Sum& sum : product_.sums) add_up(value(sum.value));
      values_of_row(p, [&](const ScheduledValue& v) { store(v); });
    }
    close();
  }
  void add_up(const ScheduledValue& v) {
    std::string text;
    for (int64_t w = 0; w < warps_; ++w)
      text += (w ? " + " : "") + ("all_" + v.name) + "[" + num(w) + "][i / " + num(shape_.product) +
              "][i % " + num(shape_.product) + "]";
    if (v.statement->output >= 0) text = narrowed(text, v.statement->dtype);
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + text + ";", v.node);
    define_inverse(v);
    store(v);
  }
  void store(const ScheduledValue& v) {
    if (v.store >= 0) put_row(v, "");
  }

  // Whether every block has all its columns.
  bool whole() const { return ir::divides(shape_.product, product_.columns); }
  std::string begin(const Load& l) const {
    return pointer(argument(l.argument)) + (l.offset.same(0) ? "" : " + " + sized(l.offset));
  }
  template <class F>
  void each(const char* name, int64_t count, F&& body) {
    line("#pragma unroll");
    open(std::string("for (int ") + name + " = 0; " + name + " < " + num(count) + "; ++" + name + ") {");
    body();
    close();
  }

  const FewRows& product_;
  const int64_t warps_, eights_;  // eights_: rows by eight
};

}  // namespace

Kernel emit_product(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                    const FewRows& product, const LaunchShape& shape, SizeMemory* sizes) {
  return ProductEmitter(program, unit, schedule, product, shape, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
