#include <algorithm>

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

// A thread reads runs of rows that lie beside each other, of one column each; some of them are under way at
// once. Neighbouring threads have the runs of a column first, then the next column.
void ThreadText::read_turned() {
  constexpr int64_t kMostUnderWay = 8;
  const std::string type = index_type(), threads = num(shape_.threads);
  line("extern __shared__ __align__(16) char kept[];  // " + num(shape_.shared) + " bytes");
  int64_t from = 0;
  for (const Load& l : s_.loads) {
    if (!waits_turned(l)) continue;
    const std::string memory = memory_type(l.dtype), tile = "tile_" + l.name;
    const int run = run_of(l);
    const int64_t runs = shape_.deep / run, row = turned_row(s_, l), all = runs * s_.columns(),
                  under_way = std::min(kMostUnderWay, (all + shape_.threads - 1) / shape_.threads);
    line(memory + "* " + tile + " = reinterpret_cast<" + memory + "*>(kept" +
             (from ? " + " + num(from) : "") + ");",
         l.node);
    from += shape_.deep * row * ir::dtype_bytes(l.dtype);
    open("for (int first = threadIdx.x; first < " + num(all) +
         "; first += " + num(under_way * shape_.threads) + ") {");
    line("Pack<" + memory + ", " + num(run) + "> p_" + l.name + "[" + num(under_way) + "];", l.node);
    auto each = [&](const std::function<void()>& f) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + num(under_way) + "; ++u) {");
      line("const int at = first + u * " + threads + ";");
      if (all % (under_way * shape_.threads)) line("if (at >= " + num(all) + ") break;");
      line("const " + type + " c = at / " + num(runs) + ";");
      f();
      close();
    };
    each([&] {
      line(type + " r = (" + type + ")blockIdx.x * " + num(shape_.deep) + " + at % " + num(runs) + " * " +
           num(run) + ";");
      if (!ir::divides(shape_.deep, s_.row_count()))
        line("if (r >= " + sized(s_.row_count()) + ") r = " + sized(s_.row_count() - run) +
             ";  // behind the last row nothing is");
      decode_row(s_.rows);
      line("p_" + l.name + "[u] = load_pack<" + (run > 1 ? "aligned, " : "false, ") + num(run) + ">(" +
               pointer(argument(l.argument)) + loads_.place(l) + ");",
           l.node);
    });
    each([&] {
      line("#pragma unroll");
      line("for (int k = 0; k < " + num(run) + "; ++k) " + tile + "[(at % " + num(runs) + " * " + num(run) +
               " + k) * " + num(row) + " + c] = p_" + l.name + "[u].v[k];",
           l.node);
    });
    close();
    line("const " + memory + "* row_" + l.name + " = " + tile + " + threadIdx.x / " + num(shape_.group) +
             " * " + num(row) + ";",
         l.node);
  }
  line("__syncthreads();");
}

}  // namespace vitrine::codegen::cuda
