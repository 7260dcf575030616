// What the compiler produces, as plain data: buffers, kernels as text, and the steps of one call in order.
// core/fusion and core/codegen make it; core/runtime compiles the texts and runs the steps. Its numbers may
// be symbolic (core/ir/sym.h): one program then serves many sizes, and instantiate.h makes a plain one of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/codegen/schedule/tensor_map.h"
#include "core/ir/graph.h"

namespace vitrine::codegen {

struct ScalarCode;  // core/codegen/schedule/scalar_code.h

struct Buffer {
  enum class Kind : uint8_t {
    input,
    constant,
    temporary,
    output,
    foreign
  };  // foreign: allocated by a PyTorch operator
  std::string name;  // "buf6" or the input's name
  Kind kind = Kind::temporary;
  ir::TensorType type;
  ir::Ref value;              // what it holds first
  int32_t input = -1;         // input/constant: position in the graph's inputs()
  ir::Sym arena_offset = -1;  // temporary: place in the call's arena on its device, 64-byte aligned
  int32_t reuses = -1;        // buffer whose place or storage it takes
  int32_t view_of = -1;       // a view: same storage as that buffer, at type.offset/strides
  bool held = false;          // made by a step `of_weights`: memory of its own, which nothing else takes
  int32_t first_step = -1, last_step = -1;
};

// Lines [line, end_line] of a kernel's text that compute one node.
struct LineOrigin {
  int32_t line, end_line, col, end_col;
  ir::NodeId node;
};

// The threads of a GPU that a kernel starts; no blocks: it runs on the CPU.
struct Grid {
  ir::Sym blocks = 0;
  int threads = 0;     // of a block
  int device = 0;      // index of the GPU
  ir::Sym shared = 0;  // bytes of a block's shared memory besides what the text declares
};

// extern "C" void vitrine_kernel(void* const* args, int64_t begin, int64_t end): work items [begin, end) of
// `work`.
struct Kernel {
  std::string label, name;  // "K2", "add_gelu"
  Grid grid;
  std::string text;     // freestanding C++ with Clang vectors, or CUDA C++ whose kernel takes the pointers
  bool edited = false;  // the text is a person's
  std::string space;    // "1024 × 3072"
  std::string family;   // pointwise | reduction
  std::vector<LineOrigin> lines;
  std::vector<ir::NodeId> nodes;
  // Its next argument, if there are any: sizes that change, 8 bytes each. On a GPU each is one of its own.
  std::vector<ir::Sym> numbers;
  // A GPU's, by argument: the bytes of a number in the host's memory that it gets by value, 0 for a pointer.
  // Empty: all are pointers.
  std::vector<int32_t> by_value;
  // A GPU's: all pointers and the numbers behind them are one argument, a struct of 8-byte words.
  bool packed = false;
  std::vector<TensorMap> maps;  // a GPU's arguments that its copy engine reads by
  // Indices are checked. On the CPU: the argument after the numbers (whose place is kept) points to a number
  // that becomes 1 if one is out of range; what was written is then of no use. On a GPU the kernel stops with
  // an assertion, as PyTorch's own do.
  bool checks = false;
  // Segment of Program::draws that it draws from; -1: none. Its last arguments are then the generator's seed
  // and its offset at the segment's first draw, 64 bits each.
  int draws = -1;
  // f32 values that are kept between calls: where they stand and a pointer to a number, whether they do, are
  // its last two arguments. They follow from its second one alone.
  ir::Sym held = 0;
  // f32 values of memory that it works in; its last argument then. Not together with `held`.
  ir::Sym scratch = 0;
  std::shared_ptr<const ScalarCode> scalar;  // the CPU's: the same without a compiler, if it is that simple
  ir::Sym work = 1, grain = 1;               // parallel loop length, least chunk
  ir::Sym bytes = 0, flops = 0;              // per call
  Id entity = 0;                             // its row of the session; 0: nothing is recorded
};

// Another way to compute the same as a step.
struct Alternative {
  int32_t candidate = 0;         // row of product_candidates(); of `shapes` the number of the shape
  int32_t kernel = -1;           // -1: a library's call
  std::string shape;             // of `shapes`: "128 threads x 2 runs of 4"
  std::vector<int32_t> buffers;  // all arguments, in order
  std::vector<ir::Sym> numbers;
};

struct Step {
  enum class Kind : uint8_t { kernel, library, opaque, view };
  // kernel:  kernels[kernel] over `buffers` as args, in order.
  // library: node.op computed into outs by PyTorch's kernel without Python where possible (mm, addmm, bmm;
  // a convolution's out is foreign: it becomes what PyTorch allocates). opaque:  node.op through PyTorch's
  // overload; outs[i] becomes (kind foreign) what it returns; may mutate its inputs. view:    outs[0] is a
  // view of buffers[0].
  Kind kind = Kind::opaque;
  std::string label;  // "K2", "L3", "O1"
  int32_t kernel = -1;
  std::vector<int32_t> buffers;  // read (kernel: all arguments)
  std::vector<int32_t> outs;     // written
  ir::Node node;  // library, opaque: op, args, kwargs; a Ref's value is found through value_buffer
  // library: of cuBLASLt, from 1; 0: PyTorch's own call; -1: cuBLASLt's, of about the sizes of a call
  int algorithm = 0;
  std::vector<ir::Sym> numbers;  // kernel: its last argument, if there are any
  // Of a library step: kernels for its product. Of a kernel step: that of the product `node` and this in one.
  std::vector<Alternative> instead;
  std::vector<Alternative>
      shapes;              // of a GPU's kernel: itself in each shape that is tried, the first its own
  ir::NodeId shaped = -1;  // of a GPU's kernel: the node whose choice is that of the shape
  bool may_fail = true, writes_input = false, random = false;
  // kernel: it reads nothing but weights that are constant between calls, and what such steps made of them.
  // What it writes is kept until one of them has changed.
  bool of_weights = false;
  std::vector<int32_t> free_after;  // foreign buffers released after this step
};

// How often the program as it was written writes to a tensor that its caller sees; empty: no count is kept.
struct WriteCounts {
  std::vector<int32_t> inputs, results;  // by position
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::vector<std::pair<ir::Ref, int32_t>> value_buffer;  // which buffer holds a value
  std::vector<int32_t> input_buffer;                      // by position of the graph's inputs()
  std::vector<ir::Arg> results;                           // as the graph's results
  ir::Sym arena_bytes = 0, host_bytes = 0;  // host_bytes: the arena on the CPU beside one on a GPU
  // By how much the offset of the GPU's generator goes on for kernels' draws: from the begin of a call to the
  // first step that is random, from each of these to the next.
  std::vector<int64_t> draws;
  int draws_on = -1;  // which GPU's
  WriteCounts writes;
};

}  // namespace vitrine::codegen
