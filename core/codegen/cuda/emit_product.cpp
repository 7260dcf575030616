#include "core/codegen/cuda/emit_product.h"

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kWarp = 32, kStep = 32;  // a warp multiplies so many numbers of a row by two instructions

class ProductEmitter : ThreadText {
 public:
  ProductEmitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
                 const FewRows& product, const LaunchShape& shape, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, 0, sizes),
        product_(product),
        warps_(shape.threads / kWarp),
        eights_((product.rows + 7) / 8) {}

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

  // Runs of the matrices are under way while those before are multiplied.
  void walk() {
    const std::string type = index_type(), span = num(int64_t{1} * shape_.items * kStep),
                      step = num(int64_t{1} * warps_ * shape_.items * kStep);
    open("for (" + type + " k = warp * " + span + "; k < " + sized(s_.columns()) + "; k += " + step + ") {");
    for (const FewRows::Sum& sum : product_.sums) {
      const Load& l = load(sum.matrix);
      line(run_type(l) + " p_" + l.name + "[" + num(shape_.items) + "][2];", l.node);
    }
    each("u", shape_.items, [&] {
      line("const " + type + " c = k + u * 32 + at;");
      each("h", 2, [&] {
        line("const " + type + " n = first + h * 8 + row;");
        for (const FewRows::Sum& sum : product_.sums) read_matrix(load(sum.matrix));
      });
    });
    each("u", shape_.items, [&] {
      line("const " + type + " c = k + u * 32 + at;");
      each("e", eights_, [&] { multiply(); });
    });
    close();
  }
  void read_matrix(const Load& l) {
    std::string test;
    if (!ir::divides(shape_.product, product_.columns)) test = "n < " + sized(product_.columns);
    line("p_" + l.name + "[u][h] = " +
             run_within(test, l, begin(l) + " + n * " + sized(l.strides[s_.rows - 1]) + " + c") + ";",
         l.node);
  }
  void multiply() {
    line("const int i = e * 8 + row;");
    std::vector<int> read;
    for (const FewRows::Sum& sum : product_.sums) {
      const Load& few = load(sum.few);
      if (std::find(read.begin(), read.end(), sum.few) == read.end()) {
        read.push_back(sum.few);
        const std::string place =
                              begin(few) + (s_.rows == 2 ? " + i * " + sized(few.strides[0]) : "") + " + c",
                          test = product_.rows % 8 ? "i < " + num(product_.rows) : "";
        line(run_type(few) + " p_" + few.name + " = " + run_within(test, few, place) + ";", few.node);
      }
      const ScheduledValue& v = value(sum.value);
      const std::string matrix = "p_" + load(sum.matrix).name;
      line("multiply_tile(acc_" + v.name + "[e], " + matrix + "[u][0], " + matrix + "[u][1], p_" + few.name +
               ");",
           v.node);
    }
  }
  static std::string run_type(const Load& l) { return "Pack<" + memory_type(l.dtype) + ", 8>"; }
  // A run at a place; nothing where the test says so, or behind the end of the row.
  std::string run_within(std::string test, const Load& l, const std::string& place) const {
    if (!ir::divides(int64_t{1} * shape_.items * kStep, s_.columns()))
      test += (test.empty() ? "" : " && ") + ("c < " + sized(s_.columns()));
    const std::string run = "load_pack<aligned, 8>(" + place + ")";
    return test.empty() ? run : test + " ? " + run + " : " + run_type(l) + "{}";
  }

  // Each warp's sums, where all threads find them.
  void leave() {
    for (const FewRows::Sum& sum : product_.sums) {
      const ScheduledValue& v = value(sum.value);
      line("__shared__ f32 all_" + v.name + "[" + num(warps_) + "][" + num(eights_ * 8) + "][" +
               num(shape_.product + 1) + "];",
           v.node);
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
    if (!ir::divides(shape_.product, product_.columns)) line("if (n >= " + columns + ") break;");
    line("const " + type + " r = " + (s_.rows == 2 ? "i / " + tile + " * " + columns + " + n;" : "n;"));
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
